"""Trees level by level, leaves at the bottom; each router, or a spot for those of one level of a subtree."""

from __future__ import annotations

import numpy as np

from fabricstudy.machine.graph import Machine

from .base import MOST_SINGLE, Layout, straight

HEIGHT = 0.55
"""Of the picture of a tree, over its width."""


def lay_out(machine: Machine) -> Layout | None:
    """Put each level into a row, its routers in the order of their numbers.

    A tree of more than `MOST_SINGLE` rows of cables gets one spot for the routers of a group on one level. None for a
    machine without levels, or with cables that do not join a level to the next one.
    """
    level = machine.level
    if level is None or (np.abs(level[machine.cable_tail] - level[machine.cable_head]) != 1).any():
        return None
    single = len(machine.cable_tail) <= MOST_SINGLE or machine.group is None
    part = np.arange(machine.routers) if single or machine.group is None else machine.group
    spots, spot_of_router = np.unique(np.column_stack([level, part]), axis=0, return_inverse=True)
    spot_of_router = spot_of_router.reshape(-1).astype(np.int64)
    levels, count = np.unique(spots[:, 0], return_counts=True)
    widest = int(count.max())
    step = HEIGHT * widest / max(len(levels) - 1, 1)
    place = np.concatenate(
        [
            np.column_stack([(np.arange(n) + 0.5) * widest / n, np.full(n, number * step)])
            for number, n in zip(levels, count, strict=True)
        ]
    )
    words = tuple((-0.02 * widest, float(number * step), f"level {number}") for number in levels)
    lines = straight(machine, place, spot_of_router)
    spot = "router" if single else "level of a subtree"
    return Layout(spot, place, min(0.36, 0.012 * widest), spot_of_router, *lines, words)
