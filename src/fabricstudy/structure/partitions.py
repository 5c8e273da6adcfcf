"""Partitions of grid machines and their bisections.

Partitions are cuboids of building blocks: midplanes of a Blue Gene, else single routers. Literature:
Oltchik and Schwartz, *Network Partitioning and Avoidable Contention*; Chen et al., SC 2012 (Blue Gene/Q); Ahn et al.,
SC 2009 (HyperX); Aroca and Fernandez Anta, *IEEE TPDS* 25 (2014), on bisections of product networks.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.machine.dimension import Dimension
from fabricstudy.machine.grid import GridConfig

Geometry = tuple[int, ...]
"""Building blocks along each dimension."""

MAX_GEOMETRIES = 1_000_000


@dataclass(frozen=True)
class PartitionSpace:
    """A machine to be partitioned."""

    dimensions: tuple[Dimension, ...]
    block: tuple[int, ...]
    """Routers of a building block along each dimension."""
    outer: int
    """Number of leading dimensions along which partitions differ; the others lie within each building block."""
    wraps: bool
    """True if partitions have the rings of the machine, as on a Blue Gene; else only dimensions that they span."""
    bandwidths_Bps: tuple[float, ...]
    """Bandwidth of a cable of each dimension in one direction."""
    nodes_per_router: int = 1

    @property
    def blocks(self) -> Geometry:
        """Building blocks of the machine along the outer dimensions."""
        lines = zip(self.dimensions[: self.outer], self.block, strict=False)
        return tuple(dimension.length // routers for dimension, routers in lines)

    @cached_property
    def rotation_invariant(self) -> bool:
        """True if the bisection is independent of orientation; then the longest side is written first."""
        outer = self.dimensions[: self.outer]
        facts = zip(outer, self.block, self.bandwidths_Bps, strict=False)
        alike = len({(line.wrap, line.gap, line.parallel, *sizes) for line, *sizes in facts}) == 1
        return alike and (self.wraps or not any(line.wrap for line in outer))

    @property
    def block_nodes(self) -> int:
        return math.prod(self.block) * self.nodes_per_router

    def nodes(self, geometry: Geometry) -> int:
        return math.prod(geometry) * self.block_nodes

    def longest(self, geometry: Geometry) -> int:
        """Return the routers along the longest dimension of a partition."""
        return max(dimension.length for dimension in self.partition(geometry))

    def bisection_links(self, geometry: Geometry) -> int:
        """Return the number of cables across the best flat cut of a partition into halves.

        The cut is across one dimension; if its length is odd, the middle plane is cut across another dimension, and so
        on. This is the bisection of tori, meshes and products of cliques in the literature (2 N / L on a Blue Gene/Q, N
        nodes, L the longest dimension; one clique halved on a HyperX), and an upper bound on an express mesh.
        """
        return int(self._bisect(geometry, (1.0,) * len(self.dimensions)))

    def bisection_Bps(self, geometry: Geometry) -> float:
        """Return the capacity of the best flat cut, in one direction."""
        return self._bisect(geometry, self.bandwidths_Bps)

    def _bisect(self, geometry: Geometry, weights: tuple[float, ...]) -> float:
        lines = zip(self.partition(geometry), weights, strict=True)
        return _flat_cut(tuple(sorted((line.length, line.cut() * weight) for line, weight in lines if line.length > 1)))

    def partition(self, geometry: Geometry) -> tuple[Dimension, ...]:
        blocks = (*geometry, *(1,) * (len(self.dimensions) - self.outer))
        lengths = [count * routers for count, routers in zip(blocks, self.block, strict=True)]
        return tuple(
            replace(line, length=length, wrap=line.wrap and (self.wraps or length == line.length))
            for line, length in zip(self.dimensions, lengths, strict=True)
        )

    def geometries(self) -> list[Geometry]:
        """Return all distinct cuboids that fit; raises FabricstudyError if there are more than a million."""
        blocks = self.blocks
        if math.prod(blocks) > MAX_GEOMETRIES:
            raise FabricstudyError(f"{math.prod(blocks):,} cuboids are too many; the limit is {MAX_GEOMETRIES:,}")
        if not self.rotation_invariant:
            return list(itertools.product(*(range(1, length + 1) for length in blocks)))
        return list(_descending(tuple(sorted(blocks, reverse=True)), max(blocks)))

    def canonical(self, geometry: Sequence[int]) -> Geometry:
        """Return a geometry with all dimensions, sorted if rotation invariant; raises FabricstudyError if too large."""
        full = (*geometry, *(1,) * (self.outer - len(geometry)))
        blocks = self.blocks
        if self.rotation_invariant:
            full, blocks = tuple(sorted(full, reverse=True)), tuple(sorted(blocks, reverse=True))
        if len(full) != len(blocks) or any(not 1 <= side <= most for side, most in zip(full, blocks, strict=True)):
            machine, partition = "x".join(map(str, blocks)), "x".join(map(str, geometry))
            raise FabricstudyError(f"the partition {partition} does not fit into {machine}; use smaller sides")
        return full


def _descending(most: Geometry, before: int) -> Iterable[Geometry]:
    """Yield geometries of non-increasing sides, each at most that of `most` and `before`."""
    if not most:
        yield ()
        return
    for side in range(1, min(most[0], before) + 1):
        for rest in _descending(most[1:], side):
            yield (side, *rest)


@cache
def _flat_cut(dimensions: tuple[tuple[int, float], ...]) -> float:
    """Return the least flat cut of a product of lines, given by length and capacity across the middle of one line."""
    best = math.inf if dimensions else 0.0
    for number, (length, cut) in enumerate(dimensions):
        rest = dimensions[:number] + dimensions[number + 1 :]
        middle = _flat_cut(rest) if length % 2 else 0.0
        best = min(best, cut * math.prod(length for length, _ in rest) + middle)
    return best


@dataclass(frozen=True)
class SizeChoice:
    """Geometries of one size."""

    blocks: int
    nodes: int
    best: Geometry
    worst: Geometry
    """Geometries of the largest and least bisection; allowed ones are preferred as best."""
    production: Geometry | None
    """The allowed geometry (of several the one of least bisection), if there is a list."""
    geometries: int
    """Number of geometries."""
    misordered: int
    """Pairs in which the geometry with the shorter longest dimension has no larger bisection (none on a Blue Gene/Q by
    Corollary 3.4 of Oltchik and Schwartz)."""


def geometries_by_size(space: PartitionSpace, allowed: Iterable[Sequence[int]] | None = None) -> list[SizeChoice]:
    """Return the best, the worst and the allowed geometry of each size.

    `allowed` is the list of a scheduler, which limits the sizes; default: all cuboids. Raises FabricstudyError if there
    are too many geometries, or an allowed one does not fit.

    Examples
    --------
    >>> from fabricstudy.machine.base import published_machine
    >>> mira = partition_space(published_machine("mira"))
    >>> four = geometries_by_size(mira, [(4,)])[0]
    >>> four.production, four.best, [mira.bisection_links(geometry) for geometry in (four.production, four.best)]
    ((4, 1, 1, 1), (2, 2, 1, 1), [256, 512])
    """
    by_size: dict[int, list[Geometry]] = {}
    for geometry in space.geometries():
        by_size.setdefault(math.prod(geometry), []).append(geometry)
    listed: dict[int, list[Geometry]] = {}
    for geometry in () if allowed is None else map(space.canonical, allowed):
        listed.setdefault(math.prod(geometry), []).append(geometry)
    return [
        _choice(space, by_size[size], listed.get(size, ())) for size in sorted(by_size if allowed is None else listed)
    ]


def _choice(space: PartitionSpace, geometries: Sequence[Geometry], listed: Sequence[Geometry]) -> SizeChoice:
    def rank(geometry: Geometry) -> tuple[float, ...]:
        return (space.bisection_Bps(geometry), -space.longest(geometry), *(-side for side in geometry))

    most = max(map(space.bisection_Bps, geometries))
    return SizeChoice(
        blocks=math.prod(geometries[0]),
        nodes=space.nodes(geometries[0]),
        best=max([geometry for geometry in listed if space.bisection_Bps(geometry) == most] or geometries, key=rank),
        worst=min(geometries, key=rank),
        production=min(listed, key=rank) if listed else None,
        geometries=len(geometries),
        misordered=_misordered(space, geometries),
    )


def _misordered(space: PartitionSpace, geometries: Sequence[Geometry]) -> int:
    by_longest: dict[int, list[int]] = {}
    for geometry in geometries:
        by_longest.setdefault(space.longest(geometry), []).append(space.bisection_links(geometry))
    ordered = [by_longest[longest] for longest in sorted(by_longest)]
    return sum(short <= long for pair in itertools.combinations(ordered, 2) for short, long in itertools.product(*pair))


def partition_space(machine: GridConfig) -> PartitionSpace:
    dimensions = machine.grid
    outer = len(dimensions) if machine.block is None else len(machine.block)
    inner = tuple(dimension.length for dimension in dimensions[outer:])
    return PartitionSpace(
        dimensions=dimensions,
        block=(*(machine.block or (1,) * outer), *inner),
        outer=outer,
        wraps=machine.partitions_wrap,
        bandwidths_Bps=machine.link_bandwidths_Bps,
        nodes_per_router=machine.nodes_per_router,
    )
