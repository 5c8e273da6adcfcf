"""Blue Gene/P and Blue Gene/Q: machines and partitions, in midplanes."""

from typing import Annotated, Literal

from pydantic import Field

from fabricstudy.core.model import Whole

from .base import LATENCY_DESCRIPTION
from .dimension import Dimension
from .grid import GridBandwidths, GridConfig, GridLatencies, Midplanes, Wrap, product_bandwidth, rings


class BlueGenePConfig(GridConfig, kind="bluegene-p"):
    """Blue Gene/P: midplanes of 8x8x8 nodes; a partition is a torus or a mesh in each dimension (IBM, 2008)."""

    block = (8, 8, 8)
    # Link chips bypass midplanes of other partitions.
    partitions_wrap = True

    midplanes: Annotated[tuple[Midplanes, ...], Field(min_length=3, max_length=3)] = Field(
        description="midplanes along each dimension"
    )
    wrap: Wrap = Field((True,), description="true if a dimension is a ring; one value, or one per dimension")
    nodes_per_router: Literal[1] = Field(1, description="each node is its own router")
    cores_per_node: Whole = Field(4, ge=1, le=10_000, description="cores per node; each rank needs one")
    bandwidth: GridBandwidths = product_bandwidth("425 MB/s", "2.55 GB/s")
    latency: GridLatencies = Field(
        default_factory=lambda: GridLatencies.model_validate("50 ns"), description=LATENCY_DESCRIPTION
    )

    @property
    def grid(self) -> tuple[Dimension, ...]:
        return rings([8 * count for count in self.midplanes], self.wrap)


class BlueGeneQConfig(GridConfig, kind="bluegene-q"):
    """Blue Gene/Q: a torus of midplanes of 4x4x4x4x2 nodes; partitions are tori (Chen et al., SC 2011).

    Two cables join the two nodes along the fifth dimension.
    """

    axis_names = tuple("abcde")
    block = (4, 4, 4, 4)
    # Link chips bypass midplanes of other partitions.
    partitions_wrap = True

    midplanes: Annotated[tuple[Midplanes, ...], Field(min_length=4, max_length=4)] = Field(
        description="midplanes along the first four dimensions"
    )
    nodes_per_router: Literal[1] = Field(1, description="each node is its own router")
    cores_per_node: Whole = Field(16, ge=1, le=10_000, description="cores per node; each rank needs one")
    bandwidth: GridBandwidths = product_bandwidth("2 GB/s", "20 GB/s")

    @property
    def grid(self) -> tuple[Dimension, ...]:
        return rings([*(4 * count for count in self.midplanes), 2], (True,), pair_cables=2)
