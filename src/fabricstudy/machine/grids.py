"""Grids of one kind of dimension: torus, mesh, HyperX, hypercube and express mesh (see `grid`)."""

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from fabricstudy.core.model import ConfigError, Whole

from .dimension import Dimension
from .grid import MOST_DIMENSIONS, GridConfig, Shape, ShapedGrid, Wrap, rings
from .requirements import MachineRequirements


class TorusConfig(ShapedGrid, kind="torus"):
    """Torus: a ring along each dimension; a line where `wrap` is false (Dally and Seitz, 1987)."""

    least_length = 3

    shape: Shape = Field(description="routers along each dimension")
    wrap: Wrap = Field((True,), description="true if a dimension is a ring, false for a line")
    pair_cables: Literal[1, 2] = Field(
        1, description="parallel cables between the two routers of a wrapped dimension of length 2"
    )

    @staticmethod
    def line(length: int) -> Dimension:
        return Dimension(length, wrap=True)

    @property
    def lines(self) -> tuple[Dimension, ...]:
        return rings(self.shape, self.wrap, self.pair_cables)


class MeshConfig(ShapedGrid, kind="mesh"):
    """Mesh: a line along each dimension."""

    shape: Shape = Field(description="routers along each dimension")


class HyperXConfig(ShapedGrid, kind="hyperx"):
    """HyperX: all routers along a line of each dimension are joined (Ahn et al., SC 2009)."""

    shape: Shape = Field(description="routers along each dimension")

    @staticmethod
    def line(length: int) -> Dimension:
        return Dimension(length, gap=1)


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
    def lines(self) -> tuple[Dimension, ...]:
        return tuple(Dimension(length, gap=self.gap) for length in self.shape)

    def _check(self) -> None:
        shortest = min(self.shape)
        if self.gap > max(1, shortest - 2):
            problem = f"a dimension of {shortest} routers has no express cable of length {self.gap + 1}"
            remedy = f"use at most {max(1, shortest - 2)}, or a longer dimension"
            raise ConfigError(problem, remedy, ("gap",), self.gap, "invalid-machine")
        super()._check()
