"""Octrees of blocks as in adaptive mesh refinement: blocks that share a face differ by at most one level.

The domain is a cube of edge 1. A block of level l has edge 2^-l; its corner is counted in its own edges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fabricstudy.core.arrays import Bools, Ints

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

    Parameters
    ----------
    touched : callable
        Returns which blocks are to be refined, bool [blocks], for their corners and their edge.

    Raises
    ------
    TooManyBlocks
        If a level has more than `max_blocks` blocks.
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
    order = np.argsort(_morton(tree.finest_corner, int(tree.level.max())), kind="stable")
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


def _morton(corner: Ints, bits: int) -> Ints:
    """Interleave the bits of coordinates."""
    key = np.zeros(len(corner), dtype=np.int64)
    for bit in reversed(range(bits)):
        for axis in range(3):
            key = key << 1 | corner[:, axis] >> bit & 1
    return key
