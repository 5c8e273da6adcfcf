"""Exact isoperimetry of small weighted graphs by exhaustive search."""

from dataclasses import dataclass

import numpy as np

from fabricstudy.core.arrays import Floats

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
    from .kernel import search_all_subsets

    cut, expansion = search_all_subsets(weights)
    return CutProfile(cut, np.minimum.accumulate(expansion))
