"""Distances between routers, and links by tail router."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fabricstudy.core.arrays import Floats, Int16s, Ints

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


def distances(machine: Machine) -> Int16s:
    """Return the hops between all routers, int16 [routers, routers].

    Raises ValueError if the machine is not connected.
    """
    if machine.coordinates is None or not machine.dimensions:
        links = adjacency(machine)
        return hops_between_all(links.first, links.head)
    distance = np.zeros((machine.routers, machine.routers), dtype=np.int16)
    for dimension, coordinate in zip(machine.dimensions, machine.coordinates.T, strict=True):
        distance += dimension.hops()[np.ix_(coordinate, coordinate)]
    return distance


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
        hops = distances(machine)
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
