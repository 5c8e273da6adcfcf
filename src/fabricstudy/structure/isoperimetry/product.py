"""Products of rings or cliques: the graphs, and the orders of vertices whose beginnings have the fewest links out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

Weights = npt.NDArray[np.float64]


def product_weights(
    lengths: Sequence[int],
    graph: Literal["torus", "hyperx"],
    pair_cables: int = 1,
    weights: Sequence[float] | None = None,
) -> Weights:
    """Give the links of a product of rings (a torus) or cliques (a HyperX).

    Parameters
    ----------
    lengths : sequence of int
        Vertices along each dimension; the first coordinate of consecutive vertices goes fastest.
    graph : {"torus", "hyperx"}
        What the dimensions are: rings or cliques.
    pair_cables : int
        Links between the two vertices of a ring of length 2.
    weights : sequence of float, optional
        What a link of each dimension counts; 1 each where left out.

    Returns
    -------
    float64 array [vertices, vertices]
        Symmetric; weight of the links between two vertices.

    Examples
    --------
    >>> product_weights([4], "torus").sum(axis=1), product_weights([3, 2], "hyperx").sum() / 2
    (array([2., 2., 2., 2.]), np.float64(9.0))
    """
    total: Weights = np.zeros((1, 1))
    for length, weight in zip(lengths, weights or [1.0] * len(lengths), strict=True):
        own = weight * (_clique(length) if graph == "hyperx" else _ring(length, pair_cables))
        total = np.asarray(np.kron(own, np.eye(len(total))) + np.kron(np.eye(length), total), np.float64)
    return total


def _clique(length: int) -> Weights:
    return np.ones((length, length)) - np.eye(length)


def _ring(length: int, pair_cables: int) -> Weights:
    if length == 2:
        return pair_cables * _clique(2)
    forward = np.roll(np.eye(length), 1, axis=1) if length > 1 else np.zeros((1, 1))
    return forward + forward.T


def weighted_dragonfly(
    groups: int, rows: int, columns: int, row_weight: float = 3, global_weight: float = 4
) -> Weights:
    """Give the links of a dragonfly whose groups are products of two cliques.

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


def lindsey_order(lengths: Sequence[int]) -> npt.NDArray[np.int64]:
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


def lindsey_cut(lengths: Sequence[int], size: int) -> int:
    """Least number of links that leave `size` vertices of a product of cliques.

    Counted without the graph: filling goes by layers, each a product of the larger cliques.

    Examples
    --------
    >>> lindsey_cut([4, 3], 6), lindsey_cut([2, 2, 2], 3)
    (12, 5)
    """
    degree = sum(length - 1 for length in lengths)
    return degree * size - 2 * _lindsey_interior(sorted(lengths), size)


def _lindsey_interior(ascending: Sequence[int], size: int) -> int:
    """Links among the first `size` vertices."""
    if not size:
        return 0
    layer = math.prod(ascending[1:])
    full, rest = divmod(size, layer)
    inside = full * _lindsey_interior(ascending[1:], layer) if len(ascending) > 1 else 0
    between = layer * full * (full - 1) // 2
    return inside + between + rest * full + (_lindsey_interior(ascending[1:], rest) if rest else 0)
