"""Cost of CODES."""

from fabricstudy.routing.d_mod_k import DModK
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.minimal import Minimal

from ..cost_model import WorkCounts, messages_of, network_traffic
from ..job_traffic import traffic_by_job
from ..point import Point
from .files import CodesSettings
from .models import codes_model, express_mesh
from .offered import offered_work
from .packet import MIN_EVENTS_PER_OBJECT, events_per_object


def work(point: Point) -> WorkCounts:
    """Count packets in routers, messages, and parts of the machine.

    All nodes have as many slots for ranks as the largest one. Where each job is also run alone to find its links, the
    traffic counts twice, and the construction once per run.
    """
    if point.offered is not None:
        return offered_work(point)
    # A point without model is unsupported.
    model, nodes = codes_model(point) or express_mesh.MODEL, float(point.machine.nodes)
    jobs, asked = len(traffic_by_job(point)), isinstance(point.engine, CodesSettings) and point.engine.job_links
    links = model.job_links if asked and jobs > 1 else None
    alone = links == "alone" and isinstance(point.routing, Minimal | DimensionOrder | DModK)
    runs, times = (1.0 + jobs, 2.0) if alone else (1.0, 1.0)
    packet, messages = model.packet_bytes(point), messages_of(point)
    packets, in_routers, _ = network_traffic(point, packet)
    events = events_per_object(point, model.burst_bytes(point), packet) - MIN_EVENTS_PER_OBJECT
    return WorkCounts(
        cpu={
            "run": runs,
            "node": runs * nodes,
            "pair of nodes": runs * nodes**2,
            "message": times * messages,
            "packet in a router": times * in_routers,
            "packet listed": packets if links == "hops" else 0.0,
        },
        memory={
            "run": 1.0,
            "event": float(objects(point) * events),
            f"node: {model.name}": nodes,
            "rank": nodes * _ranks_per_node(point),
            "message": times * messages / min(runs, 2),
        },
    )


def objects(point: Point) -> int:
    """Count the simulated objects: nodes, slots for ranks and routers."""
    return point.machine.nodes * (1 + _ranks_per_node(point)) + point.machine.routers


def _ranks_per_node(point: Point) -> int:
    return max((job.ranks_on_node(point.machine.cores_per_node) for job in point.jobs), default=1)
