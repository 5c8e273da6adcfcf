"""Express mesh: a grid of lines with express links (see `grid`)."""

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from fabricstudy.core.model import ConfigError, Whole

from .dimension import Dimension
from .grid import MOST_DIMENSIONS, Shape, ShapedGrid
from .requirements import MachineRequirements


class ExpressMeshConfig(ShapedGrid, kind="express-mesh"):
    """Express mesh: a mesh with express links along each dimension (Jain et al., IPDPS 2017)."""

    shape: Shape = Field(description="routers along each dimension")
    gap: Whole = Field(
        ge=1, le=100_000, description="routers that differ by 1 or by 1 + m * gap in one dimension are joined (g)"
    )

    @classmethod
    def grids(cls, wanted: MachineRequirements) -> Iterator[tuple[dict[str, Any], tuple[Dimension, ...]]]:
        # Gaps are powers of two.
        for shape in wanted.shapes(MOST_DIMENSIONS, least_length=4):
            for gap in (1 << power for power in range(1, (shape[0] - 2).bit_length())):
                yield {"shape": list(shape), "gap": gap}, tuple(Dimension(length, gap=gap) for length in shape)

    @property
    def grid(self) -> tuple[Dimension, ...]:
        return tuple(Dimension(length, gap=self.gap) for length in self.shape)

    def _check(self) -> None:
        shortest = min(self.shape)
        if self.gap > max(1, shortest - 2):
            problem = f"a dimension of {shortest} routers has no express cable of length {self.gap + 1}"
            remedy = f"use at most {max(1, shortest - 2)}, or a longer dimension"
            raise ConfigError(problem, remedy, ("gap",), self.gap, "invalid-machine")
        super()._check()
