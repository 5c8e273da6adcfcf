"""D-mod-k: up a fat tree by the digits of the destination node's number, then straight down.

At a router of level l that is not above node n, the next hop is parent ``(n // W_l) mod P`` of P parents in the order
of their numbers, ``W_0 = 1``, ``W_{l+1} = W_l P_l``. All packets to a node share one downward path, and the nodes of a
leaf are distributed evenly (Zahavi: J. Parallel and Distributed Computing 72(11), 2012; Gomez et al.: IPDPS 2007). One
virtual channel suffices. Parallel cables are one link.
"""

import numpy as np

from fabricstudy.core.arrays import Int32s, Ints, number_within
from fabricstudy.machine.graph import Machine

from .base import ChannelScheme, NextHops, ObliviousMemorylessRoutes, Routes, Routing

NO_LINK = -1


class DModKRoutes(ObliviousMemorylessRoutes):
    """Routes of D-mod-k on a tree."""

    by_destination_node = True
    single_path = True

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        if machine.level is None:
            raise ValueError(f"d-mod-k needs a machine with levels, not {machine.kind}")
        self._leaf_of_node = machine.node_router.astype(np.int64)
        self._down = _links_down(machine, machine.level)
        self._up, self._parents = _links_up(machine, machine.level)
        # All routers of a level have the same number of parents.
        most = np.ones(int(machine.level.max(initial=0)) + 1, dtype=np.int64)
        np.maximum.at(most, machine.level, self._parents)
        self._divisor = np.concatenate([[1], np.cumprod(most[:-1])])[machine.level]

    def next_hops(self, at: Ints, goal: Ints) -> NextHops:
        """Return the link down if the node's leaf is below, else up to the parent of the node's digit."""
        leaf = self._leaf_of_node[goal]
        packet = np.flatnonzero(at != leaf)
        at, goal, leaf = at[packet], goal[packet], leaf[packet]
        parent = goal // self._divisor[at] % np.maximum(self._parents[at], 1)
        down = self._down[at, leaf].astype(np.int64)
        link = np.where(down == NO_LINK, self._up[at, parent], down)
        if np.any(link == NO_LINK):
            raise ValueError("d-mod-k leads to a router that is not above some leaf")
        return NextHops(packet, link, np.ones(len(packet)), np.zeros(len(packet), dtype=np.int64))


def _links_down(machine: Machine, level: Int32s) -> Int32s:
    """Return the link [routers, leaves] down to each leaf; leaves are the first routers of the machine."""
    leaves = int(machine.node_router.max(initial=0)) + 1
    down = np.full((machine.routers, leaves), NO_LINK, dtype=np.int32)
    below = np.eye(machine.routers, leaves, dtype=np.bool_)
    for height in range(1, int(level.max(initial=0)) + 1):
        falls = np.flatnonzero((level[machine.link_tail] == height) & (level[machine.link_head] == height - 1))
        link, leaf = np.nonzero(below[machine.link_head[falls]])
        down[machine.link_tail[falls[link]], leaf] = falls[link]
        below[machine.link_tail[falls[link]], leaf] = True
    return down


def _links_up(machine: Machine, level: Int32s) -> tuple[Ints, Ints]:
    """Return the links [routers, parents] to parents in the order of their numbers, and the number of parents."""
    rises = np.flatnonzero(level[machine.link_head] > level[machine.link_tail])
    rises = rises[np.lexsort((machine.link_head[rises], machine.link_tail[rises]))]
    tail = machine.link_tail[rises]
    parents = np.bincount(tail, minlength=machine.routers)
    up = np.full((machine.routers, max(1, int(parents.max(initial=0)))), NO_LINK, dtype=np.int64)
    up[tail, number_within(tail)] = rises
    return up, parents


class DModK(Routing, kind="d-mod-k"):
    """Up a fat tree by the digits of the destination node's number, then straight down (Zahavi 2012)."""

    needs = "levels"

    def routes(self, machine: Machine) -> Routes:
        return DModKRoutes(machine)

    def channel_scheme(self, machine: Machine) -> ChannelScheme:
        return "one"
