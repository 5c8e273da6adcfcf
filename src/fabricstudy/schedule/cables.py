"""Lines of midplanes, and the cables of each line that a partition occupies.

* A **line** holds the midplanes along one dimension, in the order of their cables; on a ring the last one is joined to
  the first. A **loop** is a subset of a line that can be closed by itself, where its cables are split; the whole line
  is a loop.
* A **torus** on a line occupies no cable if it has one midplane there, else all cables among the members of the
  smallest loop that holds it: cables between its midplanes and those of the way back can serve no other partition.
* A **mesh** occupies the cables of the shortest arc that holds it, and on all of a line all cables.
* A partition occupies these cables on each line through it, in each dimension by its `wrap`, whole and in both
  directions. Its cables pass midplanes of other partitions without blocking them.

This models the link chips of Blue Gene/P (Desai et al., *Improving Resource Availability by Relaxing Network Allocation
Constraints on Blue Gene/P*; IBM, *Blue Gene/P System Administration*); of Blue Gene/Q it is assumed. On all other
machines a partition has a ring only in a dimension that it spans, and partitions share no cables.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fabricstudy.core.errors import suggestion
from fabricstudy.core.model import ConfigError
from fabricstudy.structure.partitions import Geometry, PartitionSpace


@dataclass(frozen=True)
class Partition:
    """A cuboid of midplanes: the first along each dimension, and their number.

    On a ring it may continue from the last midplane at the first.
    """

    corner: Geometry
    shape: Geometry
    wrap: tuple[bool, ...]
    """Whether it is a torus in each dimension; True where it has one midplane."""

    @property
    def is_torus(self) -> bool:
        """Return whether it is a torus in each dimension."""
        return all(self.wrap)

    def __str__(self) -> str:
        closed = any(wrap and side > 1 for wrap, side in zip(self.wrap, self.shape, strict=True))
        rings = "torus" if self.is_torus else "torus in some dimensions" if closed else "mesh"
        return f"{'x'.join(map(str, self.shape))} at {','.join(map(str, self.corner))} ({rings})"


@dataclass(frozen=True)
class Lines:
    """All lines of a machine.

    Examples
    --------
    Lines of four midplanes, as along the third dimension of Intrepid: a torus of two takes all four cables, a mesh one.

    >>> lines = Lines((4,), (True,), True, ((),))
    >>> lines.cables(Partition((0,), (2,), (True,))), lines.cables(Partition((0,), (2,), (False,)))
    ([0, 1, 2, 3], [0])
    """

    lengths: Geometry
    closed: tuple[bool, ...]
    """Midplanes along each dimension, and whether its lines are rings."""
    has_pass_through: bool
    """Whether cables lead past midplanes of other partitions, so that a part of a line can close to a ring."""
    loops: tuple[tuple[frozenset[int], ...], ...]
    """Subsets of the lines of each dimension that are loops, without the whole line."""

    @property
    def midplanes(self) -> int:
        """Midplanes of the machine."""
        return math.prod(self.lengths)

    def along(self, dimension: int, first: int, side: int) -> list[int]:
        """Return the positions of a partition along a line."""
        return [(first + step) % self.lengths[dimension] for step in range(side)]

    def cables_along(self, dimension: int, first: int, side: int, wrap: bool) -> list[int]:
        """Return the cables of a line that a partition occupies; cable p joins midplane p to the next one."""
        length = self.lengths[dimension]
        if side == 1:
            return []
        every = range(length if self.closed[dimension] else length - 1)
        members = self.along(dimension, first, side)
        if not wrap:
            return list(every) if side == length else members[:-1]
        whole = frozenset(range(length))
        loop = min((loop for loop in (*self.loops[dimension], whole) if loop.issuperset(members)), key=len)
        return [cable for cable in every if cable in loop and (cable + 1) % length in loop]

    def midplanes_of(self, partition: Partition) -> list[int]:
        """Return the numbers of a partition's midplanes, ascending; the last dimension counts fastest."""
        return sorted(self._numbers(self._sides(partition)))

    def cables(self, partition: Partition) -> list[int]:
        """Return the numbers of the cables that a partition occupies, ascending.

        The cable from a midplane to the next one along dimension d has the number of the midplane, plus d times all
        midplanes.
        """
        sides, numbers = self._sides(partition), list[int]()
        steps = zip(partition.corner, partition.shape, partition.wrap, strict=True)
        for dimension, (first, side, wrap) in enumerate(steps):
            along = self.cables_along(dimension, first, side, wrap)
            midplanes = self._numbers([*sides[:dimension], along, *sides[dimension + 1 :]])
            numbers += [dimension * self.midplanes + midplane for midplane in midplanes]
        return sorted(numbers)

    def _sides(self, partition: Partition) -> list[list[int]]:
        """Return the positions of a partition along each dimension."""
        corner_and_shape = enumerate(zip(partition.corner, partition.shape, strict=True))
        return [self.along(dimension, first, side) for dimension, (first, side) in corner_and_shape]

    def _numbers(self, sides: Sequence[Sequence[int]]) -> list[int]:
        """Return the numbers of the midplanes with these positions along each dimension."""
        numbers: list[int] = np.ravel_multi_index(np.ix_(*sides), self.lengths).ravel().tolist()
        return numbers

    def corners(self, shape: Geometry, aligned: bool) -> list[Geometry]:
        """Return the corners of a cuboid that are possible: all, or if `aligned` the multiples of its sides."""
        return list(itertools.product(*self.firsts(shape, aligned)))

    def firsts(self, shape: Geometry, aligned: bool) -> list[range]:
        """Return the possible first positions of a cuboid along each dimension."""
        firsts = []
        for side, length, closed in zip(shape, self.lengths, self.closed, strict=True):
            around = closed and self.has_pass_through and not aligned and side < length
            firsts.append(range(0, length if around else length - side + 1, side if aligned else 1))
        return firsts

    def rings(self, shape: Geometry) -> tuple[bool, ...]:
        """Return for each dimension whether a partition can be a torus; one midplane always is."""
        return tuple(
            side == 1 or (closed and (self.has_pass_through or side == length))
            for side, length, closed in zip(shape, self.lengths, self.closed, strict=True)
        )


