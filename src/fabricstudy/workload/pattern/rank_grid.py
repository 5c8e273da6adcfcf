"""Base of patterns on a Cartesian grid of ranks."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, model_validator

from fabricstudy.core.arrays import Integers
from fabricstudy.core.model import ConfigError, Whole

from ..shapes import balanced_shape
from .base import MessagePattern


class RankGrid(MessagePattern):
    """Base of patterns on a Cartesian grid of ranks, in row-major order as in ``MPI_Cart_create``."""

    has_places: ClassVar[bool] = True

    dimensions: Whole = Field(3, ge=1, le=8, description="dimensions of the grid of ranks")
    shape: tuple[Annotated[Whole, Field(ge=1)], ...] | None = Field(
        None, description="ranks in each dimension; default: as cubic as the number of ranks allows"
    )

    @model_validator(mode="after")
    def _shape_has_dimensions(self) -> RankGrid:
        if self.shape is not None and len(self.shape) != self.dimensions:
            problem = f"the shape has {len(self.shape)} numbers for {self.dimensions} dimensions"
            raise ConfigError(problem, "write one number per dimension", ("shape",), list(self.shape), "out-of-range")
        return self

    def grid(self, ranks: int) -> tuple[int, ...]:
        """Return the ranks in each dimension."""
        return self.shape or balanced_shape(ranks, self.dimensions)

    def places(self, ranks: int) -> Integers:
        """Return the coordinates in the grid, integers [ranks, dimensions]."""
        grid = self.grid(ranks)
        return np.indices(grid).reshape(len(grid), -1).T

    def check_ranks(self, ranks: int) -> None:
        cells = math.prod(self.shape or (ranks,))
        if cells != ranks:
            problem = f"the shape has {cells} cells for {ranks} ranks"
            remedy = "change it so that its product is the number of ranks, or omit it"
            raise ConfigError(problem, remedy, ("shape",), list(self.shape or ()), "does-not-fit")
