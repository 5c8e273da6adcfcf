"""Tofu interconnect D: a grid of six dimensions (see `grid`)."""

from typing import Annotated, Literal

from pydantic import Field

from fabricstudy.core.model import Whole

from .dimension import Dimension
from .grid import GridBandwidths, GridConfig, Length, Wrap, product_bandwidth, rings

UNIT_DIMENSIONS = (Dimension(2), Dimension(3, wrap=True), Dimension(2))
"""The dimensions a, b and c, the same on all machines."""


class TofuDConfig(GridConfig, kind="tofu-d"):
    """Tofu interconnect D: a torus of units of 2x3x2 nodes, each its own router (Ajima et al., CLUSTER 2018).

    The dimensions x, y and z join units; within a unit, a and c are pairs and b is a ring of three.
    (doi:10.1109/CLUSTER.2018.00090)
    """

    axis_names = tuple("xyzabc")
    block = (1, 1, 1)

    units: Annotated[tuple[Length, ...], Field(min_length=3, max_length=3)] = Field(
        description="units along the dimensions x, y and z"
    )
    wrap: Wrap = Field((True,), description="true if x, y and z are rings; one value, or one per dimension")
    nodes_per_router: Literal[1] = Field(1, description="each node is its own router")
    cores_per_node: Whole = Field(48, ge=1, le=10_000, description="cores per node; each rank needs one")
    bandwidth: GridBandwidths = product_bandwidth("6.8 GB/s", "40.8 GB/s", " (six interfaces, as we read the source)")

    @property
    def grid(self) -> tuple[Dimension, ...]:
        return (*rings(self.units, self.wrap), *UNIT_DIMENSIONS)
