"""Hypercube: a grid of two routers a dimension; `grid` says how they are numbered."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabricstudy.kinds import register
from fabricstudy.model import Whole

from .dimension import Dimension
from .grid import GridConfig


@register
class HypercubeConfig(GridConfig):
    """Hypercube: routers whose binary numbers differ in one digit are joined (Seitz, 1985)."""

    kind: Literal["hypercube"] = "hypercube"
    dimensions: Whole = Field(ge=1, le=23, description="dimensions; there are two routers along each")

    @property
    def grid(self) -> tuple[Dimension, ...]:
        """Its dimensions."""
        return (Dimension(2),) * self.dimensions
