"""Group-shift traffic, the adversary of minimal routing on dragonflies."""

import numpy as np
from pydantic import Field

from fabricstudy.core.model import ConfigError, Flag, Whole
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

from ..shapes import index_within
from .base import Destinations, Traffic, one_each, ranges


class GroupShift(Traffic, kind="group-shift"):
    """Each node of group i sends to random nodes of group i + `groups`, modulo the groups with nodes.

    On a dragonfly with one cable between two groups of a routers with p nodes each, minimal routing then carries a load
    of 1 / (a p) at most (Kim, Dally, Scott and Abts: Technology-driven, highly-scalable dragonfly topology, ISCA 2008).
    """

    needs = "groups"
    groups: Whole = Field(1, ge=1, description="difference of the group numbers")
    fixed: Flag = Field(False, description="send to the node of the same position in the group, instead of random ones")

    def check_machine(self, machine: Topology) -> None:
        groups = getattr(machine, "groups", None)
        if isinstance(groups, int) and self.groups % groups == 0:
            problem = f"with {groups} groups each group would send to itself"
            raise ConfigError(problem, "use another shift", ("groups",), self.groups, "does-not-fit")

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        assert machine.group is not None
        groups, group = np.unique(machine.group[machine.node_router], return_inverse=True)
        order = np.argsort(group, kind="stable")
        first = np.searchsorted(group[order], np.arange(len(groups)))
        nodes = np.bincount(group)
        partner = (group + self.groups) % len(groups)
        if self.fixed:
            return one_each(order[first[partner] + index_within(group) % nodes[partner]])
        if np.array_equal(order, np.arange(len(order))):
            return ranges(first[partner], first[partner] + nodes[partner] - 1)
        # The nodes of a group are not numbered in succession: a row for each destination.
        node = np.repeat(np.arange(len(group)), nodes[partner])
        goal = order[first[partner[node]] + index_within(node)]
        return Destinations(node, 1.0 / nodes[partner[node]], goal, goal)
