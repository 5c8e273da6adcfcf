"""Levels of a tree of routers."""

import numpy as np

from fabricstudy.core.arrays import Ints

from .graph import Machine


def levels(machine: Machine) -> Ints | None:
    """Return the level of each router of a tree, int64 [routers], or None if the machine is not a tree.

    Levels are `Machine.level`, else the hops to the nearest router with nodes; each cable joins adjacent levels.

    Examples
    --------
    >>> from fabricstudy.machine.xgft import XgftConfig
    >>> levels(XgftConfig.model_validate({"down": [4, 3], "up": [2], "bandwidth": "1 GB/s"}).build()).tolist()
    [0, 0, 0, 1, 1]
    """
    tail, head = machine.cable_tail, machine.cable_head
    if machine.level is not None:
        level = machine.level.astype(np.int64)
    else:
        level = np.where(machine.nodes_of_router > 0, 0, machine.routers).astype(np.int64)
        before = level - 1
        while (level != before).any():
            before, level = level, level.copy()
            np.minimum.at(level, tail, before[head] + 1)
            np.minimum.at(level, head, before[tail] + 1)
    return None if (np.abs(level[tail] - level[head]) != 1).any() else level
