"""Group-shift traffic, the adversary of minimal routing on dragonflies."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError, Flag, Whole
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

from .base import Destinations, Traffic, one_each, ranges


@register
class GroupShift(Traffic):
    """Each node of group i sends to random nodes of group i + `groups`, modulo the groups with nodes.

    On a dragonfly with one cable between two groups of a routers with p nodes each, minimal routing then carries a load
    of 1 / (a p) at most (Kim, Dally, Scott and Abts: Technology-driven, highly-scalable dragonfly topology, ISCA 2008).
    """

    needs: ClassVar[str | None] = "groups"

    kind: Literal["group-shift"] = "group-shift"
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
            position = np.empty(len(group), dtype=np.int64)
            position[order] = np.arange(len(group)) - first[group[order]]
            return one_each(order[first[partner] + position % nodes[partner]])
        if not np.array_equal(order, np.arange(len(order))):
            return _listed(group, partner, order, first, nodes)
        return ranges(first[partner], first[partner] + nodes[partner] - 1)


def _listed(
    group: np.ndarray, partner: np.ndarray, order: np.ndarray, first: np.ndarray, nodes: np.ndarray
) -> Destinations:
    """Return a row for each destination, where the nodes of a group are not numbered in succession."""
    node = np.repeat(np.arange(len(group)), nodes[partner])
    offset = np.arange(len(node)) - np.repeat(np.cumsum(nodes[partner]) - nodes[partner], nodes[partner])
    goal = order[first[partner[node]] + offset]
    return Destinations(node, 1.0 / nodes[partner[node]], goal, goal)
