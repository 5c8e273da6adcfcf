"""Torus: a grid of rings (see `grid`)."""

from typing import Literal

from pydantic import Field

from .dimension import Dimension
from .grid import Shape, ShapedGrid, Wrap, rings


class TorusConfig(ShapedGrid, kind="torus"):
    """Torus: a ring along each dimension; a line where `wrap` is false (Dally and Seitz, 1987)."""

    least_length = 3

    shape: Shape = Field(description="routers along each dimension")
    wrap: Wrap = Field((True,), description="true if a dimension is a ring, false for a line")
    pair_cables: Literal[1, 2] = Field(
        1, description="parallel cables between the two routers of a wrapped dimension of length 2"
    )

    @staticmethod
    def line(length: int) -> Dimension:
        return Dimension(length, wrap=True)

    @property
    def grid(self) -> tuple[Dimension, ...]:
        return rings(self.shape, self.wrap, self.pair_cables)
