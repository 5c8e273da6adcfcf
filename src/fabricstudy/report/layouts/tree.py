"""Layout of trees level by level: routers, or a spot for each level of a subtree."""

import numpy as np

from fabricstudy.machine.components import component_labels
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.levels import levels

from .base import MAX_SINGLE_LINES, Layout, straight

HEIGHT = 0.55
"""Height of the picture of a tree over its width."""


def lay_out(machine: Machine) -> Layout | None:
    """Put each level into a row, leaves at the bottom, the routers of a subtree side by side.

    A tree of more than `MAX_SINGLE_LINES` rows of cables has one spot for each level of a subtree below the top, and
    one for the top. None for a machine that is not a tree.
    """
    level = levels(machine)
    if level is None:
        return None
    # The subtrees below each level are the components without it.
    tail, head = machine.cable_tail, machine.cable_head
    highest = np.maximum(level[tail], level[head])
    below = [highest < top for top in range(1, int(level.max()) + 1)]
    within = [component_labels(tail[rows], head[rows], machine.routers).astype(np.int64) for rows in below]
    part = np.empty(machine.routers, dtype=np.int64)
    part[np.lexsort([np.arange(machine.routers), *within])] = np.arange(machine.routers)
    single = len(machine.cable_tail) <= MAX_SINGLE_LINES
    if not single:
        part = np.where(level == level.max(), -1, within[-1])
    spots, spot_of_router = np.unique(np.column_stack([level, part]), axis=0, return_inverse=True)
    spot_of_router = spot_of_router.reshape(-1).astype(np.int64)
    rows, count = np.unique(spots[:, 0], return_counts=True)
    widest = int(count.max())
    step = HEIGHT * widest / max(len(rows) - 1, 1)
    heights = zip(rows, count, strict=True)
    levelled = [np.column_stack([(np.arange(n) + 0.5) * widest / n, np.full(n, row * step)]) for row, n in heights]
    positions = np.concatenate(levelled)
    labels = tuple((-0.02 * widest, float(number * step), f"level {number}") for number in rows)
    lines = straight(machine, positions, spot_of_router)
    spot = "router" if single else "level of a subtree"
    return Layout(spot, positions, min(0.36, 0.012 * widest), spot_of_router, *lines, labels)
