"""HyperX: a grid of cliques; `grid` says how routers are numbered."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabricstudy.kinds import register

from .dimension import Dimension
from .grid import GridConfig, Shape


@register
class HyperXConfig(GridConfig):
    """HyperX: all routers along a line of each dimension are joined (Ahn et al., SC 2009)."""

    kind: Literal["hyperx"] = "hyperx"
    shape: Shape = Field(description="routers along each dimension")

    @property
    def grid(self) -> tuple[Dimension, ...]:
        """Its dimensions."""
        return tuple(Dimension(length, gap=1) for length in self.shape)
