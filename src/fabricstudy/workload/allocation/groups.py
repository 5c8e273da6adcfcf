"""Allocation of entire groups of routers."""

import numpy as np

from fabricstudy.core.arrays import Integers
from fabricstudy.core.model import ConfigError
from fabricstudy.machine.base import Topology

from ..messages import WorkloadError
from .request import NO_JOB, Grant, Request


def allocate_whole_groups(request: Request) -> Grant:
    """Allocate and reserve the first groups without jobs that together are large enough.

    Raises WorkloadError if all of them are too small.
    """
    sizes, used = sizes_and_taken(request)
    free = np.flatnonzero((used == 0) & (sizes > 0))
    groups = int(np.searchsorted(np.cumsum(sizes[free]), request.wanted)) + 1
    if groups > len(free):
        raise WorkloadError(f"{len(free)} groups are free, but {request.wanted} nodes need more; make the jobs smaller")
    return reserved_groups(request, free[:groups])


def whole_nodes(machine: Topology, nodes: int) -> int:
    """Round `nodes` up to entire groups."""
    return -(-nodes // machine.group_nodes) * machine.group_nodes


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
