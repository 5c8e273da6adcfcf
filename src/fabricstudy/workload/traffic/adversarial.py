"""Worst-case traffic for minimal routing between groups, and on rings."""

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import number_within
from fabricstudy.core.model import ConfigError, Flag, Whole
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

from ..messages import WorkloadError
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
            return one_each(order[first[partner] + number_within(group) % nodes[partner]])
        if np.array_equal(order, np.arange(len(order))):
            return ranges(first[partner], first[partner] + nodes[partner] - 1)
        # The nodes of a group are not numbered in succession: a row for each destination.
        node = np.repeat(np.arange(len(group)), nodes[partner])
        goal = order[first[partner[node]] + number_within(node)]
        return Destinations(node, 1.0 / nodes[partner[node]], goal, goal)


class Tornado(Traffic, kind="tornado"):
    """Each node sends ceil(k / 2) - 1 steps up each dimension of length k, almost half-way round a ring.

    Dimension order on rings of k then carries a load of 1 / (ceil(k / 2) - 1) at most, in one direction only (Dally and
    Towles: Principles and Practices of Interconnection Networks, 2004, section 3.2).
    """

    needs = "dimensions"
    dimensions: Whole | None = Field(None, ge=1, description="number of dimensions, the first ones; default: all")

    def check_machine(self, machine: Topology) -> None:
        grid = getattr(machine, "grid", ())
        if self.dimensions is not None and self.dimensions > len(grid):
            problem = f"the machine has {len(grid)} dimensions"
            raise ConfigError(problem, "use at most these", ("dimensions",), self.dimensions, "does-not-fit")
        if all(dimension.length < 3 for dimension in grid[: self.dimensions]):
            problem = "no dimension is longer than 2, so that each node would send to itself"
            raise ConfigError(problem, "use a larger grid", ("kind",), self.kind, "does-not-fit")

    def destinations(self, machine: Machine, rng: np.random.Generator) -> Destinations:
        assert machine.coordinates is not None
        lengths = np.array([dimension.length for dimension in machine.dimensions])
        moves = np.arange(len(lengths)) < (self.dimensions or len(lengths))
        coordinates = (machine.coordinates + np.where(moves, (lengths - 1) // 2, 0)) % lengths
        # The first coordinate counts fastest in the number of a router.
        return one_each(to_routers(machine, np.ravel_multi_index(coordinates.T, lengths, order="F")))


def to_routers(machine: Machine, goal: np.ndarray) -> np.ndarray:
    """Return the destination of each node, for the destination of each router; nodes keep their position on a router.

    Raises WorkloadError if a router has fewer nodes than one that sends to it.
    """
    order = np.argsort(machine.node_router, kind="stable")
    first = np.searchsorted(machine.node_router[order], np.arange(machine.routers))
    position = number_within(machine.node_router)
    if np.any(position >= machine.nodes_of_router[goal[machine.node_router]]):
        raise WorkloadError("the routers of the grid have different numbers of nodes")
    destination: np.ndarray = order[first[goal[machine.node_router]] + position]
    return destination
