"""Grids: torus, mesh, Blue Gene, hypercube, HyperX and express mesh.

Router `sum_i c_i prod_{j<i} k_j` has the coordinates c in a grid of lengths k: the first coordinate varies fastest.
Two routers are joined if they differ in one coordinate only, in which they

* are neighbours on the ring or line, or
* with a gap g differ by 1 + m g, m >= 1; so g = 1 joins all routers of a line (HyperX, Hamming graph).

Each dimension is a link class; parallel cables share a row.

With N routers, p nodes on each, and dimensions of lengths k:

* degree: 2 for each dimension of a torus (k >= 3), at most 2 + floor((k - 3) / g) with gap g;
* diameter: sum of floor(k/2) for rings, of k - 1 for lines, the number of dimensions with gap 1;
* mean distance of two coordinates, equal ones included: k/4 on a ring of even k, (k^2 - 1) / (4k) of odd k,
  (k^2 - 1) / (3k) on a line, 1 - 1/k with gap 1; over dimensions they add up.

References
----------
Dally, Towles: Principles and Practices of Interconnection Networks. Morgan Kaufmann 2004, chapter 5.
Chen et al.: The IBM Blue Gene/Q interconnection network and message unit. SC 2011.
Ahn et al.: HyperX: topology, routing, and packaging of efficient large-scale networks. SC 2009.
Jain et al.: Partitioning low-diameter networks to eliminate inter-job interference. IPDPS 2017.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from fabricstudy.core.arrays import Int32s
from fabricstudy.core.model import ConfigError, Flag, Whole, Written
from fabricstudy.core.quantities import Bandwidth, Latency

from .base import LATENCY_DESCRIPTION, EachClass, LinkClasses, NodesPerRouter, Topology, default_latency
from .dimension import Dimension
from .graph import LinkClass, Machine
from .requirements import MachineRequirements, halvings

MOST_DIMENSIONS = range(1, 7)
"""Numbers of dimensions of proposed grids."""

AXES = tuple("xyzwvutsrqponmlkjihgfedcba")
"""Names of the link classes; their number limits the dimensions of a grid."""

Midplanes = Annotated[Whole, Field(ge=1, le=64)]


@cache
def _ports(dimension: Dimension) -> int:
    return dimension.ports


def coordinates(lengths: tuple[int, ...]) -> Int32s:
    """Return the coordinates of each router, int32 [routers, dimensions]."""
    return np.indices(lengths[::-1], dtype=np.int32).reshape(len(lengths), -1)[::-1].T.copy()


def scalar_or_tuple(kind: Any, words: str, example: Any, of: str = "dimension") -> Any:
    """Return the type of a tuple of `kind`: one value for all, or a list with one per `of`."""
    named = {bool: {"type": "boolean"}, int: {"type": "integer", "minimum": 1}}
    item = named.get(type(example), {"type": "string", "examples": [example]})
    return Annotated[
        tuple[kind, ...],
        Field(min_length=1, max_length=len(AXES)),
        BeforeValidator(lambda value: value if isinstance(value, list | tuple) else (value,)),
        # Equal values are written as one, so that both notations have the same id.
        PlainSerializer(lambda values: values[:1] if len(set(values)) == 1 else values),
        WithJsonSchema({"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]}),
        Written(f"{words}, or a list with one per {of}"),
    ]


Wrap = scalar_or_tuple(Flag, "true or false", True)
Length = Annotated[Whole, Field(ge=1, le=100_000)]
Parallel = Annotated[Whole, Field(ge=1, le=10_000)]
Shape = Annotated[tuple[Length, ...], Field(min_length=1, max_length=len(AXES))]


class GridBandwidths(EachClass):
    """Bandwidth per direction of one cable of each dimension of a grid, or of each level of a tree below the top."""

    links_Bps: scalar_or_tuple(Bandwidth, "quantity in byte/second, like `1 GB/s`", "1 GB/s") = Field(  # type: ignore[valid-type]
        alias="links", description="between routers; one value, or one each"
    )
    host_Bps: Bandwidth = Field(alias="host", description="between a node and its router")


class GridLatencies(EachClass):
    """Propagation delay of one cable of each dimension of a grid, or of each level of a tree below the top."""

    links_ns: scalar_or_tuple(Latency, "quantity in nanosecond, like `40 ns`", "40 ns") = Field(  # type: ignore[valid-type]
        "40 ns",
        alias="links",
        validate_default=True,
        description="between routers; one value, or one each",
    )
    host_ns: Latency = default_latency("host", "between a node and its router")


def product_bandwidth(links: str, host: str, note: str = "") -> Any:
    """Return the key `bandwidth` of a product, with its published values as the default."""
    return Field(
        default_factory=lambda: GridBandwidths.model_validate({"links": links, "host": host}),
        description=f"bandwidth of a cable in one direction: {links}, host links {host}{note}",
    )


def classes_in_turn(names: Iterable[str], count: int, bandwidth: Any, latency: Any) -> LinkClasses:
    """Return the link classes of dimensions or levels, which have one quantity each, or one for all."""
    quantities = spread(bandwidth.links_Bps, count), spread(latency.links_ns, count)
    return tuple(map(LinkClass, names, *quantities)), LinkClass("host", bandwidth.host_Bps, latency.host_ns)


class GridConfig(Topology):
    """Base class of grids; a subclass defines `grid`."""

    traits = frozenset({"dimensions"})

    axis_names: ClassVar[tuple[str, ...]] = AXES
    """Link class of each dimension."""

    block: ClassVar[tuple[int, ...] | None] = None
    """Routers of a building block of partitions along the first dimensions; blocks span the others; default: 1."""

    partitions_wrap: ClassVar[bool] = False
    """True if partitions have the rings of the machine also in dimensions that they do not span."""

    nodes_per_router: NodesPerRouter = 1
    bandwidth: GridBandwidths = Field(description="bandwidth of a cable in one direction; one value or one per class")
    latency: GridLatencies = Field(default_factory=GridLatencies, description=LATENCY_DESCRIPTION)

    @property
    def grid(self) -> tuple[Dimension, ...]:
        """Dimensions of the grid."""
        raise NotImplementedError

    @classmethod
    def grids(cls, wanted: MachineRequirements) -> Iterator[tuple[dict[str, Any], tuple[Dimension, ...]]]:
        """Return the study-file keys, without nodes, and the dimensions of grids that may fit."""
        return iter(())

    @classmethod
    def configurations(cls, wanted: MachineRequirements) -> Iterator[dict[str, Any]]:
        for written, grid in cls.grids(wanted):
            ports = sum(map(_ports, grid))
            for nodes in wanted.shares(math.prod(dimension.length for dimension in grid), wanted.radix - ports):
                yield written | {"nodes_per_router": nodes}

    @property
    def routers(self) -> int:
        return math.prod(dimension.length for dimension in self.grid)

    @property
    def nodes(self) -> int:
        return self.routers * self.nodes_per_router

    @property
    def cables(self) -> int:
        routers = self.routers
        return sum(routers // dimension.length * dimension.cables for dimension in self.grid)

    @property
    def typical_hops(self) -> float:
        """Approximate mean hops between routers: the sum over dimensions."""
        return sum(dimension.typical_hops for dimension in self.grid)

    @property
    def class_names(self) -> tuple[str, ...]:
        """Link classes: one per dimension first, which has the slowest cables of the dimension."""
        return self.axis_names[: len(self.grid)]

    @property
    def link_bandwidths_Bps(self) -> tuple[float, ...]:
        """Bandwidth of one cable of each dimension, the slowest if they differ."""
        return spread(self.bandwidth.links_Bps, len(self.class_names))[: len(self.grid)]

    def _check(self) -> None:
        classes = len(self.class_names)
        check_length(self.bandwidth.links_Bps, classes, ("bandwidth", "links"), "link classes")
        check_length(self.latency.links_ns, classes, ("latency", "links"), "link classes")

    def build(self) -> Machine:
        """Build a grid with one link class per dimension, and rows by dimension.

        Examples
        --------
        >>> from fabricstudy.machine.grids import TorusConfig
        >>> machine = TorusConfig.model_validate({"shape": [8, 8, 8], "bandwidth": "425 MB/s"}).build()
        >>> machine.routers, machine.links, machine.radix
        (512, 3072, 7)
        >>> machine.coordinates[9].tolist()
        [1, 1, 0]
        """
        grid = self.grid
        lengths = tuple(dimension.length for dimension in grid)
        router = np.arange(math.prod(lengths), dtype=np.int32).reshape(lengths[::-1])
        cables = []
        for number, dimension in enumerate(grid):
            along = np.moveaxis(router, len(grid) - 1 - number, 0)
            cables.append(np.stack([along[ends].reshape(-1) for ends in dimension.pairs()]))
        rows = [cables_along.shape[1] for cables_along in cables]
        return self.assemble(
            np.concatenate(cables, axis=1),
            np.repeat(np.arange(len(rows)), rows),
            np.repeat([dimension.parallel for dimension in grid], rows),
            classes_in_turn(self.class_names, len(self.class_names), self.bandwidth, self.latency),
            coordinates=coordinates(lengths),
            dimensions=grid,
        )


class ShapedGrid(GridConfig):
    """Base class of grids with dimensions of one kind; a subclass defines `line` or `grid`."""

    least_length: ClassVar[int] = 2
    """Minimum length of a dimension of proposed grids."""

    shape: Shape
    links_per_pair: scalar_or_tuple(Parallel, "whole number", 1) = Field(  # type: ignore[valid-type]
        (1,), description="parallel cables between joined routers; one value, or one per dimension"
    )

    @staticmethod
    def line(length: int) -> Dimension:
        """Return a dimension of this length."""
        return Dimension(length)

    @classmethod
    def grids(cls, wanted: MachineRequirements) -> Iterator[tuple[dict[str, Any], tuple[Dimension, ...]]]:
        for shape in wanted.shapes(MOST_DIMENSIONS, cls.least_length):
            yield {"shape": list(shape)}, tuple(map(cls.line, shape))

    @classmethod
    def configurations(cls, wanted: MachineRequirements) -> Iterator[dict[str, Any]]:
        # Single cables, or parallel ones on all free ports or a half of them.
        for written, grid in cls.grids(wanted):
            ports = sum(map(_ports, grid))
            for nodes in wanted.shares(math.prod(dimension.length for dimension in grid), wanted.radix - ports):
                for parallel in sorted({1, *halvings((wanted.radix - nodes) // ports)[:2]}):
                    in_parallel = {"links_per_pair": parallel} if parallel > 1 else {}
                    yield written | {"nodes_per_router": nodes} | in_parallel

    @property
    def lines(self) -> tuple[Dimension, ...]:
        """Dimensions of the grid with single cables."""
        return tuple(map(self.line, self.shape))

    @property
    def grid(self) -> tuple[Dimension, ...]:
        check_length(self.links_per_pair, len(self.shape), ("links_per_pair",))
        counts = spread(self.links_per_pair, len(self.shape))
        return tuple(
            replace(line, parallel=line.parallel * count) for line, count in zip(self.lines, counts, strict=True)
        )


def rings(lengths: Sequence[int], wrap: tuple[bool, ...], pair_cables: int = 1) -> tuple[Dimension, ...]:
    """Return dimensions of these lengths; `wrap` selects rings or lines: one value for all, or one for each."""
    check_length(wrap, len(lengths), ("wrap",))
    closed = zip(lengths, spread(wrap, len(lengths)), strict=True)
    return tuple(
        Dimension(length, is_ring, parallel=pair_cables if is_ring and length == 2 else 1) for length, is_ring in closed
    )


def spread(values: tuple[Any, ...], dimensions: int) -> tuple[Any, ...]:
    """Return one value per dimension."""
    return values * dimensions if len(values) == 1 else values


def check_length(values: tuple[Any, ...], wanted: int, path: tuple[str, ...], of: str = "dimensions") -> None:
    """Reject a number of values that is neither 1 nor `wanted`."""
    if len(values) not in (1, wanted):
        problem = f"{len(values)} values for {wanted} {of}"
        raise ConfigError(problem, "write one for all, or one for each", path, list(values), "out-of-range")
