"""Guard cells of an adaptively refined mesh, as in FLASH.

The mesh is an octree of blocks; those that share a face differ by at most one level. The domain is a cube of edge 1. A
block of level l has edge 2^-l; its corner is counted in its own edges.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Bools, Integers, Ints
from fabricstudy.core.model import ConfigError, Flag, Number, Whole, model_check
from fabricstudy.core.quantities import Size
from fabricstudy.workload.mapping.curve import morton
from fabricstudy.workload.pattern.base import MessagePattern, Sends, TrafficEstimate, one_phase, pair_sums

_DIRECTIONS = np.concatenate([np.eye(3, dtype=np.int64), -np.eye(3, dtype=np.int64)])
_OCTANTS = np.indices((2, 2, 2)).reshape(3, -1).T


class TooManyBlocks(ValueError):
    """A tree would have more blocks than allowed."""


@dataclass(frozen=True, eq=False)
class Octree:
    """The blocks of a tree that are not refined, in Morton order, those of a level at their first octants."""

    level: Ints
    """Level of each block, int64 [blocks]."""
    corner: Ints
    """Coordinates of its lowest corner in edges of the block, int64 [blocks, 3]."""
    periodic: bool

    @property
    def finest_corner(self) -> Ints:
        """Corners in edges of the finest level, int64 [blocks, 3]."""
        return self.corner << (int(self.level.max()) - self.level)[:, None]


@dataclass(frozen=True, eq=False)
class Contacts:
    """Faces and quarters of faces through which blocks touch, in both directions; int64 [contacts] each."""

    source: Ints
    destination: Ints
    """Blocks by their position in the tree."""
    quarters: Ints
    """Area in quarters of the face of the larger block: 4 between blocks of one level, else 1."""


def build_octree(
    levels: tuple[int, int], touched: Callable[[Ints, float], Bools], periodic: bool, max_blocks: int
) -> Octree:
    """Refine all blocks to the first of `levels`, and touched ones to the second; then balance the tree.

    `touched` returns which blocks are to be refined, bool [blocks], for their corners and their edge. Raises
    TooManyBlocks if a level has more than `max_blocks` blocks.
    """
    least, most = levels
    blocks, refined = np.zeros((1, 3), dtype=np.int64), []
    for level in range(most):
        refined.append(blocks if level < least else blocks[touched(blocks, 0.5**level)])
        blocks = _children(refined[-1])
        if len(blocks) > max_blocks:
            raise TooManyBlocks
    # A refined block has neighbours of its own level, so their parents are refined.
    for level in range(most - 1, 0, -1):
        near = (refined[level] + direction for direction in _DIRECTIONS)
        beside = [_inside(corner, level, periodic)[0] for corner in near]
        parents = np.concatenate([refined[level - 1], *(corner >> 1 for corner in [refined[level], *beside])])
        refined[level - 1] = parents[np.unique(_key(parents, level - 1), return_index=True)[1]]
    level_parts, corner_parts = [], []
    for level in range(most + 1):
        present = _children(refined[level - 1]) if level else np.zeros((1, 3), dtype=np.int64)
        if level < most:
            present = present[~np.isin(_key(present, level), _key(refined[level], level))]
        level_parts.append(np.full(len(present), level))
        corner_parts.append(present)
    tree = Octree(np.concatenate(level_parts), np.concatenate(corner_parts), periodic)
    order = np.argsort(morton(tree.finest_corner), kind="stable")
    return Octree(tree.level[order], tree.corner[order], periodic)


def contacts(tree: Octree) -> Contacts:
    """Return the contacts of all blocks of a balanced tree."""
    parts = []
    for level in range(int(tree.level.min()), int(tree.level.max()) + 1):
        block = np.flatnonzero(tree.level == level)
        for direction in _DIRECTIONS:
            corner, inside = _inside(tree.corner[block] + direction, level, tree.periodic)
            source, same = block[inside], _find(tree, level, corner)
            parts.append((source[same >= 0], same[same >= 0], 4))
            coarser = _find(tree, level - 1, corner >> 1)
            fine, coarse = source[coarser >= 0], coarser[coarser >= 0]
            parts += [(fine, coarse, 1), (coarse, fine, 1)]
    source, destination = (np.concatenate([part[end] for part in parts]) for end in (0, 1))
    return Contacts(source, destination, np.repeat([part[2] for part in parts], [len(part[0]) for part in parts]))


def _find(tree: Octree, level: int, corner: Ints) -> Ints:
    """Position of each unrefined block of a level, or -1."""
    block = np.flatnonzero(tree.level == level)
    if not len(block):
        return np.full(len(corner), -1)
    keys = _key(tree.corner[block], level)
    order = np.argsort(keys)
    wanted = _key(corner, level)
    slot = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(block) - 1)]
    return np.where(keys[slot] == wanted, block[slot], -1)


def _inside(corner: Ints, level: int, periodic: bool) -> tuple[Ints, Bools]:
    """Corners in the domain, wrapped around if it is periodic, and the mask of them."""
    edge = 1 << level
    inside: Bools = np.all(periodic | ((corner >= 0) & (corner < edge)), axis=1)
    return corner[inside] % edge, inside


def _children(corner: Ints) -> Ints:
    return (2 * corner[:, None] + _OCTANTS).reshape(-1, 3)


def _key(corner: Ints, level: int) -> Ints:
    key: Ints = (corner[:, 0] << 2 * level) + (corner[:, 1] << level) + corner[:, 2]
    return key


MAX_BLOCKS = 2**21
"""Maximum blocks of a level."""

Level = Annotated[Whole, Field(ge=0, le=12)]


class RefinedBlocks(MessagePattern, kind="refined-blocks"):
    """Halo exchange of adaptively refined blocks: guard cells in FLASH with PARAMESH (MacNeice et al., CPC 2000).

    An octree refines a cube to the first of `levels`, and to the second where a block touches the surface of a sphere;
    blocks that share a face differ by at most one level. Each block has `cells`^3 cells, and sends `guard` layers of
    them through each face: a whole face to a block of its level, and a quarter of the coarser block's face to a coarser
    block (restricted) or to each of four finer ones. A step is a phase. Blocks in Morton order are divided evenly among
    the ranks; those of one rank send each other nothing. Guard cells at edges and corners, flux corrections, parent
    blocks and regridding are not modelled.
    """

    has_coordinates = True
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

    @model_check
    def _levels_ascend(self) -> None:
        if self.levels[0] > self.levels[1]:
            remedy = "write the minimum first"
            raise ConfigError("the levels descend", remedy, ("levels",), list(self.levels), "out-of-range")

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

    def coordinates(self, ranks: int) -> Integers:
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
        source, destination, quarters = rank[touching.source], rank[touching.destination], touching.quarters
        if self.aggregate:
            source, destination, total = pair_sums(source, destination, quarters, ranks)
            quarters = total.astype(np.int64)
        apart = source != destination
        quarter_bytes = (self.cells // 2) ** 2 * self.guard * int(self.message_bytes)
        return source[apart], destination[apart], quarters[apart] * quarter_bytes


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
