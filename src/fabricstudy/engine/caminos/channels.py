"""Virtual channels: number per routing and machine, and the policies of their allocation."""

from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing, cached_routes
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.ugal import Ugal

from ..detours import via
from ..listed_routes import listed, routing_word
from ..point import Point
from ..virtual_channels import channel_scheme, check_listed_channels, check_stated_channels, classes_of_hops

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
    check_listed_channels(point.routing, machine)
    stated = point.network.virtual_channels
    if stated is None:
        return channels_of(point.routing, machine)
    scheme = channel_scheme(point.routing, machine)
    check_stated_channels(point, 2 if scheme in ("dateline", "escape") else hop_classes(point.routing, machine))
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


def arbitration(point: Point) -> str:
    """Return the allocator of a router, which arbitrates among packets for the same output.

    Notes
    -----
    Arbitration is random. Priority of packets in transit over those of the router's own nodes starves nodes: under
    adaptive routing an all-to-all of 64 kB took 1.2 to 1.5 times as long on a fat tree, 1.4 on a HyperX and 1.1 on a
    mesh, and no traffic gained more than 3 %.

    Under dimension order random arbitration starves some nodes, too, once dimensions of equal length are full:
    furthest pairing on an 8x8 torus then takes 1.4 times its lower bound at 100 kB and 3 times at 6.4 MB. So there the
    packet whose source router has sent least goes first (``engines/caminos/src/fair_arbitration.rs``): 1.3 to 1.5 times
    the bound at 100 kB, while the network fills and empties, and less than 1.1 times at 6.4 MB.
    """
    return "RandomWithPriority" if isinstance(point.routing, DimensionOrder) else "Random"


def policies(point: Point, machine: Machine, phit_bytes: int) -> str:
    """Return the policies by which a router chooses among the candidates of a packet, in the syntax of `Switch`."""
    routing = point.routing
    if isinstance(routing, Ugal):
        return f"Ugal {{ bias: {routing.bias}, threshold: {(routing.threshold_bytes or 0) / phit_bytes} }}"
    return f"EnforceFlowControl, {'' if cached_routes(machine, routing).oblivious else _LEAST_QUEUE + ', '}Random"


def routes(point: Point, machine: Machine) -> str:
    """Return the routing, in the syntax of the front end."""
    routing = point.routing
    tie = routing.tie if isinstance(routing, DimensionOrder) else "split"
    detours, progressive = (routing.detours, routing.progressive) if isinstance(routing, Ugal) else (1, False)
    fields = {
        "kind": f'"{_kind(routing, machine)}"',
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
    if word not in ("table", "adaptive-table"):
        return word
    return "table-by-hops" if channel_by_hop(routing, machine) else "table"
