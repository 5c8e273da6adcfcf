"""Channels by global hops: class 0 up to the last group, class 1 in it (Kim et al., ISCA 2008).

Two classes instead of one for each hop. Whether they suffice on a machine follows from the dependencies of channels.
"""

import numpy as np

from fabricstudy.core.arrays import Ints
from fabricstudy.machine.graph import Machine

from .adaptive import Adaptive, AdaptiveMinimalRoutes
from .base import NextHops, Routes
from .minimal import Minimal, MinimalRoutes


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


class MinimalByGlobalHops(Minimal):
    """Minimal routing with these channels."""

    def routes(self, machine: Machine) -> Routes:
        return _MinimalRoutes(machine)


class AdaptiveByGlobalHops(Adaptive):
    """Adaptive routing with these channels, on a machine that is no grid."""

    def routes(self, machine: Machine) -> Routes:
        return _AdaptiveRoutes(machine)
