"""Grids of routers: torus, mesh, hypercube, HyperX and express mesh.

Routers are numbered with the first dimension fastest; nodes stand in the order of their routers. The cables of
each dimension are a link class of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from ..base import ConfigError, Flag, Whole, Written
from ..units import Bandwidth, Latency
from .base import EachClass, NodesPerRouter, Topology

# Names of the link classes; also the most dimensions a grid can have.
AXES = tuple("xyzwvutsrqponmlkjihgfedcba")


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else (value,)


def _shortest(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Keep one of equal values, so that both ways of writing get the same id."""
    return values[:1] if len(set(values)) == 1 else values


def _per_dimension(kind: Any, words: str, example: Any) -> Any:
    item = {"type": "boolean"} if isinstance(example, bool) else {"type": "string", "examples": [example]}
    return Annotated[
        tuple[kind, ...],
        Field(min_length=1, max_length=len(AXES)),
        BeforeValidator(_as_list),
        PlainSerializer(_shortest),
        WithJsonSchema({"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]}),
        Written(f"{words}, or a list of one a dimension"),
    ]


Wrap = _per_dimension(Flag, "true or false", True)
Length = Annotated[Whole, Field(ge=2, le=100_000)]
Shape = Annotated[tuple[Length, ...], Field(min_length=1, max_length=len(AXES))]


class GridBandwidths(EachClass):
    """Bandwidth per direction of one cable of a grid, whose dimensions are its link classes."""

    links_Bps: _per_dimension(Bandwidth, "quantity in byte/second, like `1 GB/s`", "1 GB/s") = Field(  # type: ignore[valid-type]
        alias="links", description="between routers; one value, or one a dimension"
    )
    host_Bps: Bandwidth = Field(alias="host", description="between a node and its router")


class GridLatencies(EachClass):
    """Time a bit takes along one cable of a grid, whose dimensions are its link classes."""

    links_ns: _per_dimension(Latency, "quantity in nanosecond, like `40 ns`", "40 ns") = Field(  # type: ignore[valid-type]
        "40 ns", alias="links", validate_default=True, description="between routers; one value, or one a dimension"
    )
    host_ns: Latency = Field("40 ns", alias="host", validate_default=True, description="between a node and its router")


@dataclass(frozen=True)
class Grid:
    """The cables of a grid.

    Parameters
    ----------
    lengths : tuple of int
        Routers along each dimension.
    wraps : tuple of bool
        Whether the dimension closes to a ring.
    gap : int, optional
        Express cables in all dimensions: coordinates that differ by 1 or by 1 + m * gap are joined.
    pair_cables : int, optional
        Cables between the two routers of a wrapped dimension of length 2.
    names : tuple of str, optional
        Link class of each dimension.
    """

    lengths: tuple[int, ...]
    wraps: tuple[bool, ...]
    gap: int | None = None
    pair_cables: int = 1
    names: tuple[str, ...] = AXES

    @property
    def routers(self) -> int:
        """Number of routers."""
        return math.prod(self.lengths)

    @property
    def cables(self) -> int:
        """Number of cables, parallel ones counted each."""
        lines = zip(self.lengths, self.wraps, strict=True)
        return sum(self.routers // length * self._along(length, wrap) for length, wrap in lines)

    def _along(self, length: int, wrap: bool) -> int:
        """Cables of one line or ring of routers."""
        if wrap:
            return self.pair_cables if length == 2 else length
        if self.gap is None:
            return length - 1
        spans = (length - 2) // self.gap
        return (length - 1) * (1 + spans) - self.gap * spans * (spans + 1) // 2


class GridConfig(Topology):
    """What all grids have; a member gives its `grid`."""

    traits: ClassVar[frozenset[str]] = frozenset({"dimensions"})

    nodes_per_router: NodesPerRouter = 1
    bandwidth: GridBandwidths = Field(description="bandwidth of a cable in one direction; one value or one a class")
    latency: GridLatencies = Field(
        default_factory=GridLatencies, description="latency of a cable; one value or one a class"
    )

    @property
    def grid(self) -> Grid:
        """The cables between its routers."""
        raise NotImplementedError

    @property
    def routers(self) -> int:
        """Number of routers."""
        return self.grid.routers

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.routers * self.nodes_per_router

    @property
    def cables(self) -> int:
        """Number of cables between routers, parallel ones counted each."""
        return self.grid.cables

    @property
    def link_bandwidths_Bps(self) -> tuple[float, ...]:
        """Bandwidth of a cable of each dimension."""
        return spread(self.bandwidth.links_Bps, len(self.grid.lengths))

    @property
    def link_latencies_ns(self) -> tuple[float, ...]:
        """Latency of a cable of each dimension."""
        return spread(self.latency.links_ns, len(self.grid.lengths))

    def _check(self) -> None:
        dimensions = len(self.grid.lengths)
        check_length(self.bandwidth.links_Bps, dimensions, ("bandwidth", "links"))
        check_length(self.latency.links_ns, dimensions, ("latency", "links"))


def spread(values: tuple[Any, ...], dimensions: int) -> tuple[Any, ...]:
    """Repeat one value for all dimensions."""
    return values * dimensions if len(values) == 1 else values


def check_length(values: tuple[Any, ...], dimensions: int, path: tuple[str, ...]) -> None:
    """Refuse values that are neither one for all dimensions nor one for each."""
    if len(values) not in (1, dimensions):
        problem = f"{len(values)} values for {dimensions} dimensions"
        raise ConfigError(problem, "give one for all, or one a dimension", path, list(values))


class TorusConfig(GridConfig):
    """Torus: a ring along each dimension, or a line where it does not wrap (Dally and Seitz, 1987)."""

    kind: Literal["torus"] = "torus"
    shape: Shape = Field(description="routers along each dimension")
    wrap: Wrap = Field(  # type: ignore[valid-type]
        (True,), description="whether a dimension closes to a ring; so a partition may be part torus, part mesh"
    )
    pair_cables: Literal[1, 2] = Field(
        1, description="cables between the two routers of a wrapped dimension of length 2, where both ways are one"
    )

    @property
    def grid(self) -> Grid:
        """The cables between its routers."""
        return Grid(self.shape, spread(self.wrap, len(self.shape)), pair_cables=self.pair_cables)

    def _check(self) -> None:
        check_length(self.wrap, len(self.shape), ("wrap",))
        super()._check()


class MeshConfig(GridConfig):
    """Mesh: a line along each dimension."""

    kind: Literal["mesh"] = "mesh"
    shape: Shape = Field(description="routers along each dimension")

    @property
    def grid(self) -> Grid:
        """The cables between its routers."""
        return Grid(self.shape, (False,) * len(self.shape))


class HypercubeConfig(GridConfig):
    """Hypercube: routers whose binary numbers differ in one digit are joined (Seitz, 1985)."""

    kind: Literal["hypercube"] = "hypercube"
    dimensions: Whole = Field(ge=1, le=23, description="dimensions; there are two routers along each")

    @property
    def grid(self) -> Grid:
        """The cables between its routers."""
        return Grid((2,) * self.dimensions, (False,) * self.dimensions)


class HyperXConfig(GridConfig):
    """HyperX: all routers along a line of each dimension are joined (Ahn et al., SC 2009)."""

    kind: Literal["hyperx"] = "hyperx"
    shape: Shape = Field(description="routers along each dimension")

    @property
    def grid(self) -> Grid:
        """The cables between its routers."""
        return Grid(self.shape, (False,) * len(self.shape), gap=1)


class ExpressMeshConfig(GridConfig):
    """Express mesh: a mesh with further cables along each dimension (Jain et al., IPDPS 2017)."""

    kind: Literal["express-mesh"] = "express-mesh"
    shape: Shape = Field(description="routers along each dimension")
    gap: Whole = Field(
        ge=1, le=100_000, description="routers that differ by 1 or by 1 + m * gap in one dimension are joined (g)"
    )

    @property
    def grid(self) -> Grid:
        """The cables between its routers."""
        return Grid(self.shape, (False,) * len(self.shape), gap=self.gap)

    def _check(self) -> None:
        shortest = min(self.shape)
        if self.gap > max(1, shortest - 2):
            raise ConfigError(
                f"a dimension of {shortest} routers has no express cable of length {self.gap + 1}",
                f"take at most {max(1, shortest - 2)}, or a longer dimension",
                ("gap",),
                self.gap,
            )
        super()._check()
