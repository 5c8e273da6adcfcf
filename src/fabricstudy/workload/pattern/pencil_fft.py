"""Transposes of an FFT on pencils."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import PencilFft

from .lines import all_to_all_along
from .sends import Sends, in_phases


def sends(config: PencilFft, ranks: int, rng: np.random.Generator) -> Sends:
    """Send from each rank to the others of its row, then of its column; a row holds consecutive ranks."""
    grid = np.arange(ranks, dtype=np.int32).reshape(config.grid(ranks))
    axes = [axis for axis in (1, 0) if grid.shape[axis] > 1]
    parts = [all_to_all_along(grid, axis, config.part_bytes(grid.shape[axis])) for axis in axes]
    return in_phases(parts, config.iterations)
