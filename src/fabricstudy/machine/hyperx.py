"""HyperX: a grid of cliques (see `grid`)."""

from pydantic import Field

from .dimension import Dimension
from .grid import Shape, ShapedGrid


class HyperXConfig(ShapedGrid, kind="hyperx"):
    """HyperX: all routers along a line of each dimension are joined (Ahn et al., SC 2009)."""

    shape: Shape = Field(description="routers along each dimension")

    @staticmethod
    def line(length: int) -> Dimension:
        return Dimension(length, gap=1)
