"""Torus: a grid of rings; `grid` says how routers are numbered and joined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from fabricstudy.core.kinds import register

from .dimension import Dimension
from .grid import MOST_DIMENSIONS, GridConfig, Shape, Wrap, check_length, spread
from .wanted import Wanted


@register
class TorusConfig(GridConfig):
    """Torus: a ring along each dimension, or a line where it does not wrap (Dally and Seitz, 1987)."""

    kind: Literal["torus"] = "torus"
    shape: Shape = Field(description="routers along each dimension")
    wrap: Wrap = Field(
        (True,), description="whether a dimension closes to a ring; so a partition may be part torus, part mesh"
    )
    pair_cables: Literal[1, 2] = Field(
        1, description="cables between the two routers of a wrapped dimension of length 2, where both ways are one"
    )

    @classmethod
    def grids(cls, wanted: Wanted) -> Iterator[tuple[dict[str, Any], tuple[Dimension, ...]]]:
        for shape in wanted.shapes(MOST_DIMENSIONS, least_length=3):
            yield {"shape": list(shape)}, tuple(Dimension(length, wrap=True) for length in shape)

    @property
    def grid(self) -> tuple[Dimension, ...]:
        wraps = spread(self.wrap, len(self.shape))
        return tuple(
            Dimension(length, wrap, pair_cables=self.pair_cables)
            for length, wrap in zip(self.shape, wraps, strict=True)
        )

    def _check(self) -> None:
        check_length(self.wrap, len(self.shape), ("wrap",))
        super()._check()
