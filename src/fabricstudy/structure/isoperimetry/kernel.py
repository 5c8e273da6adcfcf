"""Search over all sets of vertices, compiled by numba on first use and cached."""

import numpy as np
from numba import njit

from fabricstudy.core.arrays import Floats


@njit(cache=True)
def search_all_subsets(weights: Floats) -> tuple[Floats, Floats]:
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
