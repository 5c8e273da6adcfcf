"""Isoperimetry of tori: lower bounds, cuboids, and the cuboids that attain the bounds."""

import itertools
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from fabricstudy.core.arrays import Floats


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
