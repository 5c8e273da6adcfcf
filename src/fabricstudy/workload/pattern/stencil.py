"""Patterns on a Cartesian grid of ranks: their base, and messages to the neighbours."""

import math
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Integers
from fabricstudy.core.model import ConfigError, Flag, Whole, model_check

from .base import MessagePattern, Sends, both_ways


@lru_cache(maxsize=256)
def balanced_shape(ranks: int, dimensions: int) -> tuple[int, ...]:
    """Factorise `ranks` as evenly as possible into `dimensions` lengths, longest first.

    The longest length is minimal, then the second, and so on, as ``MPI_Dims_create`` requires.

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
    for length in divisors(ranks):
        if length**dimensions >= ranks and length <= longest:
            rest = _lengths(ranks // length, dimensions - 1, length)
            if rest is not None:
                return (length, *rest)
    return None


@lru_cache(maxsize=4096)
def divisors(number: int) -> tuple[int, ...]:
    """Return all divisors, ascending.

    Examples
    --------
    >>> divisors(12)
    (1, 2, 3, 4, 6, 12)
    """
    low = [d for d in range(1, int(number**0.5) + 2) if number % d == 0]
    return tuple(sorted({*low, *(number // d for d in low)}))


class RankGrid(MessagePattern):
    """Base of patterns on a Cartesian grid of ranks, in row-major order as in ``MPI_Cart_create``."""

    has_coordinates = True

    dimensions: Whole = Field(3, ge=1, le=8, description="dimensions of the grid of ranks")
    shape: tuple[Annotated[Whole, Field(ge=1)], ...] | None = Field(
        None, description="ranks in each dimension; default: as cubic as the number of ranks allows"
    )

    @model_check
    def _shape_has_dimensions(self) -> None:
        if self.shape is not None and len(self.shape) != self.dimensions:
            problem = f"the shape has {len(self.shape)} numbers for {self.dimensions} dimensions"
            raise ConfigError(problem, "write one number per dimension", ("shape",), list(self.shape), "out-of-range")

    def grid(self, ranks: int) -> tuple[int, ...]:
        """Return the ranks in each dimension."""
        return self.shape or balanced_shape(ranks, self.dimensions)

    def resolved(self, ranks: int) -> dict[str, Any]:
        return {"shape": self.grid(ranks)} if self.shape is None else {}

    def coordinates(self, ranks: int) -> Integers:
        """Return the coordinates in the grid, integers [ranks, dimensions]."""
        grid = self.grid(ranks)
        return np.indices(grid).reshape(len(grid), -1).T

    def check_ranks(self, ranks: int) -> None:
        cells = math.prod(self.shape or (ranks,))
        if cells != ranks:
            problem = f"the shape has {cells} cells for {ranks} ranks"
            remedy = "change it so that its product is the number of ranks, or omit it"
            raise ConfigError(problem, remedy, ("shape",), list(self.shape or ()), "does-not-fit")


class Stencil(RankGrid, kind="stencil"):
    """Halo exchange: each rank sends a message to both neighbours in each dimension of a Cartesian rank grid, at once.

    Ranks are in row-major order, as in ``MPI_Cart_create``. In a periodic dimension of length 2 both neighbours are the
    same rank, which receives two messages.
    """

    periodic: Flag = Field(False, description="wrap the grid around in each dimension")

    def traffic_messages(self, ranks: int) -> float:
        """Return the messages in all iterations; an upper estimate, as if every rank had all its neighbours."""
        return 2.0 * self.dimensions * ranks * self.iterations

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        grid = np.arange(ranks, dtype=np.int32).reshape(self.grid(ranks))
        lower, upper = [], []
        for axis, length in enumerate(grid.shape):
            links = range(length if self.periodic and length > 1 else length - 1)
            lower.append(grid.take(links, axis).ravel())
            upper.append(np.roll(grid, -1, axis).take(links, axis).ravel())
        return both_ways(np.concatenate(lower), np.concatenate(upper), self.iterations)
