"""Virtual channels: how many a routing needs on a machine, and which policy chooses among its candidates."""

from functools import lru_cache

from fabricstudy.machine.distances import longest_route
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.base import NonMinimalRouting, Routing
from fabricstudy.routing.base import cached_routes as routes_of
from fabricstudy.routing.d_mod_k import DModK
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.table import Table, TableRoutes
from fabricstudy.routing.ugal import Ugal
from fabricstudy.structure.deadlock import is_deadlock_free

from ..contract import Unsupported
from ..detours import via
from ..point import Point

FREE_CHANNELS = 4
"""Channels where they do not count hops: two for each class of dimension order on rings, three beside an escape."""

_LEAST_QUEUE = (
    "OccupancyFunction { label_coefficient: 1, occupancy_coefficient: 1, product_coefficient: 0, "
    "constant_coefficient: 0, use_internal_space: true, use_neighbour_space: true, aggregate: true }, LowestLabel"
)


def channels(point: Point, machine: Machine) -> int:
    """Return the virtual channels of each link: those of the study, or else as many as the routing needs.

    Raises
    ------
    Unsupported
        If the study gives fewer than freedom from deadlock needs.
    """
    given = point.network.virtual_channels
    if given is None:
        return channels_of(point.routing, machine)
    least = _least_channels(point.routing, machine)
    if given < least:
        raise Unsupported(
            f"network.virtual_channels is {given}, and {point.routing.kind} routing needs {least} on this machine so "
            f"that packets cannot deadlock; choose {least} at least, or leave it out"
        )
    return int(given)


def channels_of(routing: Routing, machine: Machine) -> int:
    """Return the virtual channels that a routing takes by itself; ``engines/caminos/src/routes.rs`` says what for."""
    return hop_classes(routing, machine) if channel_by_hop(routing, machine) else FREE_CHANNELS


def hop_classes(routing: Routing, machine: Machine) -> int:
    """Return the classes of hops: as many as the longest route has hops, and 1 where hops have no classes."""
    if not channel_by_hop(routing, machine):
        return 1
    ways = table_routes(routing, machine)
    hops = ways.longest_route if ways is not None else _longest_route(machine)
    # A packet under progressive UGAL may make a local hop before its detour begins.
    first = int(isinstance(routing, Ugal) and routing.progressive and machine.group is not None)
    return max(1, hops * (2 if isinstance(routing, NonMinimalRouting) else 1) + first)


def _least_channels(routing: Routing, machine: Machine) -> int:
    if channel_by_hop(routing, machine):
        return hop_classes(routing, machine)
    escape = isinstance(routing, Adaptive) and bool(machine.dimensions)
    return 2 if escape or (isinstance(routing, DimensionOrder) and _has_rings(machine)) else 1


def _has_rings(machine: Machine) -> bool:
    return any(dimension.wrap for dimension in machine.dimensions)


def table_routes(routing: Routing, machine: Machine) -> TableRoutes | None:
    """Return the routes of a table; None for other routings."""
    if not isinstance(routing, Table):
        return None
    ways = routes_of(machine, routing)
    assert isinstance(ways, TableRoutes)
    return ways


def channel_by_hop(routing: Routing, machine: Machine) -> bool:
    """Return whether a packet's channels follow from its number of hops."""
    match routing:
        case Adaptive():
            return _has_rings(machine) or not (machine.dimensions or machine.level is not None)
        case Table():
            return not _free_on_one_channel(machine, routing, one_channel=True)
    return not isinstance(routing, DimensionOrder | DModK)


def arbitration(point: Point) -> str:
    """Return the allocator of a router: which of several packets for one output goes first.

    Notes
    -----
    A packet drawn at random goes first. To prefer packets in transit to those of the router's own nodes, as an earlier
    version did where channels do not count hops, starves nodes: under adaptive routing an all-to-all of 64 kB took 1.2
    to 1.5 times as long on a fat tree, 1.4 on a HyperX and 1.1 on a mesh, and nothing gained more than 3 %.

    Under dimension order drawing starves some nodes, too, once dimensions of equal length are full, and the more so the
    longer it lasts: furthest pairing on an 8x8 torus then takes 1.4 times its bound at 100 kB and 3 times at 6.4 MB. So
    there the packet goes first whose source router has sent least (``engines/caminos/src/fair_arbitration.rs``): 1.3 to
    1.5 times the bound at 100 kB, while the network fills and empties, and less than 1.1 times at 6.4 MB.
    """
    return "RandomWithPriority" if isinstance(point.routing, DimensionOrder) else "Random"


def policies(point: Point, phit_bytes: int) -> str:
    """Return the policies by which a router chooses among the candidates of a packet, as our `Switch` reads them."""
    routing = point.routing
    if isinstance(routing, Ugal):
        return f"Ugal {{ bias: {routing.bias}, threshold: {(routing.threshold_bytes or 0) / phit_bytes} }}"
    return f"EnforceFlowControl, {_LEAST_QUEUE + ', ' if isinstance(routing, Adaptive) else ''}Random"


def routes(point: Point, machine: Machine) -> str:
    """Return the routing as our plug reads it."""
    routing = point.routing
    tie = routing.tie if isinstance(routing, DimensionOrder) else "split"
    detours, progressive = (routing.detours, routing.progressive) if isinstance(routing, Ugal) else (1, False)
    through = via(routing) or "router"
    by_hops = "-by-hops" if isinstance(routing, Table) and channel_by_hop(routing, machine) else ""
    fields = {
        "kind": f'"{routing.kind}{by_hops}"',
        "tie": f'"{tie}"',
        "via": f'"{through}"',
        "detours": detours,
        "progressive": str(progressive).lower(),
        "class_weight": list(machine.hop_weight),
        "channels": channels(point, machine),
        "hop_classes": hop_classes(routing, machine),
    }
    return f"Routes {{ {', '.join(f'{name}: {value}' for name, value in fields.items())} }}"


_longest_route = lru_cache(maxsize=64)(longest_route)
_free_on_one_channel = lru_cache(maxsize=1)(is_deadlock_free)
