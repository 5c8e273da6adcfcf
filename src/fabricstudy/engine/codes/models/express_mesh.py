"""Grids of lines: CODES' express mesh.

With gap 1 it is a HyperX, with a gap as long as the line a mesh. Dimension order is its static routing: with a gap
above 1, a packet chooses by queue length between the short link and the long one that does not pass its destination.
Adaptive routing may choose any unfinished dimension.
"""

import numpy as np

from fabricstudy.core.arrays import Integers
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.base import Routing
from fabricstudy.routing.dimension_order import DimensionOrder

from ...detours import routing_name
from ...failures import Unsupported
from ...point import Point
from ..network import (
    UNLINKED,
    CodesModel,
    CodesNetwork,
    PortCounters,
    check_single_cables,
    gib_per_s,
    links_to,
    one_of,
)

ROUTINGS: dict[type[Routing], str] = {DimensionOrder: "static", Adaptive: "adaptive"}


def network(point: Point, machine: Machine) -> CodesNetwork:
    """Translate a grid without rings."""
    check_single_cables(machine.cable_count, "express mesh", "two routers")
    lengths = [dimension.length for dimension in machine.dimensions]
    gap = machine.dimensions[0].gap or max(lengths)
    nodes = machine.nodes // machine.routers
    bandwidth_Bps = one_of([link.bandwidth_Bps for link in machine.classes], "bandwidth", "express mesh")
    latency_ns = one_of([link.latency_ns for link in machine.classes], "latency", "express mesh")
    buffer, in_order = int(point.network.buffer_bytes), isinstance(point.routing, DimensionOrder)
    link_of_port = _ports(machine, lengths, gap, nodes)
    return CodesNetwork(
        terminal="modelnet_express_mesh",
        others={"modelnet_express_mesh_router": 1},
        repetitions=machine.routers,
        terminals=nodes,
        methods=("express_mesh", "express_mesh_router"),
        packet=int(point.network.packet_bytes),
        parameters={
            "n_dims": len(lengths),
            "dim_length": ",".join(map(str, lengths)),
            "gap": gap,
            "num_cn": nodes,
            "num_vcs": 1 if in_order else 2,
            "routing": routing_name(point.routing, ROUTINGS, "CODES' express mesh"),
            "link_bandwidth": gib_per_s(bandwidth_Bps),
            "cn_bandwidth": gib_per_s(machine.host.bandwidth_Bps),
            "router_delay": round(latency_ns + point.network.router_latency_ns),
            "vc_size": buffer,
            "cn_vc_size": buffer,
        },
        traffic=PortCounters("router-traffic", 1, 2, link_of_port),
        fixed_routes=in_order and (gap == 1 or gap >= max(lengths)),
    )


def _ports(machine: Machine, lengths: list[int], gap: int, nodes: int) -> Integers:
    """Return the link of each port: nodes first, then dimension by dimension the neighbours by coordinate."""
    assert machine.coordinates is not None
    # CODES' number of ports of a dimension; rounded towards 0, as C divides.
    reserved = [2 + int((length - 3) / gap) for length in lengths]
    link = np.full((machine.routers, nodes + sum(reserved)), UNLINKED)
    router = np.arange(machine.routers)
    first, stride = nodes, 1
    for dimension, length in enumerate(lengths):
        position = machine.coordinates[:, dimension]
        used = np.zeros(machine.routers, dtype=np.int64)
        for coordinate in range(length):
            joined = machine.dimensions[dimension].joined()[coordinate, position]
            neighbour = router + (coordinate - position) * stride
            link[router[joined], first + used[joined]] = links_to(machine, router[joined], neighbour[joined])
            used += joined
        if used.max() > reserved[dimension]:
            raise Unsupported(f"CODES' express mesh has no gap of {gap} in a dimension of {length} routers")
        first, stride = first + reserved[dimension], stride * length
    return link


MODEL = CodesModel("grid", network)
