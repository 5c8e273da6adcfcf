"""Hypercube: a grid of two routers per dimension (see `grid`)."""

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from fabricstudy.core.model import Whole

from .dimension import Dimension
from .grid import GridConfig
from .requirements import MachineRequirements


class HypercubeConfig(GridConfig, kind="hypercube"):
    """Hypercube: routers whose binary numbers differ in one digit are joined (Seitz, 1985)."""

    dimensions: Whole = Field(ge=1, le=23, description="number of dimensions, with two routers each")

    @classmethod
    def grids(cls, wanted: MachineRequirements) -> Iterator[tuple[dict[str, Any], tuple[Dimension, ...]]]:
        for dimensions in range(1, wanted.max_nodes.bit_length()):
            yield {"dimensions": dimensions}, (Dimension(2),) * dimensions

    @property
    def grid(self) -> tuple[Dimension, ...]:
        return (Dimension(2),) * self.dimensions
