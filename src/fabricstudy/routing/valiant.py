"""Valiant: minimal to a uniformly random router or group with nodes, then minimal to the destination.

Loads are expectations. If the first or last router is drawn, the path is minimal. A packet that meets its destination
router on the way is delivered there. Messages between nodes of one router use no cable. CAMINOS' `Valiant`
(caminos-lib 0.6.3, with `selection_exclude_indirect_routers: true`) and the routing of its front end behave likewise
(Valiant, SIAM J. Computing 11(2), 1982, doi:10.1137/0211027).

Through a group (Kim, Dally, Scott and Abts: Technology-driven, highly-scalable dragonfly topology, ISCA 2008) a packet
takes paths of least weight to the nearest routers of the group, then minimal paths to the destination. Its path is
minimal if the group is that of its first or last router.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from fabricstudy.core.arrays import Bools, Floats, Ints
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.search import starts

from .base import Flows, NonMinimalRouting, Routes, sum_by_index
from .minimal import MinimalRoutes, weight_of_class

# A smaller share of a link's bytes is a rounding error.
MIN_LOAD_SHARE = 1e-12


def valiant_routes(machine: Machine, routing: NonMinimalRouting) -> DetourRoutes:
    """Return Valiant's routes through routers or groups; raises ValueError if the machine lacks groups."""
    return ThroughGroups(machine) if routing.via == "group" else ThroughRouters(machine)


class DetourRoutes(Routes, ABC):
    """Two minimal legs, the first one to a random intermediate."""

    oblivious = True

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._minimal = MinimalRoutes(machine)

    def loads(self, flows: Flows) -> Floats:
        return self._loads(self._traffic(flows.source, flows.goal, flows.size_bytes))

    def loads_between(self, traffic_bytes: Floats) -> Floats:
        if traffic_bytes.diagonal().any():
            traffic_bytes = traffic_bytes.copy()
            np.fill_diagonal(traffic_bytes, 0.0)
        return self._loads(np.ascontiguousarray(traffic_bytes, dtype=np.float64))

    @abstractmethod
    def _loads(self, traffic: Floats) -> Floats:
        """Return the bytes on links, float64 [links], for `traffic` [from, to] with a zero diagonal."""

    def _traffic(self, source: Ints, goal: Ints, size_bytes: Floats | float) -> Floats:
        traffic = np.zeros((self.machine.routers, self.machine.routers))
        traffic[source, goal] = size_bytes
        return traffic


class ThroughRouters(DetourRoutes):
    """Through a router with nodes."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._middles = np.flatnonzero(machine.nodes_of_router)

    def support(self, flows: Flows) -> Bools:
        from .kernels import detour_support

        routers = self.machine.routers
        order = np.argsort(flows.source, kind="stable")
        goals, senders = np.unique(flows.goal, return_counts=True)
        number = np.full(routers, -1)
        number[goals] = np.arange(len(goals))
        goals_of = starts(flows.source, routers)
        weight, carries = weight_of_class(self.machine), self.machine.nodes_of_router > 0
        goal = flows.goal[order]
        used: Bools = detour_support(self._minimal.links, weight, carries, goals_of, goal, number, senders)
        if len(used) < self.machine.links:
            raise ValueError("the machine is not connected")
        return used

    def _loads(self, traffic: Floats) -> Floats:
        from .kernels import early_arrivals

        # In place: matrices of a machine of 100,000 nodes may take a gigabyte each.
        early: Floats = early_arrivals(self._minimal.links, weight_of_class(self.machine), traffic, self._middles)
        if not len(early):
            raise ValueError("the machine is not connected")
        early += early.T
        legs = np.zeros_like(traffic)
        legs[:, self._middles] = traffic.sum(axis=1)[:, None]
        legs[self._middles, :] += traffic.sum(axis=0)[None, :]
        legs -= early
        legs /= len(self._middles)
        return self._minimal.loads_between(legs)


class ThroughGroups(DetourRoutes):
    """Through the nearest router of a group with nodes.

    With `other_groups`, none through the groups of source and destination, and minimal paths within a group.
    """

    def __init__(self, machine: Machine, other_groups: bool = False) -> None:
        super().__init__(machine)
        self._other_groups = other_groups
        if machine.group is None:
            raise ValueError("valiant via a group needs a machine with groups")
        self._group = machine.group
        self._groups = np.unique(machine.group[machine.nodes_of_router > 0])

    def support(self, flows: Flows) -> Bools:
        traffic = self._traffic(flows.source, flows.goal, 1.0)
        return self._loads(traffic) > MIN_LOAD_SHARE * self._loads(traffic, spare=False)

    def _loads(self, traffic: Floats, spare: bool = True) -> Floats:
        # Without `spare`, no packet is delivered before the intermediate group.
        load, rest = np.zeros(self.machine.links), np.zeros_like(traffic)
        within, draws = np.zeros_like(traffic), len(self._groups)
        if self._other_groups:
            within, draws = np.where(self._group[:, None] == self._group, traffic, 0.0), draws - 2
            traffic = traffic - within
        for group in self._groups:
            outside = self._group != group
            detour = traffic * (outside[:, None] & outside[None, :])
            if not self._other_groups:
                rest += traffic - detour
            share, visits = self._first_leg(group)
            start = detour.sum(axis=1)
            second = visits.T @ detour
            if spare:
                met = np.where(outside, np.einsum("sd,sd->d", detour, visits), 0.0)
                start = start - met
                second -= visits.T * met[None, :]
            second[outside] = 0.0
            rest += second
            load += (start @ visits)[self.machine.link_tail] * share
        expected: Floats = (load + self._minimal.loads_between(rest + draws * within)) / draws
        return expected

    def _first_leg(self, group: int) -> tuple[Floats, Floats]:
        """Return the share of each link in its tail's traffic, float64 [links], and expected visits [from, router]."""
        machine, links, weight = self.machine, self._minimal.links, self._minimal.weight
        tail = machine.link_tail[links.link].astype(np.int64)
        left = self._minimal.distance[:, self._group == group].min(axis=1)
        cables = np.where((left[links.head] + weight == left[tail]) & (left[tail] > 0), links.cables, 0.0)
        ways = sum_by_index(tail, cables, machine.routers)
        onward = np.divide(cables, ways[tail], out=np.zeros_like(cables), where=cables > 0)
        moves = np.zeros((machine.routers, machine.routers))
        np.add.at(moves, (tail, links.head), onward)
        share = np.zeros(machine.links)
        share[links.link] = onward
        # A path is a Markov chain absorbed by the group; its fundamental matrix holds the expected visits of routers
        # (Kemeny and Snell: Finite Markov Chains, 1960, theorem 3.2.4).
        visits = np.linalg.inv(np.eye(machine.routers) - moves).astype(np.float64, copy=False)
        return share, visits


class Valiant(NonMinimalRouting, kind="valiant"):
    """Minimal to an intermediate that is random for each packet, then minimal to the destination (Valiant 1982)."""

    def routes(self, machine: Machine) -> Routes:
        return valiant_routes(machine, self)


class ValiantThroughOtherGroups(Valiant):
    """Valiant's routing as SST and CODES have it on dragonflies; no kind of its own."""

    def routes(self, machine: Machine) -> Routes:
        return ThroughGroups(machine, other_groups=True)
