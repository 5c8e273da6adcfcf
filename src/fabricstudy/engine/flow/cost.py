"""Cost of the flow engine."""

from math import inf

from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.ugal import Ugal

from ..cost_model import WorkCounts, network_traffic
from ..point import Point


def work(point: Point) -> WorkCounts:
    """Count messages, those that choose among paths, and parts of the machine; bytes are free."""
    machine = point.machine
    messages, in_routers, _ = network_traffic(point, inf)
    counts = {"run": 1.0, "message": messages}
    chosen = messages if isinstance(point.routing, Adaptive | Ugal) else 0.0
    return WorkCounts(
        cpu=counts | {"message in a router": in_routers, "message with a choice": chosen},
        memory=counts | {"node": float(machine.nodes), "cable": float(machine.cables)},
    )
