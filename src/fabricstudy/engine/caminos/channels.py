"""Virtual channels: number per routing and machine, and the policies of their allocation."""

from functools import lru_cache

import numpy as np

from fabricstudy.machine.distances import longest_route
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.base import Routing, cached_routes
from fabricstudy.routing.d_mod_k import DModK
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.listed import HopList, PathList
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.table import Table
from fabricstudy.routing.ugal import Ugal
from fabricstudy.routing.valiant import Valiant
from fabricstudy.structure.deadlock import is_deadlock_free

from ..contract import Unsupported
from ..detours import via
from ..listed_routes import listed_routes
from ..point import Point

IMPLEMENTED: tuple[type[Routing], ...] = (Minimal, DimensionOrder, DModK, Adaptive, Valiant, Ugal)
"""Routings of the front end; it takes others as lists in the machine's file."""

FREE_CHANNELS = 4
"""Channels independent of hops: two for each class of dimension order on rings, three and an escape channel."""

_LEAST_QUEUE = (
    "OccupancyFunction { label_coefficient: 1, occupancy_coefficient: 1, product_coefficient: 0, "
    "constant_coefficient: 0, use_internal_space: true, use_neighbour_space: true, aggregate: true }, LowestLabel"
)


def channels(point: Point, machine: Machine) -> int:
    """Return the virtual channels of each link: those of the study, or else the default of the routing.

    Raises `Unsupported` if the study has fewer than deadlock freedom needs, or an extension's channels allow deadlock.
    """
    stated, routing = point.network.virtual_channels, point.routing
    if isinstance(routing, Ugal) and (routing.bias != 1 or routing.threshold_bytes):
        raise Unsupported(
            "CAMINOS' policy for UGAL has no bias and no threshold; leave routing.bias and routing.threshold out"
        )
    if not channel_by_hop(routing, machine) and listed(routing, machine) and not _is_deadlock_free(machine, routing):
        raise Unsupported(
            f"packets may wait in a circle on the virtual channels that {routing.kind} routing states; leave the "
            "channel of its next hops out, so that hop k uses channel k"
        )
    if stated is None:
        return channels_of(routing, machine)
    least = hop_classes(routing, machine)
    escape = type(routing) is Adaptive and bool(machine.dimensions)
    if escape or (type(routing) is DimensionOrder and _has_rings(machine)):
        least = max(least, 2)
    if stated < least:
        raise Unsupported(
            f"network.virtual_channels is {stated}, and {routing.kind} routing on this machine needs {least} against "
            f"deadlock; choose at least {least}, or leave it out"
        )
    return int(stated)


def channels_of(routing: Routing, machine: Machine) -> int:
    """Return the default number of virtual channels of a routing; ``engines/caminos/src/routes.rs`` uses them."""
    classes = hop_classes(routing, machine)
    return classes if channel_by_hop(routing, machine) else max(FREE_CHANNELS, classes)


def hop_classes(routing: Routing, machine: Machine) -> int:
    """Return the number of classes of hops, each with channels of its own; 1 where channels are independent of hops."""
    routes = listed(routing, machine)
    if routes is not None:
        return max(1, routes.hop_classes)
    if not channel_by_hop(routing, machine):
        return 1
    # Under progressive UGAL a packet may make a local hop before its detour begins.
    first = int(isinstance(routing, Ugal) and routing.progressive and machine.group is not None)
    return max(1, _longest_route(machine) * (1 if routing.minimal else 2) + first)


def _has_rings(machine: Machine) -> bool:
    return any(dimension.wrap for dimension in machine.dimensions)


def listed(routing: Routing, machine: Machine) -> HopList | PathList | None:
    """Return the routes that the machine's file lists; None for routings that the front end implements."""
    if type(routing) in IMPLEMENTED:
        return None
    routes = listed_routes(routing, machine)
    if isinstance(routes, HopList) and isinstance(routing, Table):
        one_channel = _is_deadlock_free(machine, routing, one_channel=True)
        return routes._replace(channel=np.zeros_like(routes.link)) if one_channel else routes
    return routes


def channel_by_hop(routing: Routing, machine: Machine) -> bool:
    """Return whether a packet's channels depend on its number of hops."""
    routes = listed(routing, machine)
    if routes is not None:
        return not isinstance(routes, HopList) or routes.channel is None
    if isinstance(routing, Adaptive):
        return _has_rings(machine) or not (machine.dimensions or machine.level is not None)
    return not isinstance(routing, DimensionOrder | DModK)


def policies(point: Point, machine: Machine, packet_phits: int) -> str:
    """Return the policies by which a router chooses among the candidates of a packet, in the syntax of CAMINOS."""
    routing = point.routing
    if isinstance(routing, Ugal):
        # The packet itself counts as queued, so an idle network routes minimally; a tie is minimal, too.
        return (
            f"LowestSinghWeight {{ extra_congestion: {packet_phits}, extra_distance: 0, aggregate: true, "
            "use_internal_space: true }, LowestLabel, EnforceFlowControl, Random"
        )
    return f"EnforceFlowControl, {'' if cached_routes(machine, routing).oblivious else _LEAST_QUEUE + ', '}Random"


def routes(point: Point, machine: Machine) -> str:
    """Return the routing, in the syntax of the front end."""
    routing = point.routing
    tie = routing.tie if isinstance(routing, DimensionOrder) else "split"
    detours, progressive = (routing.detours, routing.progressive) if isinstance(routing, Ugal) else (1, False)
    fields = {
        "kind": f'"{_kind(routing, machine)}"',
        "by_hops": str(channel_by_hop(routing, machine)).lower(),
        "tie": f'"{tie}"',
        "via": f'"{via(routing) or "router"}"',
        "detours": detours,
        "progressive": str(progressive).lower(),
        "class_weight": list(machine.hop_weight),
        "channels": channels(point, machine),
        "hop_classes": hop_classes(routing, machine),
    }
    return f"Routes {{ {', '.join(f'{name}: {value}' for name, value in fields.items())} }}"


def _kind(routing: Routing, machine: Machine) -> str:
    match listed(routing, machine):
        case None:
            return routing.kind
        case PathList():
            return "paths"
    return "table"


_longest_route = lru_cache(maxsize=64)(longest_route)
_is_deadlock_free = lru_cache(maxsize=2)(is_deadlock_free)
