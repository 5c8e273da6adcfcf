"""Cost of the packet engine."""

from ..cost_model import WorkCounts, messages_of, network_traffic, offered_factor, port_doublings
from ..point import Point

OFFERED_DOUBLING = 0.18
"""How much each doubling of ports adds to the time of a packet of offered traffic, in addition."""

WAITING_MESSAGES = 16
"""Messages of a node that wait under heavy offered load, approximately."""


def work(point: Point) -> WorkCounts:
    """Count packets in routers, messages, and parts of the machine."""
    machine, network, offered = point.machine, point.network, point.offered is not None
    packets = network_traffic(point, network.packet_bytes)
    messages = messages_of(point)
    # Each doubling adds about the same to the time of a packet, whose state is in ever slower memory.
    doublings = port_doublings(point)
    passages = packets.in_routers * (offered_factor(point, OFFERED_DOUBLING) if offered else 1.0)
    kind = "offered packet" if offered else "packet"
    detoured = 0.0 if point.routing.minimal else packets.units
    parts = {"run": 1.0, "cable": float(machine.cables), "node": float(machine.nodes * network.ports_per_node)}
    ports = 2 * machine.cables + machine.nodes * network.ports_per_node
    return WorkCounts(
        cpu=parts
        | {
            "message": messages,
            f"{kind} in a router, each doubling of ports": passages * doublings,
            f"{kind} in a router, under contention, each doubling of ports": packets.contended_in_routers * doublings,
            f"{kind} that may take a detour, each doubling of ports": detoured * doublings,
        },
        memory=parts
        | {
            # Of offered traffic only messages under way are kept.
            "message": min(messages, WAITING_MESSAGES * machine.nodes) if offered else messages,
            "packet in a buffer": min(packets.units, ports * network.input_buffer_bytes / network.packet_bytes),
        },
    )
