"""Tori: lower bounds on the links that leave a set, cuboids, and the cuboids that meet the bounds."""

import itertools
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt


def torus_bound(lengths: Sequence[int], size: int) -> float:
    """Return the least number of links that leave a cuboid of `size` vertices of a torus.

    Theorem 3.1 of Oltchik and Schwartz. With lengths a_1 >= ... >= a_D it is the minimum over r = 0 .. D - 1 of

        2 (D - r) (a_D a_{D-1} ... a_{D-r+1})^(1 / (D - r)) size^((D - r - 1) / (D - r)).

    It counts two links a line and side, so it needs dimensions of at least 3, or double links where a dimension has
    length 2: with single ones, one vertex of 6 x 2 has 3 links and the bound says 4.

    Raises ValueError if `size` is less than 1 or more than half of the vertices.

    Examples
    --------
    >>> torus_bound([4, 4], 8), torus_bound([6, 2], 1)
    (8.0, 4.0)
    """
    return min(_terms(lengths, size))


def _terms(lengths: Sequence[int], size: int) -> list[float]:
    """Terms of the bound, one for each r."""
    if not 1 <= size <= math.prod(lengths) // 2:
        raise ValueError(f"a set of {size} vertices: the bound holds from 1 to half of the torus")
    ascending = sorted(lengths)
    free = range(len(lengths), 0, -1)
    # One power of the whole product, so that exact roots stay exact.
    return [2 * n * math.pow(math.prod(ascending[: len(lengths) - n]) * size ** (n - 1), 1 / n) for n in free]


def s_r(lengths: Sequence[int], size: int) -> tuple[int, ...] | None:
    """Return the sides of the cuboid that meets `torus_bound`, the longest dimension first; None where there is none.

    Lemma 3.2 of Oltchik and Schwartz: for the r of the least term, the r shortest dimensions are filled and the
    others have equal sides. It exists where that side is a whole number and fits.

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
    """Count the links that leave a cuboid of a torus, or of a product of cliques (a HyperX).

    Parameters
    ----------
    lengths, sides : sequence of int
        Vertices of the graph and of the cuboid along each dimension, in the same order.
    graph : {"torus", "hyperx"}
        What the dimensions are: rings or cliques.
    pair_cables : int
        Links between the two vertices of a ring of length 2.
    weights : sequence of float, optional
        What a link of each dimension counts; 1 each where left out.

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
) -> npt.NDArray[np.float64]:
    """Return the fewest links that leave a cuboid of each size, float64 [vertices + 1]; infinite where none has it.

    Parameters as of `cuboid_cut`.

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
