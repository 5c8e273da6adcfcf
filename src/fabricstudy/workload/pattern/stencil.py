"""Neighbours in a Cartesian grid of ranks."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from fabricstudy.study import Stencil
from fabricstudy.workload.placed import IntArray, WorkloadError

from .sends import Sends, one_phase


def sends(config: Stencil, ranks: int, rng: np.random.Generator) -> Sends:
    """Send once from each rank to both its neighbours in each dimension, all in one phase.

    Ranks stand in the grid in row-major order (the last dimension varies fastest, as in ``MPI_Cart_create``).
    Without `periodic` the ranks at the border have fewer neighbours. In a periodic dimension of length 2 both
    neighbours are the same rank, which gets two messages; a dimension of length 1 has no neighbours.

    Raises
    ------
    WorkloadError
        If the given shape does not hold exactly `ranks` ranks.
    """
    shape = config.shape or balanced_shape(ranks, config.dimensions)
    if np.prod(shape, dtype=object) != ranks:
        text = " x ".join(map(str, shape))
        raise WorkloadError(f"the stencil's shape {text} does not hold its {ranks} ranks; change shape or leave it out")
    grid = np.arange(ranks, dtype=np.int32).reshape(shape)
    pairs = [_upward(grid, axis, config.periodic) for axis in range(grid.ndim)]
    lower = np.concatenate([pair[0] for pair in pairs])
    upper = np.concatenate([pair[1] for pair in pairs])
    return one_phase(np.concatenate([lower, upper]), np.concatenate([upper, lower]), config.iterations)


def _upward(grid: IntArray, axis: int, periodic: bool) -> tuple[IntArray, IntArray]:
    """Ranks with a neighbour at the next higher place along `axis`, and those neighbours."""
    length = grid.shape[axis]
    if length == 1:
        return grid[:0].reshape(-1), grid[:0].reshape(-1)
    if periodic:
        return grid.reshape(-1), np.roll(grid, -1, axis).reshape(-1)
    lower, upper = np.split(grid, [length - 1], axis)[0], np.split(grid, [1], axis)[1]
    return lower.reshape(-1), upper.reshape(-1)


@lru_cache(maxsize=256)
def balanced_shape(ranks: int, dimensions: int) -> tuple[int, ...]:
    """Factorise `ranks` as evenly as possible into `dimensions` lengths, longest first.

    The longest length is the least possible, then the second, and so on; ``MPI_Dims_create`` asks for the
    same in words.

    Examples
    --------
    >>> balanced_shape(272, 3), balanced_shape(144, 3), balanced_shape(7, 2)
    ((17, 4, 4), (6, 6, 4), (7, 1))
    """
    shape = _lengths(ranks, dimensions, ranks)
    assert shape is not None
    return shape


def _lengths(ranks: int, dimensions: int, longest: int) -> tuple[int, ...] | None:
    """First factorisation in lexicographic order with no length above `longest`, or None."""
    if dimensions == 1:
        return (ranks,) if ranks <= longest else None
    for length in _divisors(ranks):
        if length**dimensions >= ranks and length <= longest:
            rest = _lengths(ranks // length, dimensions - 1, length)
            if rest is not None:
                return (length, *rest)
    return None


@lru_cache(maxsize=4096)
def _divisors(number: int) -> tuple[int, ...]:
    low = [d for d in range(1, int(number**0.5) + 2) if number % d == 0]
    return tuple(sorted({*low, *(number // d for d in low)}))
