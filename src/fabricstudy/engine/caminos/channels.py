"""Virtual channels: how many a routing needs on a machine, and which policy chooses among its candidates."""

from __future__ import annotations

from functools import lru_cache

from fabricstudy.machine.distances import longest_route
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import routes as routes_of
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.table import Table, TableRoutes
from fabricstudy.routing.ugal import Ugal
from fabricstudy.routing.valiant import Valiant
from fabricstudy.structure.deadlock import is_deadlock_free

from ..point import Point
from .clock import DETOURS

FREE_CHANNELS = 4
"""Channels where they do not count hops: two for each class of dimension order on rings, three beside an escape."""

_ROOM = "EnforceFlowControl"
_LEAST_QUEUE = (
    "OccupancyFunction { label_coefficient: 1, occupancy_coefficient: 1, product_coefficient: 0, "
    "constant_coefficient: 0, use_internal_space: true, use_neighbour_space: true, aggregate: true }, LowestLabel"
)
_SHORTER_OF_BOTH = "LowestSinghWeight { extra_congestion: 1, aggregate: true, use_internal_space: true }"


def channels(point: Point, machine: Machine) -> int:
    """Give the virtual channels of each link; ``engines/caminos/src/routes.rs`` says what they are for."""
    if not channel_by_hop(point, machine):
        return FREE_CHANNELS
    ways = table_routes(point, machine)
    hops = ways.longest_route if ways is not None else _longest_route(machine)
    # A packet between two nodes of one router makes no hop, and needs a channel to leave by.
    return max(1, hops * (2 if point.routing.kind in DETOURS else 1))


def table_routes(point: Point, machine: Machine) -> TableRoutes | None:
    """Give the routes of a point with a table."""
    if not isinstance(point.routing, Table):
        return None
    ways = routes_of(machine, point.routing)
    assert isinstance(ways, TableRoutes)
    return ways


def channel_by_hop(point: Point, machine: Machine) -> bool:
    """Whether hop k uses channel k."""
    kind = point.routing.kind
    if kind == "adaptive":
        rings = any(dimension.wrap for dimension in machine.dimensions)
        return rings or not (machine.dimensions or machine.level is not None)
    if kind == "table":
        return not _free_on_one_channel(machine, point.routing, one_channel=True)
    return kind not in ("dimension-order", "d-mod-k")


def arbitration(point: Point, machine: Machine) -> tuple[str, bool]:
    """Give the allocator of a router, and whether packets from other routers go before those of the router's nodes.

    Notes
    -----
    Where hop k has channel k, a packet drawn at random goes first: new packets have a channel of their own.

    Where any channel will do, arbitration decides whether all nodes get on alike. A packet drawn at random, and those
    in transit before new ones, both starve some nodes under dimension order once dimensions of equal length are full,
    and the more so the longer it lasts: furthest pairing on an 8x8 torus then takes 1.4 times its bound at 100 kB and
    3 times at 6.4 MB. So there the packet goes first whose source router has sent least
    (``engines/caminos/src/fair_arbitration.rs``): 1.3 to 1.5 times the bound at 100 kB, while the network fills and
    empties, and less than 1.1 times at 6.4 MB.
    """
    if point.routing.kind == "dimension-order":
        return "RandomWithPriority", False
    return ("Random", False) if channel_by_hop(point, machine) else ("RandomWithPriority", True)


def policies(point: Point) -> str:
    """Give the policies by which a router chooses among the candidates of a packet, in CAMINOS' words."""
    if point.routing.kind == "ugal":
        return f"{_SHORTER_OF_BOTH}, {_ROOM}, Random"
    if point.routing.kind == "adaptive":
        return f"{_ROOM}, {_LEAST_QUEUE}, Random"
    return f"{_ROOM}, Random"


def routes(point: Point, machine: Machine) -> str:
    """Give the routing in the words of our plug."""
    tie = point.routing.tie if isinstance(point.routing, DimensionOrder) else "split"
    kind = point.routing.kind
    if kind == "table" and channel_by_hop(point, machine):
        kind = "table-by-hops"
    return (
        f'Routes {{ kind: "{kind}", tie: "{tie}", via: "{via(point)}", '
        f"class_weight: {list(machine.hop_weight)}, channels: {channels(point, machine)} }}"
    )


def via(point: Point) -> str:
    """Give what detours lead through: a router or a group."""
    return point.routing.via if isinstance(point.routing, Valiant | Ugal) else "router"


_longest_route = lru_cache(maxsize=1)(longest_route)
_free_on_one_channel = lru_cache(maxsize=1)(is_deadlock_free)
