"""Ranks in a Cartesian grid."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, model_validator

from fabricstudy.core.model import ConfigError, Whole

from ..messages import Indices
from ..shapes import balanced_shape
from .base import MessagePattern


class RankGrid(MessagePattern):
    """What the patterns have whose ranks stand in a Cartesian grid, the last dimension fastest."""

    has_places: ClassVar[bool] = True

    dimensions: Whole = Field(3, ge=1, le=8, description="dimensions of the grid of ranks")
    shape: tuple[Annotated[Whole, Field(ge=1)], ...] | None = Field(
        None, description="ranks in each dimension; left out: as cubic as the number of ranks allows"
    )

    @model_validator(mode="after")
    def _shape_has_dimensions(self) -> RankGrid:
        if self.shape is not None and len(self.shape) != self.dimensions:
            problem = f"the shape has {len(self.shape)} numbers for {self.dimensions} dimensions"
            raise ConfigError(problem, "make them agree", ("shape",), list(self.shape), "out-of-range")
        return self

    def grid(self, ranks: int) -> tuple[int, ...]:
        """Ranks in each dimension."""
        return self.shape or balanced_shape(ranks, self.dimensions)

    def places(self, ranks: int) -> Indices:
        """Coordinates in the grid, integers [ranks, dimensions]."""
        grid = self.grid(ranks)
        return np.indices(grid).reshape(len(grid), -1).T

    def check_ranks(self, ranks: int) -> None:
        """Refuse a shape that does not hold exactly the ranks."""
        cells = 1
        for length in self.shape or (ranks,):
            cells *= length
        if cells != ranks:
            problem = f"the shape has {cells} places for {ranks} ranks"
            remedy = "let its product be the ranks, or leave it out"
            raise ConfigError(problem, remedy, ("shape",), list(self.shape or ()), "does-not-fit")
