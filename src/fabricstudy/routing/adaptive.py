"""Adaptive: each packet takes, at each hop, the candidate link with the most free buffer space. Candidates are

* in a grid, in every unfinished dimension: the links of dimension order, both ways at a tie on a ring, and on express
  links also the short hop towards the goal;
* elsewhere: all links of minimal paths. On a tree these lead up, then down, so one virtual channel suffices.
"""

import numpy as np

from fabricstudy.core.arrays import Bools, Ints
from fabricstudy.machine.graph import Machine

from .base import ChannelScheme, Flows, MemorylessRoutes, NextHops, PathGraph, Routes, Routing
from .grid import GridRoutes, adaptive_steps
from .minimal import MinimalRoutes


class AdaptiveGridRoutes(GridRoutes):
    """Candidate links in a grid."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine, adaptive_steps)

    def next_hops(self, at: Ints, goal: Ints) -> NextHops:
        """Return the steps in all dimensions; all shares of a packet are equal."""
        packet, link, _, _ = self.hops(at, goal, first_only=False)
        return NextHops(packet, link, 1.0 / np.bincount(packet, minlength=len(at))[packet])


class AdaptiveMinimalRoutes(MemorylessRoutes):
    """Candidate links on any other machine."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._minimal = MinimalRoutes(machine)

    def next_hops(self, at: Ints, goal: Ints) -> NextHops:
        """Return the hops of minimal paths, on a tree with one channel."""
        hops = self._minimal.next_hops(at, goal)
        return hops if self.machine.level is None else hops._replace(channel=np.zeros_like(hops.link))

    def support(self, flows: Flows) -> Bools:
        return self._minimal.support(flows)

    def path_graph(self, flows: Flows) -> PathGraph | None:
        return self._minimal.path_graph(flows)


class Adaptive(Routing, kind="adaptive"):
    """Each packet takes, at each hop, the link of a shortest path with the most free buffer space.

    In a grid, candidates are the links of dimension order in all unfinished dimensions.
    """

    def routes(self, machine: Machine) -> Routes:
        return AdaptiveGridRoutes(machine) if machine.dimensions else AdaptiveMinimalRoutes(machine)

    def channel_scheme(self, machine: Machine) -> ChannelScheme:
        if not machine.dimensions:
            return "hops" if machine.level is None else "one"
        return "hops" if any(dimension.wrap for dimension in machine.dimensions) else "escape"
