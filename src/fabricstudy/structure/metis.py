"""Bisection of graphs by METIS (Karypis and Kumar: SISC 20(1), 1998)."""

import numpy as np

from fabricstudy.core.arrays import Ints


def two_parts(
    first: Ints, head: Ints, vertex_weight: Ints, edge_weight: Ints, seed: int, share: float | None = None
) -> Ints:
    """Return the part of each vertex, 0 or 1, int64 [vertices], in a partition of a graph with a light cut.

    `first` [vertices + 1] and `head` [edges] are compressed rows that list each edge at both ends; `share` is the
    share of part 0 in the weight, met as closely as METIS can; default: about a half.
    """
    import pymetis

    exact = {} if share is None else {"ufactor": 1}
    result = pymetis.part_graph(
        2,
        pymetis.CSRAdjacency(first, head),
        vweights=vertex_weight,
        eweights=edge_weight,
        tpwgts=None if share is None else [share, 1 - share],
        recursive=True,
        options=pymetis.Options(seed=seed, **exact),
    )
    return np.asarray(result.vertex_part, dtype=np.int64)
