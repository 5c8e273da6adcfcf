"""METIS (Karypis and Kumar: SISC 20(1), 1998), for graphs that are cut in two."""

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def two_parts(
    first: Ints, head: Ints, vertex_weight: Ints, edge_weight: Ints, seed: int, share: float | None = None
) -> Ints:
    """Cut a graph in two with a light cut; return the part of each vertex, 0 or 1, int64 [vertices].

    Parameters
    ----------
    first, head : int64 arrays [vertices + 1], [edges]
        The edges of each vertex in compressed rows, each in the rows of both its ends.
    vertex_weight, edge_weight : int64 arrays [vertices], [edges]
        Weights.
    share : float, optional
        Weight of part 0 over that of all, met as closely as METIS can; left out: about a half.
    """
    import pymetis

    exact = {} if share is None else {"ufactor": 1}
    found = pymetis.part_graph(
        2,
        pymetis.CSRAdjacency(first, head),
        vweights=vertex_weight,
        eweights=edge_weight,
        tpwgts=None if share is None else [share, 1 - share],
        recursive=True,
        options=pymetis.Options(seed=seed, **exact),
    )
    return np.asarray(found.vertex_part, dtype=np.int64)
