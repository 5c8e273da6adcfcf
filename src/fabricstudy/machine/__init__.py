"""The machines: routers, cables and nodes, with bandwidths and latencies.

In: the machine of a study, a `Topology`: one module a kind, which says what may be written, tells nodes and cables in
closed form, and builds the arrays.
Out: `Machine`, numpy arrays: the router of each node, one row for the cables between two routers, and the table of
link classes. A machine is built from its description alone, the same each time; `definitions` writes the machines of a
study as Parquet and JSON. `hop_distances` tells how far apart routers are, on grids
without a matrix; `distances` gives the matrix.
Router and node numbers are those of the topology's module; everything after this stage uses only the arrays.
"""

from .base import Topology, published_machine
from .dimension import Dimension
from .distances import distances
from .graph import LinkClass, Machine
from .hops import HopDistances, hop_distances

__all__ = [
    "Dimension",
    "HopDistances",
    "LinkClass",
    "Machine",
    "Topology",
    "distances",
    "hop_distances",
    "published_machine",
]
