"""Pareto fronts."""

import numpy as np
import numpy.typing as npt


def is_pareto_efficient(costs: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Return which of several things no other one beats, bool [things]: none costs no more in all ways and less in one.

    `costs` (float64 [things, ways]) are the better, the less; of equal things all or none are on the front.

    Examples
    --------
    >>> is_pareto_efficient(np.array([[1.0, 9.0], [2.0, 3.0], [3.0, 3.0], [4.0, 1.0], [4.0, 1.0]])).tolist()
    [True, True, False, True, True]
    """
    front = np.ones(len(costs), dtype=np.bool_)
    for place in np.lexsort(costs.T[::-1]):
        if front[place]:
            no_better = (costs >= costs[place]).all(axis=1)
            front &= ~(no_better & (costs > costs[place]).any(axis=1))
    return front
