"""Blue Gene/Q: machines and partitions, in midplanes."""

from typing import Annotated, Literal

from pydantic import Field

from fabricstudy.core.model import Whole

from .dimension import Dimension
from .grid import GridBandwidths, GridConfig, Midplanes, product_bandwidth, rings


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
