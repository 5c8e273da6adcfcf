"""All cuboids that fit into a machine."""

import itertools
import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.model import ConfigError, Whole, model_check
from fabricstudy.machine.base import Topology
from fabricstudy.structure.partitions import Geometry, PartitionSpace, geometries_by_size, partition_space
from fabricstudy.structure.production import Allowed

from ..cables import Partition, lines_of
from ..partitions import Partitions, build_partitions
from .base import Loops, PartitionList, grid_of

MAX_PARTITIONS = 20_000


class Cuboids(PartitionList, kind="cuboids"):
    """Every cuboid that fits, in every orientation, for a scheduler without a list; sorted from small to large.

    Of partitions of equal size, `prefer` selects those that are tried first: those with the largest bisection, those
    that block the fewest free partitions, or those of a published list.
    """

    prefer: Literal["bisection", "packing", "production"] = Field(
        "packing", description="which of equal size is tried first"
    )
    production: Allowed | None = Field(None, description="production list for `prefer: production`")
    geometries: Literal["all", "best", "worst"] | Allowed = Field(
        "all",
        description="which geometries there are: all, those of each size with the best or the worst bisection, "
        "the name of a published list, or a list",
    )
    sizes: Annotated[tuple[Whole, ...], Field(min_length=1)] | None = Field(
        None, description="sizes in building blocks; left out: all"
    )
    at: Literal["aligned", "any"] = Field("any", description="corners: multiples of the sides, or everywhere")
    loops: Loops = Field(
        default_factory=dict, description="for a dimension, which positions of its lines can be closed by themselves"
    )

    @model_check
    def _has_its_list(self) -> None:
        if (self.prefer == "production") != (self.production is not None):
            problem = "`production` and `prefer: production` need each other"
            raise ConfigError(problem, "give both, or neither", ("production",), code="conflicting-keys")

    def partitions(self, machine: Topology) -> Partitions:
        grid = grid_of(machine)
        space = partition_space(grid)
        lines = lines_of(space, self.loops, grid.axis_names)
        shapes = self._shapes(space)
        listed = [
            Partition(corner, shape, lines.rings(shape))
            for shape in shapes
            for corner in lines.corners(shape, self.at == "aligned")
        ]
        if len(listed) > MAX_PARTITIONS:
            problem = f"{len(listed):,} partitions are too many; at most {MAX_PARTITIONS:,} are scheduled"
            raise ConfigError(problem, "write `sizes`, or `at: aligned`", code="out-of-range")
        return build_partitions(space, lines, listed, self._ranks(space, shapes))

    def _shapes(self, space: PartitionSpace) -> list[Geometry]:
        if self.geometries == "all":
            wanted = None
        elif isinstance(self.geometries, str):
            wanted = {getattr(size, self.geometries) for size in geometries_by_size(space)}
        else:
            wanted = canonical(space, self.geometries, "geometries")
        every = itertools.product(*(range(1, length + 1) for length in space.blocks))
        shapes = [
            shape
            for shape in every
            if (wanted is None or space.canonical(shape) in wanted)
            and (self.sizes is None or math.prod(shape) in self.sizes)
        ]
        if not shapes:
            raise ConfigError("no cuboid is left", "use other sizes or geometries", code="does-not-fit")
        return sorted(shapes, key=lambda shape: (math.prod(shape), shape))

    def _ranks(self, space: PartitionSpace, shapes: list[Geometry]) -> dict[Geometry, int]:
        if self.prefer == "packing":
            return {}
        if self.production is not None:
            listed = canonical(space, self.production, "production")
            return {shape: int(space.canonical(shape) not in listed) for shape in shapes}
        capacity_Bps = [space.bisection_Bps(shape) for shape in shapes]
        ranks = np.unique(np.negative(capacity_Bps), return_inverse=True)[1]
        return dict(zip(shapes, ranks.tolist(), strict=True))


def canonical(space: PartitionSpace, geometries: tuple[Geometry, ...], *path: str) -> set[Geometry]:
    """Return geometries in canonical form. Raises ConfigError below `path` if one does not fit."""
    written = set()
    for number, geometry in enumerate(geometries):
        try:
            written.add(space.canonical(geometry))
        except FabricstudyError as error:
            problem, remedy = str(error).split("; ", 1)
            raise ConfigError(problem, remedy, (*path, str(number)), list(geometry), "unsupported") from None
    return written
