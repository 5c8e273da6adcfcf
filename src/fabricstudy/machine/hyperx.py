"""HyperX: a grid of cliques; `grid` says how routers are numbered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from fabricstudy.core.kinds import register

from .dimension import Dimension
from .grid import MOST_DIMENSIONS, GridConfig, Shape
from .wanted import Wanted


@register
class HyperXConfig(GridConfig):
    """HyperX: all routers along a line of each dimension are joined (Ahn et al., SC 2009)."""

    kind: Literal["hyperx"] = "hyperx"
    shape: Shape = Field(description="routers along each dimension")

    @classmethod
    def grids(cls, wanted: Wanted) -> Iterator[tuple[dict[str, Any], tuple[Dimension, ...]]]:
        for shape in wanted.shapes(MOST_DIMENSIONS):
            if sum(shape) - len(shape) < wanted.radix:
                yield {"shape": list(shape)}, tuple(Dimension(length, gap=1) for length in shape)

    @property
    def grid(self) -> tuple[Dimension, ...]:
        return tuple(Dimension(length, gap=1) for length in self.shape)
