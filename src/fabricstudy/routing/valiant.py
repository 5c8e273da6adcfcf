"""Valiant: minimal to a router drawn uniformly from those that carry nodes, then minimal to the destination.

Loads are the expectation over the draws. The first and last router may be drawn, and then the path is minimal. A
packet that meets its destination router on the way to the drawn one is delivered there. A message between nodes of
one router takes no cable, so it draws none. So do CAMINOS' `Valiant` (caminos-lib 0.6.3, with
`selection_exclude_indirect_routers: true`) and the routing of our front end for it (Valiant, SIAM J. Computing 11(2),
1982).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from fabricstudy.kinds import register
from fabricstudy.machine.distances import adjacency
from fabricstudy.machine.graph import Machine

from .base import Bools, Floats, Flows, Routes, Routing
from .dense import LARGEST_DENSE, dense_paths
from .minimal import MinimalRoutes, connected, traffic_of

# Where less than this share is left of a link's bytes, rounding left it.
ROUNDING = 1e-12


class ValiantRoutes(Routes):
    """Valiant's routes on any machine."""

    kind = "valiant"
    oblivious = True

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._minimal = MinimalRoutes(machine)
        self._middles = np.flatnonzero(machine.nodes_of_router)

    def loads(self, flows: Flows) -> Floats:
        """Minimal loads of both legs, less what early arrivals are spared."""
        traffic = self._traffic(flows)
        return self._load(self._legs(traffic) - self._spared(traffic))

    def support(self, flows: Flows) -> Bools:
        """Give the links that get some of one byte of each flow."""
        traffic = self._traffic(Flows(flows.source, flows.goal, np.ones(len(flows.source))))
        legs = self._legs(traffic)
        return self._load(legs - self._spared(traffic)) > ROUNDING * self._load(legs)

    def _traffic(self, flows: Flows) -> Floats:
        return traffic_of(flows, self.machine.routers)

    def _legs(self, traffic: Floats) -> Floats:
        """Bytes [from, to] of both legs to and from all middles, as if none met its destination before."""
        legs = np.zeros_like(traffic)
        legs[:, self._middles] += traffic.sum(axis=1)[:, None]
        legs[self._middles, :] += traffic.sum(axis=0)[None, :]
        return legs

    def _spared(self, traffic: Floats) -> Floats:
        """Bytes [from, to] that are spared the rest of the first leg and the second."""
        early = self._early_arrivals(traffic)
        return early + early.T

    def _load(self, legs: Floats) -> Floats:
        np.fill_diagonal(legs, 0.0)
        start, end = np.nonzero(legs)
        return self._minimal.loads(Flows(start, end, legs[start, end] / len(self._middles)))

    def _early_arrivals(self, traffic: Floats) -> Floats:
        """Bytes [destination, middle] that meet their destination on the way to each middle."""
        if self.machine.routers <= LARGEST_DENSE:
            early = dense_paths(self.machine).early_arrivals(traffic)
            early[:, self.machine.nodes_of_router == 0] = 0.0
            return early
        from .kernels import early_arrivals

        weight = np.array(self.machine.hop_weight, dtype=np.int64)
        return connected(early_arrivals(*adjacency(self.machine), weight, traffic, self._middles))


@register
class Valiant(Routing):
    """Minimal to a router drawn at random for each packet, then minimal to the destination (Valiant 1982)."""

    kind: Literal["valiant"] = "valiant"

    def routes(self, machine: Machine) -> Routes:
        """Give the routes on a machine."""
        return ValiantRoutes(machine)
