"""Valiant: minimal to a router or group drawn uniformly from those with nodes, then minimal to the destination.

Loads are the expectation over the draws. The first and last router may be drawn, and then the path is minimal. A
packet that meets its destination router on the way to the drawn one is delivered there. A message between nodes of
one router takes no cable, so it draws none. So do CAMINOS' `Valiant` (caminos-lib 0.6.3, with
`selection_exclude_indirect_routers: true`) and the routing of our front end for it (Valiant, SIAM J. Computing 11(2),
1982, doi:10.1137/0211027).

Through a group (Kim, Dally, Scott and Abts: Technology-driven, highly-scalable dragonfly topology, ISCA 2008) a packet
goes by paths of least weight to the nearest routers of the group, and from the router where it enters, minimally to the
destination. It goes minimally all the way if the group drawn is that of its first or its last router.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal

import numpy as np

from fabricstudy.kinds import register
from fabricstudy.machine.graph import Machine

from .base import Bools, Detour, Floats, Flows, Routes, added_up
from .minimal import MinimalRoutes, connected, traffic_of, weight_of_class

# Where less than this share is left of a link's bytes, rounding left it.
ROUNDING = 1e-12


def valiant_routes(machine: Machine, routing: Detour | None = None) -> DetourRoutes:
    """Give Valiant's routes on any machine, or through groups on a machine that has some.

    Raises
    ------
    ValueError
        If packets are to go through groups and the machine has none.
    """
    return ThroughGroups(machine) if routing is not None and routing.via == "group" else ThroughRouters(machine)


class DetourRoutes(Routes):
    """Two minimal legs, the first one to what is drawn."""

    kind = "valiant"
    oblivious = True

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._minimal = MinimalRoutes(machine)

    def loads(self, flows: Flows) -> Floats:
        """Loads of both legs, less what packets are spared that meet their destination on the first."""
        return self._loads(traffic_of(flows, self.machine.routers), spare=True)

    def support(self, flows: Flows) -> Bools:
        """Give the links that get some of one byte of each flow."""
        traffic = traffic_of(Flows(flows.source, flows.goal, np.ones(len(flows.source))), self.machine.routers)
        return self._loads(traffic, spare=True) > ROUNDING * self._loads(traffic, spare=False)

    @abstractmethod
    def _loads(self, traffic: Floats, spare: bool) -> Floats:
        """Bytes on links, float64 [links], for `traffic` [from, to]; without `spare` as if none arrived early."""

    def _minimal_loads(self, traffic: Floats) -> Floats:
        np.fill_diagonal(traffic, 0.0)
        start, end = np.nonzero(traffic)
        return self._minimal.loads(Flows(start, end, traffic[start, end]))


class ThroughRouters(DetourRoutes):
    """Through a router with nodes."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._middles = np.flatnonzero(machine.nodes_of_router)

    def _loads(self, traffic: Floats, spare: bool) -> Floats:
        legs = np.zeros_like(traffic)
        legs[:, self._middles] += traffic.sum(axis=1)[:, None]
        legs[self._middles, :] += traffic.sum(axis=0)[None, :]
        if spare:
            early = self._early_arrivals(traffic)
            legs -= early + early.T
        return self._minimal_loads(legs / len(self._middles))

    def _early_arrivals(self, traffic: Floats) -> Floats:
        """Bytes [destination, middle] that meet their destination on the way to each middle."""
        from .kernels import early_arrivals

        weight = weight_of_class(self.machine)
        return connected(early_arrivals(*self._minimal.links, weight, traffic, self._middles))


class ThroughGroups(DetourRoutes):
    """Through the nearest router of a group with nodes."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        if machine.group is None:
            raise ValueError("valiant via a group needs a machine with groups")
        self._group = machine.group
        self._groups = np.unique(machine.group[machine.nodes_of_router > 0])

    def _loads(self, traffic: Floats, spare: bool) -> Floats:
        load, rest = np.zeros(self.machine.links), np.zeros_like(traffic)
        for group in self._groups:
            outside = self._group != group
            detour = traffic * (outside[:, None] & outside[None, :])
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
        expected: Floats = (load + self._minimal_loads(rest)) / len(self._groups)
        return expected

    def _first_leg(self, group: int) -> tuple[Floats, Floats]:
        """Share of each link, float64 [links], in what its tail sends on; visits [from, router] on the way."""
        machine, links, weight = self.machine, self._minimal.links, self._minimal.weight
        tail = machine.link_tail[links.link].astype(np.int64)
        left = self._minimal.distance[:, self._group == group].min(axis=1)
        cables = np.where((left[links.head] + weight == left[tail]) & (left[tail] > 0), links.cables, 0.0)
        ways = added_up(tail, cables, machine.routers)
        onward = np.divide(cables, ways[tail], out=np.zeros_like(cables), where=cables > 0)
        moves = np.zeros((machine.routers, machine.routers))
        np.add.at(moves, (tail, links.head), onward)
        share = np.zeros(machine.links)
        share[links.link] = onward
        # A packet's way is a Markov chain that the group absorbs; its fundamental matrix tells how often each router
        # is visited (Kemeny and Snell: Finite Markov Chains, 1960, theorem 3.2.4).
        visits = np.linalg.inv(np.eye(machine.routers) - moves).astype(np.float64, copy=False)
        return share, visits


@register
class Valiant(Detour):
    """Minimal to a place drawn at random for each packet, then minimal to the destination (Valiant 1982)."""

    kind: Literal["valiant"] = "valiant"

    def routes(self, machine: Machine) -> Routes:
        """Give the routes on a machine."""
        return valiant_routes(machine, self)
