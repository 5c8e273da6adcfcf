"""Graphs, orders and bounds of the literature on edge isoperimetry, as oracles."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from fabricstudy.core.arrays import Floats, Ints

from .bundled import bundled_extension

product_weights = bundled_extension("isoperimetry").product_weights


def weighted_dragonfly(groups: int, rows: int, columns: int, row_weight: float = 3, global_weight: float = 4) -> Floats:
    """Return the links of a dragonfly whose groups are products of two cliques.

    A group of a Cray XC is 16 x 6 routers: all 16 of a chassis are joined by links of weight 1, all 6 with the same
    place in their chassis by links of weight 3, and two groups by links of weight 4 (Oltchik and Schwartz,
    section 5). Which routers carry the links between groups is not published; here one link joins each two groups,
    and its ends go round the routers of each group (the absolute arrangement of Hastings et al., CLUSTER 2015).

    Parameters
    ----------
    groups : int
        Groups.
    rows, columns : int
        Routers of a chassis, and chassis of a group.
    row_weight, global_weight : float
        Weight of a link between chassis, and of one between groups.

    Returns
    -------
    float64 array [vertices, vertices]

    Examples
    --------
    >>> weighted_dragonfly(3, 2, 2).sum() / 2  # three groups of 1 + 1 + 3 + 3, and three global links of 4
    np.float64(36.0)
    """
    size = rows * columns
    group = product_weights([rows, columns], "hyperx", weights=[1, row_weight])
    total = np.asarray(np.kron(np.eye(groups), group), np.float64)
    for one, other in itertools.combinations(range(groups), 2):
        # Port number k of a group leads to group k, or k + 1 from its own number on.
        tail, head = one * size + (other - 1) % size, other * size + one % size
        total[tail, head] += global_weight
        total[head, tail] += global_weight
    return total


def harper_cut(dimensions: int, size: int) -> int:
    """Least number of links that leave `size` vertices of a hypercube.

    Harper (1964): the vertices 0 .. size - 1 are best. They have as many links among themselves as there are ones
    in the binary numbers below `size`.

    Examples
    --------
    >>> [harper_cut(3, size) for size in range(9)]
    [0, 3, 4, 5, 4, 5, 4, 3, 0]
    """
    return dimensions * size - 2 * sum(number.bit_count() for number in range(size))


def lindsey_order(lengths: Sequence[int]) -> Ints:
    """Order the vertices of a product of cliques so that each beginning has the fewest links out.

    Lindsey (1964): fill the largest clique first, then go along the next largest. On a hypercube it is Harper's.

    Returns
    -------
    int64 array [vertices]
        Vertices as `product_weights` numbers them.

    Examples
    --------
    >>> lindsey_order([2, 3])
    array([0, 2, 4, 1, 3, 5])
    """
    vertices = np.arange(math.prod(lengths)).reshape(tuple(lengths), order="F")
    by_length = sorted(range(len(lengths)), key=lambda axis: -lengths[axis])
    return vertices.transpose(by_length).reshape(-1, order="F")


def cubic_torus_bound(length: int, dimensions: int, size: int) -> float:
    """Least number of links that leave any `size` vertices of a torus of equal lengths.

    Theorem 2.1 of Oltchik and Schwartz, after Bollobas and Leader (1991): the minimum over r = 0 .. D - 1 of
    2 (D - r) n^(r / (D - r)) size^((D - r - 1) / (D - r)).

    Examples
    --------
    >>> cubic_torus_bound(4, 2, 8)
    8.0
    """
    free = range(dimensions, 0, -1)
    return min(2 * n * math.pow(length ** (dimensions - n) * size ** (n - 1), 1 / n) for n in free)
