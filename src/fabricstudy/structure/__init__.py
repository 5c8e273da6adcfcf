"""What of a machine and its traffic needs no simulation.

In: a `Machine`, and messages as plain arrays of nodes and bytes.
Out: `link_loads` (from messages) and `router_link_loads` (from traffic between routers), the exact bytes on each
directed link under an oblivious routing; `link_support`, the links that messages may use under any; `link_sharing`,
how far jobs share links; `is_deadlock_free`; `load_time_ns`, the time that links need for
loads, and `lower_bound`, the least time of any run; `bisect`, the bisection as an interval with the best cut;
`structure`, all figures that describe a machine, and `describe`, which keeps them under the machine's id.
Capacities are those of one direction of each cable, in bytes per second; times are ns.
"""

from .bisection import Bisection, bisect
from .bound import Bound, load_time_ns, lower_bound
from .deadlock import channel_dependencies, is_deadlock_free
from .load import LinkLoads, has_loads, link_loads, link_support, router_link_loads
from .sharing import Sharing, link_sharing
from .stage import describe
from .summary import ClassFigures, Structure, structure

__all__ = [
    "Bisection",
    "Bound",
    "ClassFigures",
    "LinkLoads",
    "Sharing",
    "Structure",
    "bisect",
    "channel_dependencies",
    "describe",
    "has_loads",
    "is_deadlock_free",
    "link_loads",
    "link_sharing",
    "link_support",
    "load_time_ns",
    "lower_bound",
    "router_link_loads",
    "structure",
]
