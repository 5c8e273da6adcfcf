"""What needs no simulation.

In: a `Machine`, and messages as plain arrays of nodes and bytes.
Out: `distances` (hops) between routers and the `longest_route`; `link_loads` (from messages) and `router_link_loads`
(from traffic between routers), the exact bytes on each directed link under an oblivious routing; `link_support`, the
links that messages may use under any; `link_sharing`, how far jobs share links; `is_deadlock_free`; `bound_ns`, the
least time that loads allow, and `bound_of_any_routing_ns`, the one that needs no routes; `bisect`, the bisection as an
interval with the best cut; `structure`, all figures that describe a machine. What packets do is in `routing`, one
module a routing.
Capacities are those of one direction of each cable, in bytes per second; times are ns.
"""

from .bisection import Bisection, bisect
from .bound import bound_ns, bound_of_any_routing_ns
from .deadlock import channel_dependencies, is_deadlock_free
from .load import LinkLoads, has_loads, link_loads, link_support, router_link_loads
from .routes import distances, longest_route
from .sharing import Sharing, link_sharing
from .stage import keep_structure, load_structure
from .structure import ClassFigures, Structure, structure

__all__ = [
    "Bisection",
    "ClassFigures",
    "LinkLoads",
    "Sharing",
    "Structure",
    "adjacency",
    "bisect",
    "bound_ns",
    "bound_of_any_routing_ns",
    "channel_dependencies",
    "distances",
    "has_loads",
    "is_deadlock_free",
    "keep_structure",
    "link_loads",
    "link_sharing",
    "link_support",
    "load_structure",
    "longest_route",
    "router_link_loads",
    "structure",
]
