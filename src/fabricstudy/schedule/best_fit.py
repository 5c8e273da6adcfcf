"""Nodes of a job by Slurm's plugin topology/tree: best fit over leaf switches.

Nodes are either free or allocated. The algorithm selects leaf switches one by one. It prefers the leaf with the fewest
free nodes among those that can hold the rest of the job; if there is none, the leaf below the switch with the fewest
free nodes that can hold it, level by level; otherwise the leaf with the most free nodes. Ties are resolved by the
distance to the leaves already selected, then by order; a leaf never replaces a nearer one. The nodes of a leaf are
allocated in ascending order.

This is the algorithm of Slurm 22.05 without node weights: it visits the leaves in order, and does not reduce the counts
of upper switches while it chooses. Later versions differ in both on three or more levels of switches. A machine without
levels or groups is a tree of its routers with nodes below one root.

References
----------
SchedMD: Slurm topology guide, https://slurm.schedmd.com/topology.html.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit

from fabricstudy.core.arrays import Bools, Ints
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.search import component_labels


class SwitchTree(NamedTuple):
    """Switches above nodes."""

    leaf: Ints
    """Leaf switch of each node, int64 [nodes]."""
    above: Ints
    """Switch above each leaf by level, the leaf itself first; int64 [levels, leaves]."""


@lru_cache(maxsize=4)
def switch_tree(machine: Machine) -> SwitchTree:
    """Return the tree of a machine: routers with nodes, and the subtrees of a tree or the groups above them."""
    routers, leaf = np.unique(machine.node_router, return_inverse=True)
    above = [np.arange(len(routers))]
    if machine.level is not None:
        height = np.maximum(machine.level[machine.cable_tail], machine.level[machine.cable_head])
        for level in range(1, int(machine.level.max())):
            inside = height <= level
            part = component_labels(machine.cable_tail[inside], machine.cable_head[inside], machine.routers)
            above.append(np.unique(part[routers], return_inverse=True)[1])
    elif machine.group is not None:
        above.append(machine.group[routers].astype(np.int64))
    return SwitchTree(leaf.astype(np.int64), np.stack(above).astype(np.int64))


def best_fit(tree: SwitchTree, free: Bools, wanted: int) -> Ints:
    """Return the numbers of `wanted` of the `free` nodes (bool [nodes]), ascending; at least so many are free."""
    return np.flatnonzero(_chosen(tree.leaf, tree.above, free, wanted))


@njit(cache=True)
def _chosen(leaf: Ints, above: Ints, free: Bools, wanted: int) -> Bools:
    levels, leaves = above.shape
    count = np.zeros((levels, leaves), np.int64)
    for node in range(len(leaf)):
        if free[node]:
            for level in range(levels):
                count[level, above[level, leaf[node]]] += 1
    chosen, distance = np.zeros(len(leaf), np.bool_), np.zeros(leaves, np.int64)
    while wanted > 0:
        best = -1
        for other in range(leaves):
            if count[0, other] == 0:
                continue
            if best < 0:
                best = other
                continue
            better = _compared(count, above, other, best, wanted)
            nearer = distance[best] - distance[other]
            if (nearer > 0 and better >= 0) or (nearer == 0 and better > 0):
                best = other
        for node in range(len(leaf)):
            if leaf[node] == best and free[node] and wanted > 0:
                chosen[node] = True
                wanted -= 1
        count[0, best] = 0
        for other in range(leaves):
            level = 0
            while level < levels and above[level, other] != above[level, best]:
                level += 1
            distance[other] += 2 * level
    return chosen


@njit(cache=True)
def _compared(count: Ints, above: Ints, one: int, other: int, wanted: int) -> int:
    """Return 1 if a leaf is better than the other, -1 if it is worse, else 0."""
    level, levels = 0, len(above)
    while True:
        first, second = count[level, above[level, one]], count[level, above[level, other]]
        if min(first, second) >= wanted:
            return int(first < second) - int(first > second)
        level += 1
        decided = max(first, second) >= wanted or level == levels or above[level, one] == above[level, other]
        if decided:
            return int(first > second) - int(first < second)
