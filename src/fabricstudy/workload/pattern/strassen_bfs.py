"""Breadth-first steps of Strassen's multiplication."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import StrassenBfs
from fabricstudy.workload.placed import IntArray

from .lines import all_to_all_along
from .sends import Sends, in_phases


def sends(config: StrassenBfs, ranks: int, rng: np.random.Generator) -> Sends:
    """Send in each step once from each rank to its counterparts in the other 6 groups, down and then up again."""
    down, up = [], []
    for step in range(config.steps):
        factors, products = config.step_bytes(step)
        down.append(_step(ranks, step, factors))
        up.append(_step(ranks, step, products))
    return in_phases(down + up[::-1], config.iterations)


def _step(ranks: int, step: int, size_bytes: int) -> Sends:
    """Exchange within each of the 7^step sets of ranks that work together."""
    rank: IntArray = np.arange(ranks, dtype=np.int32)
    return all_to_all_along(rank.reshape(7**step, 7, -1), 1, size_bytes)
