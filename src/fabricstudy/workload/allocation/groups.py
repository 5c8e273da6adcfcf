"""Whole groups of routers."""

from __future__ import annotations

import numpy as np

from ..messages import Indices, WorkloadError
from .request import NOBODY, Grant, Request


def whole(request: Request) -> Grant:
    """Take the first groups without jobs that together are large enough; the job holds all their nodes.

    Raises
    ------
    WorkloadError
        If all together are too small.
    """
    sizes, taken = _groups(request)
    free = np.flatnonzero((taken == 0) & (sizes > 0))
    groups = int(np.searchsorted(np.cumsum(sizes[free]), request.wanted)) + 1
    if groups > len(free):
        raise WorkloadError(f"{len(free)} groups are free, and {request.wanted} nodes need more; make the jobs smaller")
    return held_groups(request, free[:groups])


def held_groups(request: Request, groups: Indices) -> Grant:
    """Give the job the first nodes of some groups, and let it hold all."""
    held = np.flatnonzero(np.isin(_group_of_node(request), groups))
    return Grant(held[: request.wanted], held)


def _groups(request: Request) -> tuple[Indices, Indices]:
    """Nodes of each group, and how many of them jobs hold."""
    group = _group_of_node(request)
    return np.bincount(group), np.bincount(group, weights=request.holder != NOBODY).astype(np.int64)


def _group_of_node(request: Request) -> Indices:
    assert request.machine.group is not None  # such policies need groups
    return request.machine.group[request.machine.node_router]
