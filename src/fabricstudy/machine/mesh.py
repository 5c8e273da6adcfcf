"""Mesh: a grid of lines (see `grid`)."""

from typing import Literal

from pydantic import Field

from fabricstudy.core.kinds import register

from .grid import Shape, ShapedGrid


@register
class MeshConfig(ShapedGrid):
    """Mesh: a line along each dimension."""

    kind: Literal["mesh"] = "mesh"
    shape: Shape = Field(description="routers along each dimension")
