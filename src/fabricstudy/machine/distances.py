"""Distances between routers: hops, on grids without a matrix over all pairs, and path weights; levels of trees."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fabricstudy.core.arrays import Floats, Int16s, Int32s, Integers, Ints

from .graph import Machine
from .search import hops_between_all, link_layers, starts

SMALL = 128
"""Routers of a machine for which a search in NumPy is faster than the import of SciPy."""


class Adjacency(NamedTuple):
    """Directed links sorted by tail router; those of router r start at ``first[r]``; `cables` counts parallel ones."""

    first: Ints
    link: Ints
    head: Ints
    kind: Ints
    cables: Floats


def adjacency(machine: Machine) -> Adjacency:
    """Return the directed links sorted by tail router."""
    link = np.argsort(machine.link_tail, kind="stable")
    return Adjacency(
        first=starts(machine.link_tail, machine.routers),
        link=link.astype(np.int64),
        head=machine.link_head[link].astype(np.int64),
        kind=machine.link_class[link].astype(np.int64),
        cables=machine.cable_count[link // 2].astype(np.float64),
    )


@dataclass(frozen=True, eq=False)
class HopDistances:
    """Hops between routers: the sum of one distance table per dimension.

    A grid has small tables: 65,536 routers of a 3D torus need 10 kB. Any other machine has one dimension, whose table
    is the matrix over all pairs.
    """

    coordinates: Int32s
    """Coordinates of the routers; int32 [routers, dimensions]."""
    table: Int16s
    """Tables of all dimensions, flattened and concatenated; int16 [sum of squared lengths]."""
    first: Ints
    """Offset of each dimension's table; int64 [dimensions]."""
    length: Ints
    """Length of each dimension; int64 [dimensions]."""

    @property
    def routers(self) -> int:
        """Number of routers."""
        return len(self.coordinates)

    def between(self, tail: Integers, head: Integers) -> Ints:
        """Return the hops from routers `tail` to routers `head`; the arrays are broadcast.

        Examples
        --------
        >>> from fabricstudy.machine.grids import TorusConfig
        >>> torus = hop_distances(TorusConfig.model_validate({"shape": [8, 8, 8], "bandwidth": "1 GB/s"}).build())
        >>> torus.between(np.array([0, 0]), np.array([4 + 8 * 4 + 64 * 4, 7])).tolist()
        [12, 1]
        """
        total = np.zeros(np.broadcast_shapes(np.shape(tail), np.shape(head)), dtype=np.int64)
        for k in range(len(self.length)):
            coordinate = self.coordinates[:, k].astype(np.int64)
            total += self.table[self.first[k] + coordinate[tail] * self.length[k] + coordinate[head]]
        return total

    def matrix(self) -> Int16s:
        """Return the hops between all routers, int16 [routers, routers]."""
        if len(self.length) == 1 and np.array_equal(self.coordinates[:, 0], np.arange(self.routers)):
            return self.table.reshape(self.routers, self.routers)
        total = np.zeros((self.routers, self.routers), dtype=np.int16)
        for k, length in enumerate(self.length):
            end = self.first[k] + length**2
            coordinate = self.coordinates[:, k]
            total += self.table[self.first[k] : end].reshape(length, length)[np.ix_(coordinate, coordinate)]
        return total


@lru_cache(maxsize=2)
def hop_distances(machine: Machine) -> HopDistances:
    """Return the hops of a machine, cached; raises ValueError if the machine is not connected."""
    if machine.coordinates is None or not machine.dimensions:
        links = adjacency(machine)
        tables = [hops_between_all(links.first, links.head)]
        coordinates = np.arange(machine.routers, dtype=np.int32)[:, None]
    else:
        tables, coordinates = [dimension.hops() for dimension in machine.dimensions], machine.coordinates
    length = np.array([len(table) for table in tables], dtype=np.int64)
    first = np.concatenate([[0], np.cumsum(length**2)[:-1]]).astype(np.int64)
    return HopDistances(
        np.ascontiguousarray(coordinates), np.concatenate([table.reshape(-1) for table in tables]), first, length
    )


def longest_route(machine: Machine) -> int:
    """Return the most hops of any path of least `Machine.hop_weight` between routers with nodes.

    Raises ValueError if the machine is not connected.
    """
    ends = np.flatnonzero(machine.nodes_of_router)
    hops: npt.NDArray[np.signedinteger]
    if set(machine.hop_weight) != {1}:
        # Slightly below the true weight, so that the path with most hops wins among equally heavy ones.
        links = adjacency(machine)
        weight = 2 * machine.routers * np.array(machine.hop_weight, dtype=np.int64)[links.kind] - 1
        hops = -path_weights(links, weight) % (2 * machine.routers)
    elif machine.coordinates is not None and machine.dimensions:
        return sum(int(dimension.hops().max()) for dimension in machine.dimensions)
    else:
        hops = hop_distances(machine).matrix()
    return int(np.max(hops[np.ix_(ends, ends)], initial=0))


def path_weights(links: Adjacency, weight: Ints) -> Ints:
    """Return the least path weights, int64 [routers, routers]; `weight` is positive, one per link of `links`.

    Raises ValueError if the machine is not connected.
    """
    routers = len(links.first) - 1
    if routers <= SMALL:
        least = np.where(np.eye(routers, dtype=np.bool_), 0.0, np.inf)
        layers = link_layers(links.first)
        for _ in range(routers):  # Bellman-Ford
            before = least.copy()
            for rows, link in layers:
                least[rows] = np.minimum(least[rows], weight[link, None] + least[links.head[link]])
            if np.array_equal(least, before):
                break
    else:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        graph: Any = csr_array((weight.astype(np.float64), links.head, links.first), shape=(routers, routers))
        least = dijkstra(graph)
    if not np.isfinite(least).all():
        raise ValueError("the machine is not connected")
    # Exact: sums of integers below 2**53.
    return least.astype(np.int64)


def levels(machine: Machine) -> Ints | None:
    """Return the level of each router of a tree, int64 [routers], or None if the machine is not a tree.

    Levels are `Machine.level`, else the hops to the nearest router with nodes; each cable joins adjacent levels.

    Examples
    --------
    >>> from fabricstudy.machine.xgft import XgftConfig
    >>> levels(XgftConfig.model_validate({"down": [4, 3], "up": [2], "bandwidth": "1 GB/s"}).build()).tolist()
    [0, 0, 0, 1, 1]
    """
    tail, head = machine.cable_tail, machine.cable_head
    if machine.level is not None:
        level = machine.level.astype(np.int64)
    else:
        level = np.where(machine.nodes_of_router > 0, 0, machine.routers).astype(np.int64)
        before = level - 1
        while (level != before).any():
            before, level = level, level.copy()
            np.minimum.at(level, tail, before[head] + 1)
            np.minimum.at(level, head, before[tail] + 1)
    return None if (np.abs(level[tail] - level[head]) != 1).any() else level
