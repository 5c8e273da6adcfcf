"""Cost of the packet engine."""

from ..cost_model import WorkCounts, messages_of, network_traffic, offered_factor, port_doublings
from ..point import Point

WAITING_PACKETS = 8
"""Packets that wait at a cable under heavy load, both ends together, approximately; far less than its buffers."""

OFFERED_DOUBLING = 0.18
"""How much each doubling of ports adds to the time of a packet of offered traffic, in addition."""


def work(point: Point) -> WorkCounts:
    """Count packets in routers, messages, and parts of the machine."""
    machine = point.machine
    packets = network_traffic(point, point.network.packet_bytes)
    # Each doubling adds about the same to the time of a packet, whose state is in ever slower memory.
    doublings = port_doublings(point) * (1.0 if point.offered is None else offered_factor(point, OFFERED_DOUBLING))
    counts = {"run": 1.0, "message": messages_of(point), "cable": float(machine.cables)}
    return WorkCounts(
        cpu=counts | {"packet in a router, each doubling of ports": packets.in_routers * doublings},
        memory=counts
        # Of offered traffic only messages under way are kept.
        | ({} if point.offered is None else {"message": float(WAITING_PACKETS * machine.nodes)})
        | {
            "node": float(machine.nodes * point.network.ports_per_node),
            "waiting packet": float(min(packets.units, WAITING_PACKETS * machine.cables)),
        },
    )
