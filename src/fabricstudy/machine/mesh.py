"""Mesh: a grid of lines; `grid` says how routers are numbered and joined."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabricstudy.kinds import register

from .dimension import Dimension
from .grid import GridConfig, Shape


@register
class MeshConfig(GridConfig):
    """Mesh: a line along each dimension."""

    kind: Literal["mesh"] = "mesh"
    shape: Shape = Field(description="routers along each dimension")

    @property
    def grid(self) -> tuple[Dimension, ...]:
        """Its dimensions."""
        return tuple(map(Dimension, self.shape))
