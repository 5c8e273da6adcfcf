"""Products of rings or cliques, and Lindsey's order of the latter."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from fabricstudy.core.arrays import Floats


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
