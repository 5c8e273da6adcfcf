"""Grids of routers: torus, mesh, hypercube, HyperX and express mesh.

Routers are numbered with the first dimension fastest; nodes stand in the order of their routers. The cables of
each dimension are a link class of their own.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabricstudy.kinds import register

from .grid import Grid, GridConfig, Shape, Wrap, check_length, spread


@register
class TorusConfig(GridConfig):
    """Torus: a ring along each dimension, or a line where it does not wrap (Dally and Seitz, 1987)."""

    kind: Literal["torus"] = "torus"
    shape: Shape = Field(description="routers along each dimension")
    wrap: Wrap = Field(
        (True,), description="whether a dimension closes to a ring; so a partition may be part torus, part mesh"
    )
    pair_cables: Literal[1, 2] = Field(
        1, description="cables between the two routers of a wrapped dimension of length 2, where both ways are one"
    )

    @property
    def grid(self) -> Grid:
        """The cables between its routers."""
        return Grid(self.shape, spread(self.wrap, len(self.shape)), pair_cables=self.pair_cables)

    def _check(self) -> None:
        check_length(self.wrap, len(self.shape), ("wrap",))
        super()._check()
