"""Any small weighted graph: the exact answer, by looking at every set of vertices."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MAX_VERTICES = 28
"""Vertices of a graph of which all sets are looked at: a second of work, and each further vertex doubles it."""


@dataclass(frozen=True, eq=False)
class Profile:
    """The least cuts of a graph."""

    cut: npt.NDArray[np.float64]
    """Least weight of the links that leave a set of each size; float64 [vertices + 1]."""
    expansion: npt.NDArray[np.float64]
    """Small-set expansion h_t: the least of cut / (interior + cut) over sets of 1 to t vertices; infinite at 0. An
    interior link counts once (Oltchik and Schwartz, section 2); float64 [vertices + 1]."""


def edge_profile(weights: npt.NDArray[np.float64]) -> Profile:
    """Search all sets of vertices for the least cut of each size.

    Sets are visited in the order of Gray's code, so that one vertex changes sides at each step. A set and its
    complement have the same cut, so the last vertex stays outside.

    Parameters
    ----------
    weights : float64 array [vertices, vertices]
        Symmetric weights of the links, with a zero diagonal; at most 28 vertices.

    Raises
    ------
    ValueError
        If there are more vertices, or the matrix is not symmetric.

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
    return Profile(cut, np.minimum.accumulate(expansion))
