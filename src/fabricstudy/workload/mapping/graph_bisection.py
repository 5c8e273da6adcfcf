"""Bisection of a weighted graph into parts of exact sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fabricstudy.core.arrays import Bools, Integers, Ints
from fabricstudy.structure.metis import two_parts

from .tasks import TaskGraph

# METIS counts in 32 bits; heavier graphs are scaled down.
MAX_GRAPH_WEIGHT = 2**30


@dataclass(frozen=True, eq=False)
class WeightedGraph:
    """Undirected graph in compressed rows, each edge in the rows of both its ends."""

    label: Integers
    """Number of each vertex in the original graph; integers [vertices]."""
    weight: Ints
    """Weight of each vertex, 0 or 1; int64 [vertices]."""
    start: Ints
    """Start of the row of each vertex; int64 [vertices + 1]."""
    neighbour: Ints
    edge: Ints
    """Neighbours, and weights of the edges to them; int64 [2 * edges] each."""

    @staticmethod
    def of_graph(graph: TaskGraph, weight: Ints) -> WeightedGraph:
        """Return the graph with these weights of its vertices, int64 [vertices]."""
        scale = min(1.0, MAX_GRAPH_WEIGHT / max(graph.size_bytes.sum(), 1.0))
        edges = np.maximum(1, graph.size_bytes * scale).astype(np.int64)
        return WeightedGraph(np.arange(len(weight)), weight, graph.first, graph.partner, edges)

    @property
    def total(self) -> int:
        return int(self.weight.sum())

    @property
    def row(self) -> Ints:
        """Vertex to whose row each entry belongs, int64 [2 * edges]."""
        return np.repeat(np.arange(len(self.label)), np.diff(self.start))

    def part(self, chosen: Bools) -> WeightedGraph:
        row = self.row
        inside = chosen[row] & chosen[self.neighbour]
        number = np.cumsum(chosen) - 1
        degrees = np.bincount(number[row[inside]], minlength=int(np.count_nonzero(chosen)))
        start = np.concatenate([[0], np.cumsum(degrees)])
        return WeightedGraph(
            self.label[chosen], self.weight[chosen], start, number[self.neighbour[inside]], self.edge[inside]
        )


def bisect_graph(graph: WeightedGraph, size: int, seed: int) -> Bools:
    """Return a part of weight exactly `size` with a small cut, bool [vertices].

    METIS (Karypis and Kumar 1998) cuts nearly in proportion; then the vertices that add least to the cut are moved one
    by one.
    """
    if not len(graph.edge):
        return np.cumsum(graph.weight) <= size
    chosen = np.equal(two_parts(graph.start, graph.neighbour, graph.weight, graph.edge, seed, size / graph.total), 0)
    _correct(graph, chosen, size)
    return chosen


def _correct(graph: WeightedGraph, chosen: Bools, size: int) -> None:
    """Move vertices of weight 1, in place, from the side with too many, the cheapest first."""
    surplus = int(graph.weight[chosen].sum()) - size
    if surplus == 0:
        return
    leaving = surplus > 0
    across = chosen[graph.row] != chosen[graph.neighbour]
    gain = np.bincount(graph.row, weights=np.where(across, graph.edge, -graph.edge), minlength=len(chosen))
    gain[graph.weight == 0] = -np.inf
    for _ in range(abs(surplus)):
        vertex = int(np.argmax(np.where(chosen == leaving, gain, -np.inf)))
        chosen[vertex] = not leaving
        row = slice(graph.start[vertex], graph.start[vertex + 1])
        # This edge now crosses the cut if the neighbour stayed, and no longer if it is on the other side.
        behind = chosen[graph.neighbour[row]] == leaving
        gain[graph.neighbour[row]] += np.where(behind, 2, -2) * graph.edge[row]
