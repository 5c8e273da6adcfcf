"""Allocation of entire groups of routers."""

import numpy as np

from fabricstudy.core.arrays import Integers
from fabricstudy.core.model import ConfigError
from fabricstudy.machine.base import Topology

from ..messages import WorkloadError
from .base import NO_JOB, Allocation, Grant, Request


def check_fits(nodes: int, most: int, part: str, value: str) -> None:
    """Raise ConfigError if a job needs more than the `most` nodes of a `part` of the machine."""
    if nodes > most:
        problem = f"the job needs {nodes} nodes, but a {part} has {most}"
        remedy = "make the job smaller, or use another allocation"
        raise ConfigError(problem, remedy, value=value, code="does-not-fit")


def reserved_groups(request: Request, groups: Integers) -> Grant:
    """Allocate the first nodes of some groups, and reserve all."""
    nodes = np.flatnonzero(np.isin(group_of_node(request), groups))
    return Grant(nodes[: request.wanted], nodes)


def sizes_and_taken(request: Request) -> tuple[Integers, Integers]:
    """Return the number of nodes of each group, and of its reserved nodes."""
    group = group_of_node(request)
    return np.bincount(group), np.bincount(group, weights=request.holder != NO_JOB).astype(np.int64)


def group_of_node(request: Request) -> Integers:
    """Return the group of each node; the groups of a tree are its pods."""
    assert request.machine.group is not None  # such policies need groups
    return request.machine.group[request.machine.node_router]


class OneGroup(Allocation, kind="one-group"):
    """A group (of a dragonfly or Slim Fly; pod of a fat tree) that no other job uses; the job reserves all of it.

    Minimal routes do not leave it, so such jobs share no links.
    """

    needs = "groups"

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        check_fits(nodes, machine.group_nodes, "group", self.kind)
        return machine.group_nodes

    def allocate(self, request: Request) -> Grant:
        """Allocate the first group without jobs that is large enough."""
        sizes, used = sizes_and_taken(request)
        fitting = np.flatnonzero((used == 0) & (sizes >= request.wanted))
        if not len(fitting):
            raise WorkloadError(f"no free group has {request.wanted} nodes; make the job smaller, or use whole-groups")
        return reserved_groups(request, fitting[:1])


class WholeGroups(Allocation, kind="whole-groups"):
    """As many entire groups, or pods of a fat tree, as the job needs; the job reserves all of them.

    On dragonflies and fat trees their minimal routes share no links with those of other such jobs; on a Slim Fly only
    the routes within one group are isolated.
    """

    needs = "groups"

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        return -(-nodes // machine.group_nodes) * machine.group_nodes

    def allocate(self, request: Request) -> Grant:
        """Allocate and reserve the first groups without jobs that together are large enough."""
        sizes, used = sizes_and_taken(request)
        free = np.flatnonzero((used == 0) & (sizes > 0))
        groups = int(np.searchsorted(np.cumsum(sizes[free]), request.wanted)) + 1
        if groups > len(free):
            problem = f"{len(free)} groups are free, but {request.wanted} nodes need more"
            raise WorkloadError(f"{problem}; make the jobs smaller")
        return reserved_groups(request, free[:groups])
