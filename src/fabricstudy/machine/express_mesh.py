"""Express mesh: a grid of lines with express links; `grid` says how routers are numbered and joined."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabricstudy.kinds import register
from fabricstudy.model import ConfigError, Whole

from .dimension import Dimension
from .grid import GridConfig, Shape


@register
class ExpressMeshConfig(GridConfig):
    """Express mesh: a mesh with further cables along each dimension (Jain et al., IPDPS 2017)."""

    kind: Literal["express-mesh"] = "express-mesh"
    shape: Shape = Field(description="routers along each dimension")
    gap: Whole = Field(
        ge=1, le=100_000, description="routers that differ by 1 or by 1 + m * gap in one dimension are joined (g)"
    )

    @property
    def grid(self) -> tuple[Dimension, ...]:
        """Its dimensions."""
        return tuple(Dimension(length, gap=self.gap) for length in self.shape)

    def _check(self) -> None:
        shortest = min(self.shape)
        if self.gap > max(1, shortest - 2):
            raise ConfigError(
                f"a dimension of {shortest} routers has no express cable of length {self.gap + 1}",
                f"take at most {max(1, shortest - 2)}, or a longer dimension",
                ("gap",),
                self.gap,
                "cannot-be-built",
            )
        super()._check()
