"""What CODES does for a point."""

from __future__ import annotations

from math import ceil

from fabricstudy.engine.codes.settings import CodesSettings
from fabricstudy.machine.grid import GridConfig

from ..contract import Unsupported
from ..forecast import Work, bandwidths
from ..loads import traffic_by_job
from ..point import Point
from .packet import LEAST_EVENTS_EACH, TORI, events_each, packet_bytes


def work(point: Point) -> Work:
    """Count packets, messages, and parts of the machine; nodes have places for as many ranks as the fullest has."""
    packet = int(point.network.packet_bytes)
    loads, nodes, runs = traffic_by_job(point), float(point.machine.nodes), 1.0
    carried: dict[str, float] = {}
    messages = 0.0
    for job in loads:
        packets = sum(part.messages * ceil(part.message_bytes / packet) for part in job.classes)
        carried[job.work] = carried.get(job.work, 0.0) + packets
        messages += sum(part.messages for part in job.classes)
    packets = sum(carried.values())
    tells_links = len(loads) > 1 and isinstance(point.engine, CodesSettings) and point.engine.job_links
    if tells_links and _runs_each_alone(point):
        # Jobs that are run alone as well send as much again.
        runs += len(loads)
        messages, carried = 2 * messages, {kind: 2 * count for kind, count in carried.items()}
    model = _model(point)
    ranks = _ranks_per_node(point)
    return Work(
        carried,
        packet,
        once={
            "run": runs,
            "message": messages,
            "packet listed": packets if tells_links and point.machine.kind == "dragonfly" else 0.0,
            f"node: {model}": runs * nodes,
            f"pair of nodes: {model}": runs * nodes**2,
        },
        memory={
            "run": 1.0,
            "event": objects(point) * (events_each(point, _sent_packet(point)) - LEAST_EVENTS_EACH),
            f"node: {model}": nodes,
            "rank": nodes * ranks,
            "message": messages / min(runs, 2),
            "packet: torus": packets if model == "torus" else 0.0,
        },
    )


def objects(point: Point) -> int:
    """Count what CODES simulates: nodes, places for ranks and routers."""
    return point.machine.nodes * (1 + _ranks_per_node(point)) + point.machine.routers


def _sent_packet(point: Point) -> int:
    """Bytes of a packet as CODES sends it: on a torus a part of that of the study, and more events to have room for."""
    try:
        return packet_bytes(point, bandwidths(point)[1])
    except Unsupported:  # and the point will be refused
        return int(point.network.packet_bytes)


def _ranks_per_node(point: Point) -> int:
    return max((job.ranks_per_node or point.machine.cores_per_node for job in point.jobs), default=1)


def _runs_each_alone(point: Point) -> bool:
    """Whether the jobs are run alone as well, to tell which links each uses."""
    fixed = point.routing.kind in ("minimal", "dimension-order", "d-mod-k")
    return fixed and point.machine.kind not in ("dragonfly", *TORI)


def _model(point: Point) -> str:
    kind = point.machine.kind
    if kind in TORI:
        return "torus"
    return "grid" if isinstance(point.machine, GridConfig) else kind
