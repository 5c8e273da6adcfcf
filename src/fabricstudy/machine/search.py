"""Bit-parallel breadth-first searches from many routers, and connected components."""

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from fabricstudy.core.arrays import Int16s, Integers, Ints

Word = TypeVar("Word", np.uint8, np.uint64)


def starts(tail: Integers, routers: int) -> Ints:
    """Return the offset of each router among links sorted by `tail`, int64 [routers + 1]."""
    return np.concatenate([[0], np.cumsum(np.bincount(tail, minlength=routers))]).astype(np.int64)


def link_layers(first: Ints) -> list[tuple[Ints, Ints]]:
    """Return for the first, second, ... link of each router the routers that have one, and its index."""
    degree = np.diff(first)
    return [(rows := np.flatnonzero(degree > k), first[rows] + k) for k in range(degree.max(initial=0))]


def hops_between_all(first: Ints, head: Ints) -> Int16s:
    """Return the hops between all routers, int16 [routers, routers]; `first` and `head` are those of `Adjacency`.

    Raises ValueError if the machine is not connected.
    """
    routers = len(first) - 1
    distance = np.zeros((routers, routers), dtype=np.int16)
    # 64-bit words are faster than bytes.
    identity = np.packbits(np.eye(routers, -(-routers // 64) * 64, dtype=np.bool_), axis=1).view(np.uint64)
    for reached in bfs_levels(identity, first, head):
        unreached = np.unpackbits(~reached.view(np.uint8), axis=1, count=routers)
        if not unreached.any():
            return distance
        distance += unreached
    raise ValueError("the machine is not connected")


def bfs_levels(reached: npt.NDArray[Word], first: Ints, head: Ints) -> Iterator[npt.NDArray[Word]]:
    """Yield the sources that reach each router within 0, 1, 2, ... hops, as bits [routers, words], until convergence.

    `first` and `head` are those of `Adjacency`.
    """
    layers = link_layers(first)
    while True:
        yield reached
        grown = reached.copy()
        for rows, link in layers:
            grown[rows] |= reached[head[link]]
        if np.array_equal(grown, reached):
            return
        reached = grown


def component_labels(tail: Integers, head: Integers, routers: int) -> npt.NDArray[np.signedinteger]:
    """Return the connected component of each router, int array [routers], from 0.

    Examples
    --------
    >>> component_labels(np.array([0, 3]), np.array([2, 1]), 4).tolist()
    [0, 1, 0, 1]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(tail)), (tail, head)), shape=(routers, routers))
    labels: npt.NDArray[np.signedinteger] = connected_components(graph, directed=False)[1]
    return labels
