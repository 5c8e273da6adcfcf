"""Connected components."""

import numpy as np
import numpy.typing as npt

from fabricstudy.core.arrays import Integers


def component_labels(tail: Integers, head: Integers, routers: int) -> npt.NDArray[np.signedinteger]:
    """Return the connected component of each router, int array [routers], from 0.

    Examples
    --------
    >>> component_labels(np.array([0, 3]), np.array([2, 1]), 4).tolist()
    [0, 1, 0, 1]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(tail)), (tail, head)), shape=(routers, routers))
    labels: npt.NDArray[np.signedinteger] = connected_components(graph, directed=False)[1]
    return labels
