"""Cost of CAMINOS."""

from fabricstudy.routing.adaptive import Adaptive

from ..cost_model import WorkCounts, messages_of, network_traffic, offered_factor, port_doublings
from ..point import Point
from .clock import phit_bytes

WAITING_PHITS = 8
"""Phits that wait at a cable under heavy load, both ends together, approximately; far less than its buffers."""

OFFERED_DOUBLING = 0.18
"""How much each doubling of ports adds to the time of a packet of offered traffic, in addition."""

CACHED_PORTS, PORTS = 7_000, 47_000
"""Ports of all routers at which the state of a network fits into the processor's last cache, and hardly fits.

On tori of 1024 to 12,288 routers a phit took 1.2 to 4.8 times as long in a router as on small machines.
"""


def work(point: Point) -> WorkCounts:
    """Count phits and packets in routers, messages, and parts of the machine.

    A waiting packet repeats its request in each cycle, so phits under contention cost more: those of nodes that send
    many messages at once. With a choice, it requests several links.
    """
    machine = point.machine
    phits = network_traffic(point, phit_bytes(point))
    packets = network_traffic(point, point.network.packet_bytes)
    ports = 2 * machine.cables + machine.nodes
    # Each doubling adds about the same to the time of a phit: 0.2 us per router with 600 ports, 0.5 us with 4000.
    doublings = port_doublings(point) * (1.0 if point.offered is None else offered_factor(point, OFFERED_DOUBLING))
    uncached = min(max(0.0, (ports - CACHED_PORTS) / (PORTS - CACHED_PORTS)), 1.0)
    chooses = isinstance(point.routing, Adaptive) or not point.routing.minimal
    counts = {"run": 1.0, "message": messages_of(point), "cable": float(machine.cables)}
    return WorkCounts(
        cpu=counts
        | {
            "phit in a router, each doubling of ports": phits.in_routers * doublings,
            "packet in a router, each doubling of ports": packets.in_routers * doublings,
            "phit in a router, not cached": phits.in_routers * uncached,
            "phit in a router, under contention": phits.contended_in_routers,
            "phit with a choice, each doubling of ports": phits.in_routers * doublings if chooses else 0.0,
        },
        memory=counts
        # Of offered traffic only messages under way are kept.
        | ({} if point.offered is None else {"message": float(WAITING_PHITS * machine.nodes)})
        | {
            "node": float(machine.nodes * point.network.ports_per_node),
            "waiting phit": float(min(phits.units, WAITING_PHITS * machine.cables)),
        },
    )
