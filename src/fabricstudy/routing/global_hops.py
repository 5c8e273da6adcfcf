"""Channels by global hops: class 0 up to the last group, class 1 in it (Kim et al., ISCA 2008).

Two classes instead of one for each hop. Whether they suffice on a machine follows from the dependencies of channels.
Valiant and UGAL have three: up to the group of the detour, from there on, and in the last group; with detours through
a router instead of a group four, and another one for packets that are minimal so far and may still choose a detour
(Jiang, Kim and Dally: Indirect adaptive routing on large scale interconnection networks, ISCA 2009).
"""

from functools import cached_property

import numpy as np

from fabricstudy.core.arrays import Ints
from fabricstudy.machine.distances import path_weights
from fabricstudy.machine.graph import Machine

from .adaptive import Adaptive, AdaptiveMinimalRoutes
from .base import NextHops, NonMinimalRouting, Routes
from .minimal import Minimal, MinimalRoutes
from .ugal import Ugal


def _with_classes(machine: Machine, hops: NextHops, at: Ints, goal: Ints) -> NextHops:
    assert machine.group is not None
    is_in_last_group = machine.group[at[hops.packet]] == machine.group[goal[hops.packet]]
    return hops._replace(channel=is_in_last_group.astype(np.int64))


class _MinimalRoutes(MinimalRoutes):
    def next_hops(self, at: Ints, goal: Ints) -> NextHops:
        return _with_classes(self.machine, super().next_hops(at, goal), at, goal)


class _AdaptiveRoutes(AdaptiveMinimalRoutes):
    def next_hops(self, at: Ints, goal: Ints) -> NextHops:
        return _with_classes(self.machine, super().next_hops(at, goal), at, goal)


class RoutesIntoGroups(MinimalRoutes):
    """Lightest paths to the nearest router of a group, whose number as a goal is behind those of the routers."""

    @cached_property
    def distance(self) -> Ints:
        """Least path weights, int64 [from, routers and groups]."""
        assert self.machine.group is not None
        to_router = path_weights(self.links, self.weight)
        groups = range(int(self.machine.group.max()) + 1)
        return np.hstack(
            [to_router, *(to_router[:, self.machine.group == group].min(axis=1)[:, None] for group in groups)]
        )

    def checked_hops(self, at: Ints, goal: Ints) -> NextHops:
        return self.next_hops(at, goal)


def detour_classes(routing: NonMinimalRouting) -> int:
    """Return the number of classes of Valiant or UGAL by global hops."""
    return 3 + (routing.via == "router") + (isinstance(routing, Ugal) and routing.progressive)


class MinimalByGlobalHops(Minimal):
    """Minimal routing with these channels."""

    def routes(self, machine: Machine) -> Routes:
        return _MinimalRoutes(machine)


class AdaptiveByGlobalHops(Adaptive):
    """Adaptive routing with these channels, on a machine that is no grid."""

    def routes(self, machine: Machine) -> Routes:
        return _AdaptiveRoutes(machine)
