"""Allocation of entire groups of routers."""

import numpy as np

from fabricstudy.core.arrays import Integers
from fabricstudy.core.model import ConfigError

from .base import NO_JOB, Grant, Request


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
