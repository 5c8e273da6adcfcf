"""All-to-alls within the lines of a grid of ranks."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import SubAllToAll

from .lines import all_to_all_along
from .sends import Sends, in_phases


def sends(config: SubAllToAll, ranks: int, rng: np.random.Generator) -> Sends:
    """Send once from each rank to each rank on its line in each dimension, the last dimension first.

    Ranks stand in the grid in row-major order; one phase a dimension longer than 1.
    """
    grid = np.arange(ranks, dtype=np.int32).reshape(config.grid(ranks))
    axes = [axis for axis in reversed(range(grid.ndim)) if grid.shape[axis] > 1]
    return in_phases([all_to_all_along(grid, axis) for axis in axes], config.iterations)
