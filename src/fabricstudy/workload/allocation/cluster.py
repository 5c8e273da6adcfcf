"""The first free nodes, in order of node number or nearly so."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import Cluster, SwappedCluster
from fabricstudy.workload.placed import Indices

from .request import Grant, Request


def allocate(config: Cluster, request: Request) -> Grant:
    """Take the first free nodes in order of node number."""
    return Grant(np.flatnonzero(request.free)[: request.wanted])


def allocate_swapped(config: SwappedCluster, request: Request) -> Grant:
    """Take the first free nodes in an order in which pairs of nodes have swapped places.

    All jobs of a point see the same order, so that with as many nodes as the machine has, jobs exchange nodes.
    """
    order = swapped(request.machine.nodes, config.swaps, request.common_rng)
    return Grant(order[request.free[order]][: request.wanted])


def swapped(nodes: int, share: float, rng: np.random.Generator) -> Indices:
    """Number the nodes in order, then draw ``share * nodes`` pairs one after the other and swap their places.

    Examples
    --------
    >>> order = swapped(10_000, 0.05, np.random.default_rng(1))
    >>> int(np.count_nonzero(order != np.arange(10_000)))
    958
    """
    order = np.arange(nodes)
    for pair in rng.integers(nodes, size=(round(share * nodes), 2)):
        order[pair] = order[pair[::-1]]
    return order
