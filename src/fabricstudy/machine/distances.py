"""Distances between routers, and the links in the order in which searches walk them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .dimension import Dimension
from .graph import Machine


class Adjacency(NamedTuple):
    """Directed links sorted by the router they leave; those of router r start at ``first[r]``.

    `cables` counts the parallel ones.
    """

    first: npt.NDArray[np.int64]
    link: npt.NDArray[np.int64]
    head: npt.NDArray[np.int64]
    kind: npt.NDArray[np.int64]
    cables: npt.NDArray[np.float64]


def adjacency(machine: Machine) -> Adjacency:
    """Sort the directed links of `machine` by the router they leave."""
    link = np.argsort(machine.link_tail, kind="stable")
    return Adjacency(
        first=_starts(machine.link_tail, machine.routers),
        link=link.astype(np.int64),
        head=machine.link_head[link].astype(np.int64),
        kind=machine.link_class[link].astype(np.int64),
        cables=machine.cable_count[link // 2].astype(np.float64),
    )


def distances(machine: Machine) -> npt.NDArray[np.int16]:
    """Hops between all routers.

    Returns
    -------
    int16 array [routers, routers]
        Links on a shortest path; every link counts 1, whatever its class. In a grid these are the sums of the
        distances in its dimensions.

    Raises
    ------
    ValueError
        If some router cannot be reached.
    """
    if machine.coordinates is None or not machine.dimensions:
        links = adjacency(machine)
        return _search(links.first, links.head)
    distance = np.zeros((machine.routers, machine.routers), dtype=np.int16)
    for dimension, at in zip(machine.dimensions, machine.coordinates.T, strict=True):
        distance += line_distances(dimension)[np.ix_(at, at)]
    return distance


def longest_route(machine: Machine) -> int:
    """Hops of the longest path of least `Machine.hop_weight` between two routers with nodes.

    Raises
    ------
    ValueError
        If some router cannot be reached.

    Examples
    --------
    >>> from fabricstudy.machine.dragonfly import DragonflyConfig
    >>> longest_route(DragonflyConfig.model_validate({"groups": 9, "routers_per_group": 4,
    ...     "nodes_per_router": 2, "bandwidth": "1 GB/s"}).build())
    3
    """
    ends = np.flatnonzero(machine.nodes_of_router)
    found: npt.NDArray[np.signedinteger]
    if set(machine.hop_weight) != {1}:
        # Just below the true weight, so that of equally heavy paths the one with most hops wins.
        links = adjacency(machine)
        weight = 2 * machine.routers * np.array(machine.hop_weight, dtype=np.int64)[links.kind] - 1
        found = -path_weights(links, weight) % (2 * machine.routers)
    elif machine.coordinates is not None and machine.dimensions:
        return sum(int(line_distances(dimension).max()) for dimension in machine.dimensions)
    else:
        found = distances(machine)
    return int(np.max(found[np.ix_(ends, ends)], initial=0))


def line_distances(dimension: Dimension) -> npt.NDArray[np.int16]:
    """Hops between all coordinates along one dimension of a grid, int16 [length, length]."""
    tail, head = np.nonzero(joins(dimension))
    return _search(_starts(tail, dimension.length), head)


def path_weights(links: Adjacency, weight: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Least total weight of a path between two routers, by Bellman and Ford's relaxation of all links at once.

    Parameters
    ----------
    links : Adjacency
        Of a machine.
    weight : int64 array [links]
        Positive weight of each link, in the order of `links`.

    Returns
    -------
    int64 array [routers, routers]

    Raises
    ------
    ValueError
        If some router cannot be reached.
    """
    routers = len(links.first) - 1
    far = routers * int(weight.max(initial=0)) + 1
    found = np.where(np.eye(routers, dtype=np.bool_), 0, far)
    layers = list(_layers(links.first))
    while True:
        before = found.copy()
        for rows, place in layers:
            found[rows] = np.minimum(found[rows], before[links.head[place]] + weight[place, None])
        if np.array_equal(found, before):
            break
    if found.max(initial=0) >= far:
        raise ValueError("the machine is not connected")
    return found


def _starts(tail: npt.NDArray[np.integer], routers: int) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.bincount(tail, minlength=routers))]).astype(np.int64)


def joins(dimension: Dimension) -> npt.NDArray[np.bool_]:
    """Which two coordinates of a dimension a cable joins."""
    place = np.arange(dimension.length)
    apart = np.abs(place[:, None] - place)
    joined: npt.NDArray[np.bool_] = apart == 1
    if dimension.gap is not None:
        joined |= (apart > 0) & ((apart - 1) % dimension.gap == 0)
    if dimension.wrap:
        joined |= (apart > 0) & (apart == dimension.length - 1)
    return joined


def _search(first: npt.NDArray[np.int64], head: npt.NDArray[np.int64]) -> npt.NDArray[np.int16]:
    """Breadth-first from all routers at once."""
    routers = len(first) - 1
    distance = np.zeros((routers, routers), dtype=np.int16)
    for reached in reach(np.packbits(np.eye(routers, dtype=np.bool_), axis=1), first, head):
        far = np.unpackbits(~reached, axis=1, count=routers)
        if not far.any():
            return distance
        distance += far
    raise ValueError("the machine is not connected")


def reach(
    reached: npt.NDArray[np.uint8], first: npt.NDArray[np.int64], head: npt.NDArray[np.int64]
) -> Iterator[npt.NDArray[np.uint8]]:
    """Walk from sources: give what is reached within 0, 1, 2, ... hops, until no hop adds anything.

    Row r holds as bits the sources that reach router r; `first` and `head` are as in `Adjacency`.
    """
    while True:
        yield reached
        grown = reached | _of_neighbours(reached, first, head)
        if np.array_equal(grown, reached):
            return
        reached = grown


def _of_neighbours(
    reached: npt.NDArray[np.uint8], first: npt.NDArray[np.int64], head: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint8]:
    """Union of the rows of each router's neighbours."""
    union = np.zeros_like(reached)
    for rows, place in _layers(first):
        union[rows] |= reached[head[place]]
    return union


def _layers(first: npt.NDArray[np.int64]) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Give the first link of each router, then the second, and so on: the routers that have one, and its place."""
    degree = np.diff(first)
    for k in range(degree.max(initial=0)):
        rows = np.flatnonzero(degree > k)
        yield rows, first[rows] + k
