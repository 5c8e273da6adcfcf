"""HyperX: a grid of cliques (see `grid`)."""

from typing import Literal

from pydantic import Field

from fabricstudy.core.kinds import register

from .dimension import Dimension
from .grid import Shape, ShapedGrid


@register
class HyperXConfig(ShapedGrid):
    """HyperX: all routers along a line of each dimension are joined (Ahn et al., SC 2009)."""

    kind: Literal["hyperx"] = "hyperx"
    shape: Shape = Field(description="routers along each dimension")

    @staticmethod
    def line(length: int) -> Dimension:
        return Dimension(length, gap=1)
