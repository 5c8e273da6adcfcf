"""All-to-alls along the lines of a grid of ranks."""

from __future__ import annotations

import numpy as np

from ..messages import IntArray
from .sends import Sends, one_phase


def all_to_all_along(grid: IntArray, axis: int, size_bytes: int | None = None) -> Sends:
    """Send once, in one phase, from each rank to each other rank on its line along `axis`.

    Examples
    --------
    >>> sends = all_to_all_along(np.arange(6, dtype=np.int32).reshape(2, 3), axis=1)
    >>> sends.source.tolist()
    [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    >>> sends.destination.tolist()
    [1, 2, 2, 0, 0, 1, 4, 5, 5, 3, 3, 4]
    """
    length = grid.shape[axis]
    lines = np.moveaxis(grid, axis, -1).reshape(-1, length)
    partner = (np.arange(length)[:, None] + np.arange(1, length)) % length
    source = np.repeat(lines.reshape(-1), length - 1)
    return one_phase(source, lines[:, partner].reshape(-1), size_bytes=size_bytes)
