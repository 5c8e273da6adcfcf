"""Breadth-first searches from many routers at once, a bit for each source."""

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Word = TypeVar("Word", np.uint8, np.uint64)


def starts(tail: npt.NDArray[np.integer], routers: int) -> npt.NDArray[np.int64]:
    """Where the links of each router start among links sorted by `tail`, int64 [routers + 1]."""
    return np.concatenate([[0], np.cumsum(np.bincount(tail, minlength=routers))]).astype(np.int64)


def hops_between_all(first: npt.NDArray[np.int64], head: npt.NDArray[np.int64]) -> npt.NDArray[np.int16]:
    """Hops between all routers, int16 [routers, routers]; `first` and `head` are as in `Adjacency`.

    Raises ValueError if some router cannot be reached.
    """
    routers = len(first) - 1
    distance = np.zeros((routers, routers), dtype=np.int16)
    # Whole words are moved faster than bytes.
    themselves = np.packbits(np.eye(routers, -(-routers // 64) * 64, dtype=np.bool_), axis=1).view(np.uint64)
    for reached in bfs_levels(themselves, first, head):
        far = np.unpackbits(~reached.view(np.uint8), axis=1, count=routers)
        if not far.any():
            return distance
        distance += far
    raise ValueError("the machine is not connected")


def bfs_levels(
    reached: npt.NDArray[Word], first: npt.NDArray[np.int64], head: npt.NDArray[np.int64]
) -> Iterator[npt.NDArray[Word]]:
    """Walk from sources: give what is reached within 0, 1, 2, ... hops, until no hop adds anything.

    Row r holds as bits the sources that reach router r; `first` and `head` are as in `Adjacency`.
    """
    degree = np.diff(first)
    # The first link of each router, then the second, and so on: the routers that have one, and its place.
    layers = [(rows := np.flatnonzero(degree > k), first[rows] + k) for k in range(degree.max(initial=0))]
    while True:
        yield reached
        grown = reached.copy()
        for rows, place in layers:
            grown[rows] |= reached[head[place]]
        if np.array_equal(grown, reached):
            return
        reached = grown