def lines_of(space: PartitionSpace, loops: Mapping[str, Sequence[Sequence[int]]], names: Sequence[str]) -> Lines:
    """Return the lines of a machine whose dimensions have these names; `loops` are positions on a line by dimension.

    Raises ConfigError with the path of a loop that is not part of a line.
    """
    dimensions = space.dimensions[: space.outer]
    lengths = space.blocks
    outer_names = names[: len(lengths)]
    for name in loops:
        if name not in outer_names:
            remedy = suggestion(name, outer_names)
            raise ConfigError("no such dimension", remedy, ("loops", name), name, code="unknown-value")
    for name, length in zip(outer_names, lengths, strict=True):
        for number, loop in enumerate(loops.get(name, ())):
            if len(set(loop)) < len(loop) or len(loop) < 2 or not set(loop) <= set(range(length)):
                problem = f"a loop consists of two or more of the {length} midplanes of a line, each once"
                remedy, path = f"use numbers from 0 to {length - 1}", ("loops", name, str(number))
                raise ConfigError(problem, remedy, path, list(loop), "invalid-value")
    closed_loops = tuple(tuple(map(frozenset, loops.get(name, ()))) for name in outer_names)
    return Lines(lengths, tuple(dimension.wrap for dimension in dimensions), space.wraps, closed_loops)


def cabled_space(space: PartitionSpace, partition: Partition) -> PartitionSpace:
    """Return the machine with the rings of a partition, for the partition's bisection."""
    outer = [
        replace(dimension, wrap=dimension.wrap and (wrap or side == 1))
        for dimension, wrap, side in zip(space.dimensions, partition.wrap, partition.shape, strict=False)
    ]
    return replace(space, dimensions=(*outer, *space.dimensions[space.outer :]))
