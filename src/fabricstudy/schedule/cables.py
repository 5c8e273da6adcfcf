"""Lines of midplanes, and the cables that a partition takes of them.

* A **line** holds the midplanes along one dimension, in the order of their cables; on a ring the last one is joined to
  the first. A **loop** is a subset of a line that can be closed by itself, where its cables are split; the whole line
  is one.
* A **torus** on a line takes no cable if it has one midplane there, else all cables among the members of the smallest
  loop that holds it: what lies between its midplanes and the way back can serve nobody else.
* A **mesh** takes the cables of the shortest arc that holds it, and on all of a line all cables.
* A partition takes this on each line through it, in each dimension by its `wrap`. Cables are taken whole, in both
  directions. A midplane of another partition is passed through, so it is in nobody's way.

So do the link chips of Blue Gene/P (Desai et al., *Improving Resource Availability by Relaxing Network Allocation
Constraints on Blue Gene/P*; IBM, *Blue Gene/P System Administration*); of Blue Gene/Q it is assumed. On all other
machines a ring stays one only where a partition spans the dimension, and partitions share no cables.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fabricstudy.core.errors import suggestion
from fabricstudy.core.model import ConfigError
from fabricstudy.structure.partitions import Geometry, PartitionSpace


@dataclass(frozen=True)
class Partition:
    """A cuboid of midplanes.

    Parameters
    ----------
    corner, shape : tuple of int
        First midplane and midplanes along each dimension; on a ring it may go on from the last midplane to the first.
    wrap : tuple of bool
        Whether it is a torus in each dimension. Where it has one midplane this says nothing, and is True.
    """

    corner: Geometry
    shape: Geometry
    wrap: tuple[bool, ...]

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

    Parameters
    ----------
    lengths : tuple of int
        Midplanes along each dimension.
    closed : tuple of bool
        Whether the lines of each dimension are rings.
    passes : bool
        Whether cables lead past midplanes of other partitions, so that a part of a line can close to a ring.
    loops : tuple of tuple of frozenset of int
        For each dimension, which subsets of a line close by themselves, beside the whole line.

    Examples
    --------
    Lines of four midplanes, as along the third dimension of Intrepid: a torus of two takes all four cables, a mesh one.

    >>> lines = Lines((4,), (True,), True, ((),))
    >>> lines.cables(Partition((0,), (2,), (True,))), lines.cables(Partition((0,), (2,), (False,)))
    ([0, 1, 2, 3], [0])
    """

    lengths: Geometry
    closed: tuple[bool, ...]
    has_pass_through: bool
    loops: tuple[tuple[frozenset[int], ...], ...]

    @property
    def midplanes(self) -> int:
        """Midplanes of the machine."""
        return math.prod(self.lengths)

    def along(self, dimension: int, first: int, side: int) -> list[int]:
        """Positions of a partition along a line."""
        return [(first + step) % self.lengths[dimension] for step in range(side)]

    def cables_along(self, dimension: int, first: int, side: int, wrap: bool) -> list[int]:
        """Positions of the cables that a partition takes of a line; cable p joins midplane p to the next one."""
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

    def number(self, midplane: Sequence[int]) -> int:
        """Return the number of a midplane by its coordinates; the last dimension counts fastest."""
        number = 0
        for length, coordinate in zip(self.lengths, midplane, strict=True):
            number = number * length + coordinate
        return number

    def midplanes_of(self, partition: Partition) -> list[int]:
        """Return the numbers of a partition's midplanes."""
        return sorted(self.number(midplane) for midplane in itertools.product(*self._sides(partition)))

    def _sides(self, partition: Partition) -> list[list[int]]:
        """Positions of a partition along each dimension."""
        sides = enumerate(zip(partition.corner, partition.shape, strict=True))
        return [self.along(dimension, first, side) for dimension, (first, side) in sides]

    def cables(self, partition: Partition) -> list[int]:
        """Return the numbers of the cables that a partition takes.

        The cable from a midplane to the next one along dimension d has the number of the midplane, plus d times all
        midplanes.
        """
        sides = self._sides(partition)
        numbers = []
        for dimension, (first, side, wrap) in enumerate(
            zip(partition.corner, partition.shape, partition.wrap, strict=True)
        ):
            taken = [*sides[:dimension], self.cables_along(dimension, first, side, wrap), *sides[dimension + 1 :]]
            numbers += [dimension * self.midplanes + self.number(place) for place in itertools.product(*taken)]
        return sorted(numbers)

    def corners(self, shape: Geometry, aligned: bool) -> list[Geometry]:
        """List the corners at which a cuboid may stand: multiples of its sides, or everywhere."""
        return list(itertools.product(*self.firsts(shape, aligned)))

    def firsts(self, shape: Geometry, aligned: bool) -> list[range]:
        """Return where a cuboid may begin along each dimension."""
        firsts = []
        for side, length, closed in zip(shape, self.lengths, self.closed, strict=True):
            around = closed and self.has_pass_through and not aligned and side < length
            firsts.append(range(0, length if around else length - side + 1, side if aligned else 1))
        return firsts

    def rings(self, shape: Geometry) -> tuple[bool, ...]:
        """Return in which dimensions a partition can be a torus; one midplane always is."""
        return tuple(
            side == 1 or (closed and (self.has_pass_through or side == length))
            for side, length, closed in zip(shape, self.lengths, self.closed, strict=True)
        )


def lines_of(space: PartitionSpace, loops: Mapping[str, Sequence[Sequence[int]]], names: Sequence[str]) -> Lines:
    """Return the lines of a machine.

    Parameters
    ----------
    loops : mapping
        For the name of a dimension, which positions of a line close by themselves.
    names : sequence of str
        Names of the dimensions.

    Raises
    ------
    ConfigError
        If a loop is no part of a line. The path begins below `loops`.
    """
    dimensions = space.dimensions[: space.outer]
    lengths = space.blocks
    outer_names = names[: len(lengths)]
    for name in loops:
        if name not in outer_names:
            raise ConfigError("no such dimension", suggestion(name, outer_names), (name,), name, code="unknown-value")
    for name, length in zip(outer_names, lengths, strict=True):
        for place, loop in enumerate(loops.get(name, ())):
            if len(set(loop)) < len(loop) or len(loop) < 2 or not set(loop) <= set(range(length)):
                problem = f"a loop has to be two or more of the {length} midplanes of a line, each once"
                remedy, path = f"take numbers from 0 to {length - 1}", (name, str(place))
                raise ConfigError(problem, remedy, path, list(loop), "invalid-value")
    closed_loops = tuple(tuple(map(frozenset, loops.get(name, ()))) for name in outer_names)
    return Lines(lengths, tuple(dimension.wrap for dimension in dimensions), space.wraps, closed_loops)


def partition_space(space: PartitionSpace, partition: Partition) -> PartitionSpace:
    """Return the machine as its partition is cabled, to ask it for the bisection."""
    outer = [
        replace(dimension, wrap=dimension.wrap and (wrap or side == 1))
        for dimension, wrap, side in zip(space.dimensions, partition.wrap, partition.shape, strict=False)
    ]
    keeps = replace(space, dimensions=(*outer, *space.dimensions[space.outer :]))
    return replace(keeps, wraps=True) if space.wraps else keeps
