"""All minimal paths of a small machine as matrices, in plain numpy.

A packet on its way to router d is a Markov chain that d absorbs. How often it visits each router (0 or 1 times if its
path is unique) is the chain's fundamental matrix (Kemeny and Snell: Finite Markov Chains, 1960, theorem 3.2.4). Needs
memory in the third power of the routers, and no compiler.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from fabricstudy.machine.distances import adjacency, path_weights
from fabricstudy.machine.graph import Machine

from .base import Floats, Ints, added_up

LARGEST_DENSE = 160
"""Routers of the largest machine for which this takes less than starting numba.

Measured with 36 and 136 routers: 0.01 s and 0.22 s of processor time, where loading kernels that have been compiled
takes 0.53 s, in each process anew.
"""


class DensePaths:
    """Shares of minimal paths on links and routers; see `fabricstudy.routing.kernels` for larger machines."""

    def __init__(self, machine: Machine) -> None:
        links = adjacency(machine)
        self._tail = machine.link_tail
        weight = np.array(machine.hop_weight, dtype=np.int64)[links.kind]
        distance = path_weights(links, weight)
        tail = machine.link_tail[links.link].astype(np.int64)
        onward = distance[:, links.head] + weight == distance[:, tail]
        cables = np.where(onward, links.cables, 0.0)
        ways = np.array([added_up(tail, row, machine.routers) for row in cables])
        share = np.divide(cables, ways[:, tail], out=np.zeros_like(cables), where=onward)
        self._share = np.empty_like(share)
        self._share[:, links.link] = share
        self._visits = _visits(share, distance, tail, links.head)

    def loads(self, traffic: Floats) -> Floats:
        """Bytes on each directed link for `traffic` [source, destination]."""
        passing = np.matmul(traffic.T[:, None, :], self._visits)[:, 0, :]
        np.fill_diagonal(passing, 0.0)
        load: Floats = np.einsum("dl,dl->l", self._share, passing[:, self._tail])
        return load

    def early_arrivals(self, traffic: Floats) -> Floats:
        """Bytes [destination, middle] that meet their destination on the minimal way to each router."""
        met: Floats = np.einsum("sd,msd->dm", traffic, self._visits)
        return met


def _visits(share: Floats, distance: Ints, tail: Ints, head: Ints) -> Floats:
    """Visits [destination, source, router], from `share` [destination, links], links sorted by their tail.

    What a router visits is itself and what its next routers visit; those are nearer and are done before.
    """
    routers = len(distance)
    visits = np.tile(np.eye(routers), (routers, 1, 1))
    for far in np.unique(distance)[1:]:
        destination, link = np.nonzero((share > 0) & (distance[:, tail] == far))
        onward = share[destination, link, None] * visits[destination, head[link]]
        starts = np.flatnonzero(np.diff(destination * routers + tail[link], prepend=-1))
        visits[destination[starts], tail[link[starts]]] += np.add.reduceat(onward, starts, axis=0)
    return visits


@lru_cache(maxsize=1)
def dense_paths(machine: Machine) -> DensePaths:
    """Give the paths of a machine; the last one is kept."""
    return DensePaths(machine)
