"""One router in each group after the other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fabricstudy.machine import Machine
from fabricstudy.study import Spread
from fabricstudy.workload.placed import Indices, Mask


def allocate(config: Spread, machine: Machine, free: Mask, wanted: int, rng: np.random.Generator) -> Indices:
    """Take the free nodes of the first router of each group, then those of the second of each, and so on.

    A router's nodes stay together, as in the simple spread allocator of SST's scheduler. On a machine without
    groups the routers stand for the groups and the nodes for the routers: first one node of each router.
    """
    router = machine.node_router
    if machine.group is None:
        order = np.lexsort((router, _index_within(router)))
    else:
        order = np.lexsort((machine.group[router], _index_within(machine.group)[router]))
    return order[free[order]][:wanted]


def _index_within(group: Indices) -> npt.NDArray[np.int64]:
    """Number the members of each group from 0 in order of their own number.

    >>> _index_within(np.array([0, 1, 0, 1, 1])).tolist()
    [0, 0, 1, 1, 2]
    """
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group)
    index = np.empty(len(group), dtype=np.int64)
    index[order] = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return index
