"""Edge-isoperimetric bounds: the minimum number of links that leave a set of routers of a given size.

Bounds of tori and cuboids, products of cliques in Lindsey's order, and exhaustive search of small graphs.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from fabricstudy.analysis.base import IN_ORDER, Analysis, Row
from fabricstudy.core.arrays import Floats
from fabricstudy.core.model import ConfigError, Flag, Model, Number, Whole, model_check


def product_weights(
    lengths: Sequence[int],
    graph: Literal["torus", "hyperx"],
    pair_cables: int = 1,
    weights: Sequence[float] | None = None,
) -> Floats:
    """Return the link weights of a product of rings (a torus) or cliques (a HyperX), float64 [vertices, vertices].

    The first coordinate varies fastest; parameters are those of `cuboid_cut`.

    Examples
    --------
    >>> product_weights([4], "torus").sum(axis=1), product_weights([3, 2], "hyperx").sum() / 2
    (array([2., 2., 2., 2.]), np.float64(9.0))
    """
    total: Floats = np.zeros((1, 1))
    for length, weight in zip(lengths, weights or [1.0] * len(lengths), strict=True):
        line = weight * (_clique(length) if graph == "hyperx" else _ring(length, pair_cables))
        total = np.asarray(np.kron(line, np.eye(len(total))) + np.kron(np.eye(length), total), np.float64)
    return total


def _clique(length: int) -> Floats:
    return np.ones((length, length)) - np.eye(length)


def _ring(length: int, pair_cables: int) -> Floats:
    if length < 3:
        return pair_cables * _clique(length)
    forward = np.roll(np.eye(length), 1, axis=1)
    return forward + forward.T


def lindsey_cut(lengths: Sequence[int], size: int) -> int:
    """Return the minimum number of links that leave `size` vertices of a product of cliques (Lindsey's theorem).

    Examples
    --------
    >>> lindsey_cut([4, 3], 6), lindsey_cut([2, 2, 2], 3)
    (12, 5)
    """
    degree = sum(length - 1 for length in lengths)
    return degree * size - 2 * _lindsey_interior(sorted(lengths), size)


def _lindsey_interior(ascending: Sequence[int], size: int) -> int:
    """Return the links among the first `size` vertices, by layers of larger cliques."""
    if not size:
        return 0
    layer = math.prod(ascending[1:])
    full, rest = divmod(size, layer)
    inside = full * _lindsey_interior(ascending[1:], layer) if len(ascending) > 1 else 0
    between = layer * full * (full - 1) // 2
    return inside + between + rest * full + (_lindsey_interior(ascending[1:], rest) if rest else 0)


def torus_bound(lengths: Sequence[int], size: int) -> float:
    """Return the minimum number of links that leave a cuboid of `size` vertices of a torus.

    Theorem 3.1 of Oltchik and Schwartz. With lengths a_1 >= ... >= a_D it is the minimum over r = 0 .. D - 1 of

        2 (D - r) (a_D a_{D-1} ... a_{D-r+1})^(1 / (D - r)) size^((D - r - 1) / (D - r)).

    Dimensions must have a length of at least 3, or of 2 with double links.

    Raises ValueError if `size` is less than 1 or more than half of the vertices.

    Examples
    --------
    >>> torus_bound([4, 4], 8), torus_bound([6, 2], 1)
    (8.0, 4.0)
    """
    return min(_terms(lengths, size))


def _terms(lengths: Sequence[int], size: int) -> list[float]:
    if not 1 <= size <= math.prod(lengths) // 2:
        raise ValueError(f"a set of {size} vertices: the bound holds from 1 to half of the torus")
    ascending = sorted(lengths)
    free = range(len(lengths), 0, -1)
    # A single power of the product, so that integer roots are exact.
    return [2 * n * math.pow(math.prod(ascending[: len(lengths) - n]) * size ** (n - 1), 1 / n) for n in free]


def s_r(lengths: Sequence[int], size: int) -> tuple[int, ...] | None:
    """Return the sides of the cuboid that attains `torus_bound`, the longest dimension first; None if there is none.

    Lemma 3.2 of Oltchik and Schwartz: for the r of the minimum term, the cuboid spans the r shortest dimensions and has
    equal sides in the others.

    Examples
    --------
    >>> s_r([8, 4, 4], 32), s_r([8, 4, 4], 33) is None
    ((2, 4, 4), True)
    """
    terms = _terms(lengths, size)
    r = terms.index(min(terms))
    descending = sorted(lengths, reverse=True)
    free = len(lengths) - r
    side = round((size / math.prod(descending[free:])) ** (1 / free))
    if side**free * math.prod(descending[free:]) != size or side > descending[free - 1]:
        return None
    return (side,) * free + tuple(descending[free:])


def cuboid_cut(
    lengths: Sequence[int],
    sides: Sequence[int],
    graph: Literal["torus", "hyperx"] = "torus",
    pair_cables: int = 1,
    weights: Sequence[float] | None = None,
) -> float:
    """Return the number of links that leave a cuboid of a torus, or of a product of cliques (a HyperX).

    `lengths` and `sides` are those of the graph and of the cuboid, `pair_cables` the links of a ring of length 2,
    `weights` the weights of links by dimension (default: 1).

    Examples
    --------
    >>> cuboid_cut([4, 4, 4], [4, 4, 2]), cuboid_cut([6, 2], [1, 1]), cuboid_cut([6, 2], [1, 1], pair_cables=2)
    (32.0, 3.0, 4.0)
    >>> cuboid_cut([4, 3], [2, 3], "hyperx")
    12.0
    """
    size = math.prod(sides)
    total = 0.0
    for length, side, weight in zip(lengths, sides, weights or [1.0] * len(lengths), strict=True):
        if graph == "hyperx":
            total += size * (length - side) * weight
        elif side < length:
            total += size // side * (pair_cables if length == 2 else 2) * weight
    return total


def best_cuboid_cuts(
    lengths: Sequence[int],
    graph: Literal["torus", "hyperx"] = "torus",
    pair_cables: int = 1,
    weights: Sequence[float] | None = None,
) -> Floats:
    """Return the minimum cut of cuboids of each size, float64 [vertices + 1]; infinite if there is no such cuboid.

    Examples
    --------
    >>> best_cuboid_cuts([4, 3])[[2, 3, 5, 6]]
    array([ 6.,  6., inf,  6.])
    """
    best = np.full(math.prod(lengths) + 1, np.inf)
    for sides in itertools.product(*(range(1, length + 1) for length in lengths)):
        size = math.prod(sides)
        best[size] = min(best[size], cuboid_cut(lengths, sides, graph, pair_cables, weights))
    return best


@cache
def _compiled_search() -> Any:
    from numba import njit  # takes half a second

    return njit(_search_all_subsets)


def _search_all_subsets(weights: Floats) -> tuple[Floats, Floats]:
    """Return for each size the least cut, and the least cut / (interior + cut), both float64 [vertices + 1]."""
    vertices = len(weights)
    degree = weights.sum(axis=1)
    total = degree.sum()
    best = np.full(vertices + 1, np.inf)
    expansion = np.full(vertices + 1, np.inf)
    best[0] = best[vertices] = expansion[vertices] = 0.0
    inside = np.zeros(vertices, np.bool_)
    # towards[v]: weight of the links from v into the set
    towards = np.zeros(vertices)
    size, cut, degrees = 0, 0.0, 0.0
    for step in range(1, 1 << (vertices - 1)):
        vertex = 0
        while not (step >> vertex) & 1:
            vertex += 1
        # A vertex that enters turns its links into the set into interior ones, one that leaves does the reverse.
        sign = -1.0 if inside[vertex] else 1.0
        cut += sign * (degree[vertex] - 2.0 * towards[vertex])
        degrees += sign * degree[vertex]
        size += 1 if sign > 0 else -1
        inside[vertex] = not inside[vertex]
        for neighbour in range(vertices):
            towards[neighbour] += sign * weights[vertex, neighbour]
        if cut < best[size]:
            best[size] = cut
        # interior + cut = (sum of degrees + cut) / 2
        if degrees + cut > 0.0:
            expansion[size] = min(expansion[size], 2.0 * cut / (degrees + cut))
        if total - degrees + cut > 0.0:
            outside = vertices - size
            expansion[outside] = min(expansion[outside], 2.0 * cut / (total - degrees + cut))
    for size in range(vertices + 1):
        best[size] = min(best[size], best[vertices - size])
    return best, expansion


MAX_VERTICES = 28
"""Limit of vertices: a second of work, doubled by each further vertex."""


@dataclass(frozen=True, eq=False)
class CutProfile:
    """Minimum cuts of a graph."""

    cut: Floats
    """Minimum weight of the links that leave a set of each size; float64 [vertices + 1]."""
    expansion: Floats
    """Small-set expansion h_t: minimum of cut / (interior + cut) over sets of 1 to t vertices, counting interior links
    once (Oltchik and Schwartz, section 2); infinite at 0; float64 [vertices + 1]."""


def edge_profile(weights: Floats) -> CutProfile:
    """Return the minimum cut of each size for symmetric weights [vertices, vertices] with a zero diagonal.

    Sets are visited in Gray-code order, without the last vertex, since complements have the same cut. Raises ValueError
    if there are more than 28 vertices, or the matrix is not symmetric.

    Examples
    --------
    >>> square = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]], float)
    >>> edge_profile(square).cut
    array([0., 2., 2., 2., 0.])
    """
    weights = np.ascontiguousarray(weights, np.float64)
    if len(weights) > MAX_VERTICES:
        raise ValueError(f"{len(weights)} vertices: at most {MAX_VERTICES} can be searched")
    if not np.array_equal(weights, weights.T) or weights.diagonal().any():
        raise ValueError("the weights are not symmetric with a zero diagonal")
    cut, expansion = _compiled_search()(weights)
    return CutProfile(cut, np.minimum.accumulate(expansion))


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
