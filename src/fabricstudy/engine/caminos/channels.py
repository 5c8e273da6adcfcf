"""Virtual channels: number per routing and machine, and the policies of their allocation."""

from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing, cached_routes
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.ugal import Ugal

from ..detours import via
from ..failures import Unsupported
from ..listed_routes import listed, routing_word
from ..point import Point
from ..virtual_channels import (
    channel_classes,
    channel_scheme,
    check_listed_channels,
    check_stated_channels,
    classes_of_hops,
)

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
    routing, stated = point.routing, point.network.virtual_channels
    if isinstance(routing, Ugal) and (routing.bias != 1 or routing.threshold_bytes):
        raise Unsupported(
            "CAMINOS' policy for UGAL has no bias and no threshold; leave routing.bias and routing.threshold out"
        )
    check_listed_channels(routing, machine)
    if stated is None:
        return channels_of(point.routing, machine)
    scheme = channel_scheme(routing, machine)
    least, on_packet = hop_classes(routing, machine), channel_classes(routing, machine)
    if scheme in ("dateline", "escape"):
        least = 2
    elif least > 1:
        scheme = "hops"
    check_stated_channels(point, least, scheme, f" (packet needs {on_packet})" if on_packet < least else "")
    return int(stated)


def channels_of(routing: Routing, machine: Machine) -> int:
    """Return the default number of virtual channels of a routing; ``engines/caminos/src/routes.rs`` uses them."""
    classes = hop_classes(routing, machine)
    return classes if channel_by_hop(routing, machine) else max(FREE_CHANNELS, classes)


def hop_classes(routing: Routing, machine: Machine) -> int:
    """Return the number of classes of hops, each with channels of its own; 1 where channels are independent of hops."""
    if listed(routing, machine) is None and not channel_by_hop(routing, machine):
        return 1
    return classes_of_hops(routing, machine)


def channel_by_hop(routing: Routing, machine: Machine) -> bool:
    """Return whether a packet's channels depend on its number of hops."""
    return type(routing) is Minimal or channel_scheme(routing, machine) == "hops"


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
    word = routing_word(routing, machine)
    return "table" if word == "adaptive-table" else word
