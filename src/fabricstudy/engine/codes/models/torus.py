"""Torus: CODES' torus, dimension order with bubbles, one node a router.

It has no limit between a node and its router. Half-way round a ring it takes the way that does not close the ring
(from coordinate 0 to 2 of 4 up, back down), where ours splits. Each hop takes 50 ns that cannot be set and that keep
the link busy; the bandwidth is raised by as much, so that a packet takes the time it should. A packet's end takes the
time of a whole one, so messages are cut into equal pieces; the first one of a phase waits 10 ns a byte (`packet`).
"""

from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.routing.dimension_order import DimensionOrder

from ...contract import Unsupported
from ...cost_model import bandwidths
from ...point import Point
from ..network import CodesModel, CodesNetwork, gib_per_s, one_of
from ..packet import TORUS_AT_ONCE_BYTES, TORUS_HOP_NS, packet_bytes
from .routing import routing_name

ROUTINGS: dict[type[Routing], str] = {DimensionOrder: "static"}


def network(point: Point, machine: Machine) -> CodesNetwork:
    """Translate a torus of which every dimension closes."""
    routing_name(point, ROUTINGS, "torus")
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
    open_ones = [dimension.length for dimension in machine.dimensions if not dimension.wrap]
    if open_ones:
        raise Unsupported("CODES' torus closes every dimension; for lines take the topology mesh, or another engine")
    if machine.nodes != machine.routers:
        raise Unsupported("CODES' torus has one node a router; set nodes_per_router: 1, or take another engine")
    if machine.cable_count.max() > 1:
        settable = hasattr(point.machine, "pair_cables")
        remedy = "set pair_cables: 1" if settable else "take a torus with pair_cables: 1"
        raise Unsupported(
            f"CODES' torus takes one of the two cables that join a pair in a dimension of 2 routers; {remedy}, or "
            "another engine"
        )
    if isinstance(point.routing, DimensionOrder) and point.routing.tie != "split" and _has_ties(machine):
        raise Unsupported(
            "CODES' torus settles ties its own way, within the line of the ring; set routing.tie: split (the default), "
            "which leaves them to the engine, or take another engine"
        )
    fastest_Bps = max(link.bandwidth_Bps for link in machine.classes)
    needed_Bps = 2 * len(machine.dimensions) * fastest_Bps
    if machine.host.bandwidth_Bps < needed_Bps:
        raise Unsupported(
            "CODES' torus has no limit between a node and its router; set bandwidth.host to what its links carry "
            f"together, {needed_Bps / 1e9:g} GB/s, or more"
        )


def _has_ties(machine: Machine) -> bool:
    return any(dimension.length % 2 == 0 for dimension in machine.dimensions)


def _packet_sent(point: Point) -> int:
    """Return the packet before a machine is built, for forecasts: that of the study where the point will be refused."""
    try:
        return packet_bytes(point, bandwidths(point)[1])
    except Unsupported:
        return int(point.network.packet_bytes)


MODEL = CodesModel("torus", network, lambda point: TORUS_AT_ONCE_BYTES, _packet_sent, job_links=None)
