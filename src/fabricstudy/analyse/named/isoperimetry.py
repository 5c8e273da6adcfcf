"""Edge-isoperimetric bounds: rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...study.analyses import Isoperimetry
from ..isoperimetry import (
    best_cuboid_cuts,
    cuboid_cut,
    edge_profile,
    lindsey_cut,
    product_weights,
    s_r,
    torus_bound,
)

Shape = tuple[int, ...]


def rows(config: Isoperimetry) -> list[dict[str, Any]]:
    """Give one row for each shape and size of set up to half of the vertices."""
    return [row for shape in _shapes(config) for row in _of_shape(config, shape)]


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
        known = {
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
            **known,
            "expansion": None if profile is None else float(profile.expansion[size]),
            "cuboid_over_bound": _ratio(known["cuboid_cut"], known["bound"]),
            "built_over_bound": _ratio(known["built_cut"], known["bound"]),
            "exact_over_bound": _ratio(known["exact_cut"], known["bound"]),
            "built_over_exact": _ratio(known["built_cut"], known["exact_cut"]),
            "cuboid_over_exact": _ratio(known["cuboid_cut"], known["exact_cut"]),
        }


def _built_cut(config: Isoperimetry, shape: Shape, size: int) -> float | None:
    if config.graph == "hyperx":
        return float(lindsey_cut(shape, size))
    sides = s_r(shape, size)
    return None if sides is None else cuboid_cut(sorted(shape, reverse=True), sides, "torus", config.pair_cables)


def _ratio(of: float | None, against: float | None) -> float | None:
    return None if of is None or against is None else of / against
