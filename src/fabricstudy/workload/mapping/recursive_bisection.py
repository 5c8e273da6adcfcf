"""Recursive bisection of ranks and nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fabricstudy.core.arrays import Bools, Integers, Ints
from fabricstudy.structure.cut import two_parts

from .base import Mapping
from .tasks import Slots, TaskGraph, Tasks

# METIS counts in 32 bits; heavier graphs are scaled down.
MAX_GRAPH_WEIGHT = 2**30


@dataclass(frozen=True, eq=False)
class WeightedGraph:
    """Undirected graph."""

    label: Integers
    """Number of each vertex in the original graph; integers [vertices]."""
    weight: Ints
    """Weight of each vertex, 0 or 1; int64 [vertices]."""
    edges: Any
    """Weights of the edges, a symmetric `scipy.sparse.csr_array`; int64 [vertices, vertices]."""

    @staticmethod
    def of_graph(graph: TaskGraph, weight: Ints) -> WeightedGraph:
        """Return the graph with these weights of its vertices, int64 [vertices]."""
        from scipy.sparse import csr_array

        scale = min(1.0, MAX_GRAPH_WEIGHT / max(graph.size_bytes.sum(), 1.0))
        edges = np.maximum(1, graph.size_bytes * scale).astype(np.int64)
        shape = len(weight), len(weight)
        return WeightedGraph(np.arange(len(weight)), weight, csr_array((edges, graph.partner, graph.first), shape))

    @property
    def total(self) -> int:
        return int(self.weight.sum())

    def part(self, chosen: Bools) -> WeightedGraph:
        return WeightedGraph(self.label[chosen], self.weight[chosen], self.edges[chosen][:, chosen])


def bisect_graph(graph: WeightedGraph, size: int, seed: int) -> Bools:
    """Return a part of weight exactly `size` with a small cut, bool [vertices].

    METIS (Karypis and Kumar 1998) cuts nearly in proportion; then the vertices that add least to the cut are moved one
    by one.
    """
    edges = graph.edges
    if not edges.nnz:
        return np.cumsum(graph.weight) <= size
    rows = edges.indptr.astype(np.int64), edges.indices.astype(np.int64)
    chosen = np.equal(two_parts(*rows, graph.weight, edges.data, seed, size / graph.total), 0)
    _correct(graph, chosen, size)
    return chosen


def _correct(graph: WeightedGraph, chosen: Bools, size: int) -> None:
    """Move vertices of weight 1, in place, from the side with too many, the cheapest first."""
    surplus = int(graph.weight[chosen].sum()) - size
    if surplus == 0:
        return
    leaving = surplus > 0
    edges = graph.edges
    row = np.repeat(np.arange(len(chosen)), np.diff(edges.indptr))
    across = chosen[row] != chosen[edges.indices]
    gain = np.bincount(row, weights=np.where(across, edges.data, -edges.data), minlength=len(chosen))
    gain[graph.weight == 0] = -np.inf
    for _ in range(abs(surplus)):
        vertex = int(np.argmax(np.where(chosen == leaving, gain, -np.inf)))
        chosen[vertex] = not leaving
        own = slice(edges.indptr[vertex], edges.indptr[vertex + 1])
        # This edge now crosses the cut if the neighbour stayed, and no longer if it is on the other side.
        behind = chosen[edges.indices[own]] == leaving
        gain[edges.indices[own]] += np.where(behind, 2, -2) * edges.data[own]


class RecursiveBisection(Mapping, kind="recursive-bisection"):
    """Recursive bisection of ranks and nodes by traffic and cables (Hoefler and Snir, ICS 2011).

    The weakest of the mappings by traffic: a stencil that fits a torus with 1 hop per message needs 3 to 4 hops. Use
    `exchange` for better results.
    """

    needs_traffic = True

    def map_ranks(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> Integers:
        """Halve the ranks and the nodes again and again, and map each half of the ranks to a half of the nodes.

        The graph of ranks has the bytes exchanged as weights. The graph of nodes has the allocated nodes, all
        routers and the cables between them, counted without their bandwidth, so that the same mapping serves all
        bandwidths. Each cut is made by METIS and then brought to the exact sizes (Hoefler and Snir, Generic
        Topology Mapping Strategies, ICS 2011).
        """
        metis_seed = int(rng.integers(2**31))
        core_of_rank = np.empty(slots.ranks, dtype=np.int64)
        ones = np.ones(slots.ranks, dtype=np.int64)
        parts = [(WeightedGraph.of_graph(tasks.graph, ones), node_graph(slots))]
        while parts:
            ranks, nodes = parts.pop()
            if nodes.total == 1:
                node = nodes.label[nodes.weight == 1][0]
                core_of_rank[ranks.label] = node * slots.ranks_per_node + np.arange(slots.ranks_per_node)
                continue
            node_side = bisect_graph(nodes, nodes.total // 2, metis_seed)
            rank_side = bisect_graph(ranks, nodes.total // 2 * slots.ranks_per_node, metis_seed)
            parts.append((ranks.part(rank_side), nodes.part(node_side)))
            parts.append((ranks.part(~rank_side), nodes.part(~node_side)))
        return core_of_rank


def node_graph(slots: Slots) -> WeightedGraph:
    """Return the graph of the job's nodes, of weight 1, and all routers, of weight 0, joined by their cables.

    Vertex i is node i of the allocation; the routers follow. The link of a node is heavier than all cables of
    any router, so that cuts separate a node from its router only where necessary.
    """
    machine, nodes = slots.machine, len(slots.nodes)
    ends = np.concatenate([machine.cable_tail, machine.cable_head])
    cables = np.bincount(ends, weights=np.tile(machine.cable_count, 2), minlength=machine.routers)
    host = np.full(nodes, int(cables.max(initial=0)) + 1, dtype=np.int64)
    weight = np.repeat([1, 0], [nodes, machine.routers])
    tail = np.concatenate([np.arange(nodes), nodes + machine.cable_tail])
    head = nodes + np.concatenate([machine.node_router[slots.nodes], machine.cable_head])
    graph = TaskGraph.of_edges(tail, head, np.concatenate([host, machine.cable_count]), len(weight))
    return WeightedGraph.of_graph(graph, weight)
