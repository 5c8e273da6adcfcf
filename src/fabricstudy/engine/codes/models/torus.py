"""Torus: CODES' torus, dimension order with bubbles, one node per router.

The bandwidth between a node and its router is unlimited. Half-way round a ring packets avoid the wrap-around link (from
coordinate 0 to 2 of 4 up, back down) instead of splitting. Each hop occupies the link for 50 ns more, a constant; the
bandwidth is raised so that packets have the right duration. The last packet of a message costs as much time as a full
one, so messages are cut into equal pieces; the first one of a phase is delayed by 10 ns per byte (`packet`).
"""

from math import inf

import numpy as np

from fabricstudy.machine.base import EachClass
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.routing.dimension_order import DimensionOrder

from ...detours import routing_name
from ...failures import Unsupported
from ...point import Point
from ..network import CodesModel, CodesNetwork, check_single_cables, gib_per_s, one_of
from ..packet import TORUS_AT_ONCE_BYTES, TORUS_HOP_NS, packet_bytes

ROUTINGS: dict[type[Routing], str] = {DimensionOrder: "static"}


def network(point: Point, machine: Machine) -> CodesNetwork:
    """Translate a torus of which every dimension closes."""
    routing_name(point.routing, ROUTINGS, "CODES' torus")
    _check(point, machine)
    bandwidth_Bps = one_of([link.bandwidth_Bps for link in machine.classes], "bandwidth", "torus")
    packet = packet_bytes(point, bandwidth_Bps)
    packet_ns = packet / bandwidth_Bps * 1e9
    lengths = [dimension.length for dimension in machine.dimensions]
    return CodesNetwork(
        terminal="modelnet_torus",
        others={},
        repetitions=machine.routers,
        terminals=1,
        methods=("torus",),
        packet=packet,
        parameters={
            "n_dims": len(lengths),
            "dim_length": ",".join(map(str, lengths)),
            "link_bandwidth": gib_per_s(packet / (packet_ns - TORUS_HOP_NS) * 1e9),
            "buffer_size": int(point.network.buffer_bytes),
            # Only for messages within a node, which take no time.
            "cn_bandwidth": 1e9,
        },
    )


def _check(point: Point, machine: Machine) -> None:
    if not all(dimension.wrap for dimension in machine.dimensions):
        raise Unsupported("CODES' torus wraps around in every dimension; use kind: mesh, or another engine")
    if machine.nodes != machine.routers:
        raise Unsupported("CODES' torus has one node per router; set nodes_per_router: 1, or use another engine")
    check_single_cables(machine.cable_count, "torus", "two routers")
    has_ties = any(dimension.length % 2 == 0 for dimension in machine.dimensions)
    if isinstance(point.routing, DimensionOrder) and point.routing.tie != "split" and has_ties:
        raise Unsupported(
            "CODES' torus breaks ties without the wrap-around link; set routing.tie: split (the default), which leaves "
            "ties to the engine, or use another engine"
        )
    needed_Bps = 2 * len(machine.dimensions) * max(link.bandwidth_Bps for link in machine.classes)
    if machine.host.bandwidth_Bps < needed_Bps:
        raise Unsupported(
            "CODES' torus has unlimited bandwidth between a node and its router; set bandwidth.host to that of the "
            f"router's links together, {needed_Bps / 1e9:g} GB/s, or more"
        )


def _predicted_packet_bytes(point: Point) -> int:
    """Return the size of packets for the cost model, before a machine is built; any if the point is unsupported."""
    stated = getattr(point.machine, "bandwidth", None)
    links = [value for name, value in stated if name != "host_Bps"] if isinstance(stated, EachClass) else []
    try:
        return packet_bytes(point, float(np.hstack([inf, *links]).min()))
    except Unsupported:
        return int(point.network.packet_bytes)


MODEL = CodesModel("torus", network, lambda point: TORUS_AT_ONCE_BYTES, _predicted_packet_bytes, job_links=None)
