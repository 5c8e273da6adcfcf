"""What CAMINOS does for a point."""

from ..cost_model import WorkCounts, messages_of, network_traffic
from ..point import Point
from .clock import phit_bytes

WAITING_PHITS = 8
"""Phits that wait at a cable, both ends together, when many do: about, and far less than its buffers hold."""

CACHED_PORTS, PORTS = 7_000, 47_000
"""Ports of all routers with which the state of a network fits into a processor's cache, and with which little does.

On tori of 1024 to 12,288 routers a phit took 1.2 to 4.8 times as long in a router as on small machines.
"""

CROWD = 1000
"""Phits of a node with which buffers fill on the way: what waits is looked at again and again."""


def work(point: Point) -> WorkCounts:
    """Count phits and packets in routers, messages, and parts of the machine."""
    machine = point.machine
    phits = network_traffic(point, phit_bytes(point))
    ports = 2 * machine.cables + machine.nodes
    uncached = min(max(0.0, (ports - CACHED_PORTS) / (PORTS - CACHED_PORTS)), 1.0)
    crowd = min(1.0, phits.units / machine.nodes / CROWD)
    counts = {"run": 1.0, "message": messages_of(point), "cable": float(machine.cables)}
    return WorkCounts(
        cpu=counts
        | {
            "phit in a router": phits.in_routers,
            "phit in a router, not cached": phits.in_routers * uncached,
            "phit in a router, in a crowd": phits.global_in_routers * crowd,
            "packet in a router": network_traffic(point, point.network.packet_bytes).in_routers,
        },
        memory=counts
        | {
            "node": float(machine.nodes * point.network.ports_per_node),
            "waiting phit": float(min(phits.units, WAITING_PHITS * machine.cables)),
        },
    )
