"""Machines: routers, cables and nodes, with bandwidths and latencies.

In: the machine of a study, a `Topology`: one module a kind, with its keys, closed forms and construction.
Out: `Machine`, numpy arrays: the router of each node, one row for the cables between two routers, and the table of
link classes. Construction is deterministic; `definitions` writes the machines of a study as Parquet and JSON.
`hop_distances` returns distances between routers, on grids without a matrix.
Each topology's module documents its router and node numbers; later stages use only the arrays.
"""

from .base import Topology, published_machine
from .dimension import Dimension
from .distances import HopDistances, hop_distances
from .graph import LinkClass, Machine

__all__ = [
    "Dimension",
    "HopDistances",
    "LinkClass",
    "Machine",
    "Topology",
    "hop_distances",
    "published_machine",
]
