"""Edge-isoperimetric bounds: rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError, Flag, Model, Number, Whole
from fabricstudy.structure.isoperimetry.product import lindsey_cut, product_weights
from fabricstudy.structure.isoperimetry.search import MOST_SEARCHED, edge_profile
from fabricstudy.structure.isoperimetry.torus import best_cuboid_cuts, cuboid_cut, s_r, torus_bound

from .base import Analysis

Shape = tuple[int, ...]


def _shapes(config: Isoperimetry) -> Iterator[Shape]:
    yield from config.shapes
    if config.family is not None:
        low, high = config.family.lengths
        for dimensions in config.family.dimensions:
            # Longest first, as the theorems have it.
            for shape in itertools.combinations_with_replacement(range(high, low - 1, -1), dimensions):
                if math.prod(shape) <= config.family.most_vertices:
                    yield shape


def _of_shape(config: Isoperimetry, shape: Shape) -> Iterator[dict[str, Any]]:
    vertices = math.prod(shape)
    torus, weights = config.graph == "torus", config.weights or None
    cuboids = best_cuboid_cuts(shape, config.graph, config.pair_cables, weights)
    profile = None
    if config.exact:
        profile = edge_profile(product_weights(shape, config.graph, config.pair_cables, weights))
    for size in range(1, vertices // 2 + 1):
        cuts = {
            "bound": torus_bound(shape, size) if torus and not weights else None,
            "cuboid_cut": float(cuboids[size]) if np.isfinite(cuboids[size]) else None,
            "built_cut": None if weights else _built_cut(config, shape, size),
            "exact_cut": None if profile is None else float(profile.cut[size]),
        }
        yield {
            "graph": config.graph,
            "shape": "x".join(map(str, shape)),
            "size": size,
            "vertices": vertices,
            "share": size / vertices,
            **cuts,
            "expansion": None if profile is None else float(profile.expansion[size]),
            "cuboid_over_bound": _ratio(cuts["cuboid_cut"], cuts["bound"]),
            "built_over_bound": _ratio(cuts["built_cut"], cuts["bound"]),
            "exact_over_bound": _ratio(cuts["exact_cut"], cuts["bound"]),
            "built_over_exact": _ratio(cuts["built_cut"], cuts["exact_cut"]),
            "cuboid_over_exact": _ratio(cuts["cuboid_cut"], cuts["exact_cut"]),
        }


def _built_cut(config: Isoperimetry, shape: Shape, size: int) -> float | None:
    if config.graph == "hyperx":
        return float(lindsey_cut(shape, size))
    sides = s_r(shape, size)
    return None if sides is None else cuboid_cut(sorted(shape, reverse=True), sides, "torus", config.pair_cables)


def _ratio(of: float | None, against: float | None) -> float | None:
    return None if of is None or against is None else of / against


Length = Annotated[Whole, Field(ge=2, le=1000)]
Weight = Annotated[Number, Field(gt=0)]


class Family(Model):
    """All shapes whose lengths lie in a range."""

    dimensions: tuple[Annotated[Whole, Field(ge=1, le=10)], ...] = Field(
        min_length=1, description="numbers of dimensions"
    )
    lengths: tuple[Length, Length] = Field(description="least and largest length of a dimension")
    most_vertices: Whole = Field(100, ge=2, le=10_000, description="vertices of the largest graph")


@register
class Isoperimetry(Analysis):
    """Fewest links that leave a set of each size: bounds, cuboids, optimal orders and, on request, the exact answer.

    One row for each shape and size of set up to half of the vertices; what is not known is missing. The columns:

    * `graph`, `shape`, `size`: of the graph, and of the set
    * `vertices`; `share`: `size` over `vertices`
    * `bound`: of Theorem 3.1 of Oltchik and Schwartz, on a torus without weights
    * `cuboid_cut`: links that leave the best cuboid of this size
    * `built_cut`: links that leave the set that the theory builds (S_r on a torus, the beginning of Lindsey's order on
      a hyperx without weights)
    * `exact_cut`, `expansion`: fewest links, and small-set expansion, from looking at every set
    * `cuboid_over_bound`, `built_over_bound`, `exact_over_bound`, `built_over_exact`, `cuboid_over_exact`: ratios
    """

    keys: ClassVar[tuple[str, ...]] = ("graph", "shape", "size")
    numbers: ClassVar[tuple[str, ...]] = (
        "size", "vertices", "share", "bound", "cuboid_cut", "built_cut", "exact_cut", "expansion", "cuboid_over_bound",
        "built_over_bound", "exact_over_bound", "built_over_exact", "cuboid_over_exact",
    )  # fmt: skip

    kind: Literal["isoperimetry"] = "isoperimetry"
    graph: Literal["torus", "hyperx"] = Field("torus", description="product of rings, or of cliques")
    shapes: tuple[Annotated[tuple[Length, ...], Field(min_length=1, max_length=10)], ...] = Field(
        (), max_length=10_000, description="lengths of the dimensions of each graph"
    )
    family: Family | None = Field(None, description="all shapes with lengths in a range, in place of `shapes`")
    pair_cables: Literal[1, 2] = Field(1, description="links between the two vertices of a ring of length 2")
    weights: tuple[Weight, ...] = Field((), description="weight of a link of each dimension; left out: 1 each")
    exact: Flag = Field(False, description=f"search all sets; graphs of at most {MOST_SEARCHED} vertices")

    @model_validator(mode="after")
    def _has_shapes(self) -> Isoperimetry:
        if bool(self.shapes) == (self.family is not None):
            raise ConfigError("give either shapes or a family", "leave one out", ("shapes",), code="given-twice-or-not")
        for number, shape in enumerate(self.shapes):
            if self.weights and len(shape) != len(self.weights):
                problem = f"{len(self.weights)} weights for {len(shape)} dimensions"
                raise ConfigError(problem, "give one a dimension", ("shapes", str(number)), list(shape), "wrong-length")
        if self.weights and self.family is not None:
            raise ConfigError(
                "weights need shapes", "list the shapes", ("weights",), list(self.weights), "not-with-these-keys"
            )
        self._can_be_computed()
        return self

    def _can_be_computed(self) -> None:
        most = MOST_SEARCHED if self.exact else 10_000
        what = "search" if self.exact else "list"
        if self.family is not None and self.family.most_vertices > most:
            raise ConfigError(
                f"too many vertices to {what}", f"take at most {most}", ("family", "most_vertices"), code="too-large"
            )
        for number, shape in enumerate(self.shapes):
            vertices = 1
            for length in shape:
                vertices *= length
            if vertices > most:
                problem = f"{vertices} vertices are too many to {what}"
                raise ConfigError(problem, f"take at most {most:,}", ("shapes", str(number)), list(shape), "too-large")

    def rows(self) -> list[dict[str, Any]]:
        """Give one row for each shape and size of set up to half of the vertices."""
        return [row for shape in _shapes(self) for row in _of_shape(self, shape)]
