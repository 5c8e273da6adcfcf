"""Mesh: a grid of lines (see `grid`)."""

from pydantic import Field

from .grid import Shape, ShapedGrid


class MeshConfig(ShapedGrid, kind="mesh"):
    """Mesh: a line along each dimension."""

    shape: Shape = Field(description="routers along each dimension")
