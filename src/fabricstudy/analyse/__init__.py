"""What needs no simulation.

In: a `Machine`, and messages as plain arrays of nodes and bytes.
Out: `distances` between routers and the `longest_route`; `link_loads` (from messages) and `router_link_loads` (from
traffic between routers), the exact bytes on each directed link under minimal and Valiant routing; `bound_ns`, the
least time that loads allow, and `bound_of_any_routing_ns`, the one that needs no routes; `bisect`, the bisection as
an interval with the best cut; `structure`, all figures that describe a machine.
Capacities are those of one direction of each cable, in bytes per second; times are ns.
"""

from .bisection import Bisection, bisect
from .bound import bound_ns, bound_of_any_routing_ns
from .load import LinkLoads, Routing, link_loads, router_link_loads
from .routes import distances, longest_route
from .stage import keep_structure, load_structure
from .structure import ClassFigures, Structure, structure

__all__ = [
    "Bisection",
    "ClassFigures",
    "LinkLoads",
    "Routing",
    "Structure",
    "bisect",
    "bound_ns",
    "bound_of_any_routing_ns",
    "distances",
    "keep_structure",
    "link_loads",
    "load_structure",
    "longest_route",
    "router_link_loads",
    "structure",
]
