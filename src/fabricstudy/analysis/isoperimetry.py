"""Edge-isoperimetric bounds."""

import itertools
import math
from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.model import ConfigError, Flag, Model, Number, Whole, model_check
from fabricstudy.structure.isoperimetry.product import lindsey_cut, product_weights
from fabricstudy.structure.isoperimetry.search import MAX_VERTICES, edge_profile
from fabricstudy.structure.isoperimetry.torus import best_cuboid_cuts, cuboid_cut, s_r, torus_bound

from .base import IN_ORDER, Analysis, Row

_Shape = tuple[int, ...]
_Length = Annotated[Whole, Field(ge=2, le=1000)]
Weight = Annotated[Number, Field(gt=0)]


class ShapeRange(Model):
    """All shapes with lengths in a range."""

    dimensions: tuple[Annotated[Whole, Field(ge=1, le=10)], ...] = Field(
        min_length=1, description="numbers of dimensions"
    )
    lengths: Annotated[tuple[_Length, _Length], IN_ORDER] = Field(description="least and largest length of a dimension")
    max_vertices: Whole = Field(100, ge=2, le=10_000, description="vertices of the largest graph")


class Isoperimetry(Analysis, kind="isoperimetry"):
    """Minimum edge boundary of a set of each size: bounds, cuboids, optimal orders and, on request, the exact value.

    One row for each shape and size of set up to half of the vertices; unknown values are missing. The columns:

    * `graph`, `shape`, `size`: of the graph, and of the set
    * `vertices`; `share`: `size` over `vertices`
    * `bound`: of Theorem 3.1 of Oltchik and Schwartz, on a torus without weights
    * `cuboid_cut`: links that leave the best cuboid of this size
    * `built_cut`: links that leave the set of the theory (S_r on a torus, the first vertices of Lindsey's order on a
      hyperx without weights)
    * `exact_cut`, `expansion`: fewest links, and small-set expansion, from a search of all sets
    * `cuboid_over_bound`, `built_over_bound`, `exact_over_bound`, `built_over_exact`, `cuboid_over_exact`: ratios
    """

    keys = ("graph", "shape", "size")
    numbers = (
        "size", "vertices", "share", "bound", "cuboid_cut", "built_cut", "exact_cut", "expansion", "cuboid_over_bound",
        "built_over_bound", "exact_over_bound", "built_over_exact", "cuboid_over_exact",
    )  # fmt: skip

    graph: Literal["torus", "hyperx"] = Field("torus", description="product of rings, or of cliques")
    shapes: tuple[Annotated[tuple[_Length, ...], Field(min_length=1, max_length=10)], ...] = Field(
        (), max_length=10_000, description="lengths of the dimensions of each graph"
    )
    family: ShapeRange | None = Field(None, description="all shapes with lengths in a range, in place of `shapes`")
    pair_cables: Literal[1, 2] = Field(1, description="links between the two vertices of a ring of length 2")
    weights: tuple[Weight, ...] = Field((), description="weight of a link of each dimension; left out: 1 each")
    exact: Flag = Field(False, description=f"search all sets; graphs of at most {MAX_VERTICES} vertices")

    @model_check
    def _has_shapes(self) -> None:
        if bool(self.shapes) == (self.family is not None):
            problem = "an isoperimetry has either shapes or a family"
            raise ConfigError(problem, "leave one out", ("shapes",), code="conflicting-keys")
        if self.weights and self.family is not None:
            weights = list(self.weights)
            raise ConfigError("weights need shapes", "list the shapes", ("weights",), weights, "conflicting-keys")
        most, what = (MAX_VERTICES, "search") if self.exact else (10_000, "list")
        if self.family is not None and self.family.max_vertices > most:
            path = ("family", "max_vertices")
            raise ConfigError(f"too many vertices to {what}", f"use at most {most}", path, code="out-of-range")
        for number, shape in enumerate(self.shapes):
            path, vertices = ("shapes", str(number)), math.prod(shape)
            if self.weights and len(shape) != len(self.weights):
                problem = f"{len(self.weights)} weights for {len(shape)} dimensions"
                raise ConfigError(problem, "write one a dimension", path, list(shape), "out-of-range")
            if vertices > most:
                problem = f"{vertices} vertices are too many to {what}"
                raise ConfigError(problem, f"use at most {most:,}", path, list(shape), "out-of-range")

    def rows(self) -> list[Row]:
        return [row for shape in self._all_shapes() for row in self._of_shape(shape)]

    def _all_shapes(self) -> Iterator[_Shape]:
        yield from self.shapes
        if self.family is not None:
            low, high = self.family.lengths
            for dimensions in self.family.dimensions:
                # Longest first, as the theorems have it.
                for shape in itertools.combinations_with_replacement(range(high, low - 1, -1), dimensions):
                    if math.prod(shape) <= self.family.max_vertices:
                        yield shape

    def _of_shape(self, shape: _Shape) -> Iterator[Row]:
        vertices, weights = math.prod(shape), self.weights or None
        has_bound = self.graph == "torus" and not weights
        cuboids = best_cuboid_cuts(shape, self.graph, self.pair_cables, weights)
        profile = None
        if self.exact:
            profile = edge_profile(product_weights(shape, self.graph, self.pair_cables, weights))
        for size in range(1, vertices // 2 + 1):
            bound = torus_bound(shape, size) if has_bound else None
            cuboid = float(cuboids[size]) if np.isfinite(cuboids[size]) else None
            built = None if weights else self._built_cut(shape, size)
            exact = None if profile is None else float(profile.cut[size])
            yield {
                "graph": self.graph, "shape": "x".join(map(str, shape)), "size": size, "vertices": vertices,
                "share": size / vertices, "bound": bound, "cuboid_cut": cuboid, "built_cut": built, "exact_cut": exact,
                "expansion": None if profile is None else float(profile.expansion[size]),
                "cuboid_over_bound": _ratio(cuboid, bound), "built_over_bound": _ratio(built, bound),
                "exact_over_bound": _ratio(exact, bound), "built_over_exact": _ratio(built, exact),
                "cuboid_over_exact": _ratio(cuboid, exact),
            }  # fmt: skip

    def _built_cut(self, shape: _Shape, size: int) -> float | None:
        if self.graph == "hyperx":
            return float(lindsey_cut(shape, size))
        sides = s_r(shape, size)
        return None if sides is None else cuboid_cut(sorted(shape, reverse=True), sides, "torus", self.pair_cables)


def _ratio(of: float | None, against: float | None) -> float | None:
    return None if of is None or against is None else of / against
