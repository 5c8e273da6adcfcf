"""Hypercube: a grid of two routers per dimension (see `grid`)."""

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import Whole

from .dimension import Dimension
from .grid import GridConfig
from .requirements import MachineRequirements


@register
class HypercubeConfig(GridConfig):
    """Hypercube: routers whose binary numbers differ in one digit are joined (Seitz, 1985)."""

    kind: Literal["hypercube"] = "hypercube"
    dimensions: Whole = Field(ge=1, le=23, description="number of dimensions, with two routers each")

    @classmethod
    def grids(cls, wanted: MachineRequirements) -> Iterator[tuple[dict[str, Any], tuple[Dimension, ...]]]:
        for dimensions in range(1, wanted.max_nodes.bit_length()):
            yield {"dimensions": dimensions}, (Dimension(2),) * dimensions

    @property
    def grid(self) -> tuple[Dimension, ...]:
        return (Dimension(2),) * self.dimensions
