"""Guard cells of an adaptively refined mesh, as in FLASH."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from fabricstudy.core.arrays import Bools, Integers, Ints
from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError, Flag, Number, Whole
from fabricstudy.core.quantities import Size

from ..octree import Contacts, Octree, TooManyBlocks, build_octree, contacts
from .base import MessagePattern, TrafficEstimate
from .sends import Sends, one_phase

MAX_BLOCKS = 2**21
"""Maximum blocks of a level."""

Level = Annotated[Whole, Field(ge=0, le=12)]


@register
class RefinedBlocks(MessagePattern):
    """Guard cells of blocks of an adaptively refined mesh, as in FLASH with PARAMESH (MacNeice et al., CPC 2000).

    An octree refines a cube to the first of `levels`, and to the second where a block touches the surface of a sphere;
    blocks that share a face differ by at most one level. Each block has `cells`^3 cells, and sends `guard` layers of
    them through each face: a whole face to a block of its level, and a quarter of the coarser block's face to a coarser
    block (restricted) or to each of four finer ones. A step is a phase. Blocks in Morton order are divided evenly among
    the ranks; those of one rank send each other nothing. Guard cells at edges and corners, flux corrections, parent
    blocks and regridding are not modelled.
    """

    has_places: ClassVar[bool] = True

    kind: Literal["refined-blocks"] = "refined-blocks"
    message_bytes: Size = Field(alias="message", description="data of a cell: its variables times the bytes of a value")
    cells: Whole = Field(8, ge=2, le=1024, multiple_of=2, description="cells of a block along a dimension, even")
    guard: Whole = Field(4, ge=1, le=1024, description="layers of guard cells")
    levels: Annotated[tuple[Level, ...], Field(min_length=2, max_length=2)] = Field(
        description="minimum and maximum level of refinement; level 0 is one block"
    )
    centres: Whole | None = Field(
        None, ge=1, le=10_000, description="number of spheres at random; default: one at the centre of the domain"
    )
    radius: Number = Field(0.25, ge=0, le=1, description="radius of the spheres over the edge of the domain; 0: points")
    seed: Whole = Field(0, ge=0, lt=2**31, description="seed of the centres; that of the point has no effect")
    periodic: Flag = Field(False, description="join opposite faces of the domain")
    aggregate: Flag = Field(
        True, description="one message per pair of ranks and step; false: one per contact of blocks"
    )

    @model_validator(mode="after")
    def _levels_ascend(self) -> RefinedBlocks:
        if self.levels[0] > self.levels[1]:
            remedy = "write the minimum first"
            raise ConfigError("the levels descend", remedy, ("levels",), list(self.levels), "out-of-range")
        return self

    def tree(self) -> tuple[Octree, Contacts]:
        """Return the blocks, and the contacts of all of them.

        Raises ConfigError for too many blocks.
        """
        try:
            return _tree(self.levels, self.centres, float(self.radius), self.seed, self.periodic)
        except TooManyBlocks:
            problem, remedy = f"more than {MAX_BLOCKS:,} blocks on a level", "use a lower level, or fewer spheres"
            raise ConfigError(problem, remedy, ("levels",), list(self.levels), "does-not-fit") from None

    def rank_of_block(self, ranks: int) -> Integers:
        """Return the rank of each block, int64 [blocks]."""
        blocks = len(self.tree()[0].level)
        return np.arange(blocks) * ranks // blocks

    def check_ranks(self, ranks: int) -> None:
        blocks = len(self.tree()[0].level)
        if blocks < ranks:
            problem = f"{blocks} blocks for {ranks} ranks"
            remedy = "use a higher level, or fewer ranks"
            raise ConfigError(problem, remedy, ("levels",), list(self.levels), "does-not-fit")

    def places(self, ranks: int) -> Integers:
        """Return the mean corner of each rank's blocks, in edges of the finest ones; integers [ranks, 3]."""
        rank, corner = self.rank_of_block(ranks), self.tree()[0].finest_corner
        total = np.stack([np.bincount(rank, axis, ranks) for axis in corner.T], axis=1)
        places: Integers = (total // np.bincount(rank, minlength=ranks)[:, None]).astype(np.int64)
        return places

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        sizes, counts = np.unique(self._step(ranks)[2], return_counts=True)
        pairs = zip(sizes.tolist(), counts.tolist(), strict=True)
        return tuple(TrafficEstimate(float(count) * self.iterations, size) for size, count in pairs)

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        source, destination, size_bytes = self._step(ranks)
        return one_phase(source.astype(np.int32), destination.astype(np.int32), self.iterations, size_bytes)

    def _step(self, ranks: int) -> tuple[Integers, Integers, Integers]:
        """Sources, destinations and bytes of the messages of a step, integers [messages] each."""
        rank, touching = self.rank_of_block(ranks), self.tree()[1]
        source, destination = rank[touching.source], rank[touching.destination]
        apart = source != destination
        pair, quarters = source[apart] * ranks + destination[apart], touching.quarters[apart]
        if self.aggregate:
            pair, contact = np.unique(pair, return_inverse=True)
            quarters = np.bincount(contact, quarters).astype(np.int64)
        return pair // ranks, pair % ranks, quarters * ((self.cells // 2) ** 2 * self.guard * int(self.message_bytes))


@lru_cache(maxsize=16)
def _tree(
    levels: tuple[int, int], centres: int | None, radius: float, seed: int, periodic: bool
) -> tuple[Octree, Contacts]:
    centre = np.full((1, 3), 0.5) if centres is None else np.random.default_rng(seed).random((centres, 3))

    def touched(corner: Ints, edge: float) -> Bools:
        near = np.zeros(len(corner), dtype=bool)
        for point in centre:
            below, above = corner * edge - point, point - (corner + 1) * edge
            nearest = np.maximum(np.maximum(below, above), 0)
            farthest = np.maximum(-below, -above)
            near |= ((nearest**2).sum(axis=1) <= radius**2) & (radius**2 <= (farthest**2).sum(axis=1))
        return near

    tree = build_octree(levels, touched, periodic, MAX_BLOCKS)
    return tree, contacts(tree)
