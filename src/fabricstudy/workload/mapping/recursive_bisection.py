"""Recursive bisection of ranks and nodes."""

from typing import ClassVar, Literal

import numpy as np

from fabricstudy.core.arrays import Integers
from fabricstudy.core.kinds import register

from .base import Mapping
from .graph_bisection import WeightedGraph, bisect_graph
from .slots import Slots
from .tasks import TaskGraph, Tasks


@register
class RecursiveBisection(Mapping):
    """Recursive bisection of ranks and nodes by traffic and cables (Hoefler and Snir, ICS 2011).

    The weakest of the mappings by traffic: a stencil that fits a torus with 1 hop per message needs 3 to 4 hops. Use
    `exchange` for better results.
    """

    needs_traffic: ClassVar[bool] = True

    kind: Literal["recursive-bisection"] = "recursive-bisection"

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
