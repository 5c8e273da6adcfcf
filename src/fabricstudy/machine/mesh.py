"""Mesh: a grid of lines; `grid` says how routers are numbered and joined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from fabricstudy.core.kinds import register

from .dimension import Dimension
from .grid import MOST_DIMENSIONS, GridConfig, Shape
from .wanted import Wanted


@register
class MeshConfig(GridConfig):
    """Mesh: a line along each dimension."""

    kind: Literal["mesh"] = "mesh"
    shape: Shape = Field(description="routers along each dimension")

    @classmethod
    def grids(cls, wanted: Wanted) -> Iterator[tuple[dict[str, Any], tuple[Dimension, ...]]]:
        for shape in wanted.shapes(MOST_DIMENSIONS):
            yield {"shape": list(shape)}, tuple(map(Dimension, shape))

    @property
    def grid(self) -> tuple[Dimension, ...]:
        return tuple(map(Dimension, self.shape))
