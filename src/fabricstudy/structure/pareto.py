"""Pareto fronts."""

import numpy as np

from fabricstudy.core.arrays import Bools, Floats


def is_pareto_efficient(costs: Floats) -> Bools:
    """Return which items are on the Pareto front, bool [items], for costs [items, criteria] to be minimised.

    Of equal items all or none are on the front.

    Examples
    --------
    >>> is_pareto_efficient(np.array([[1.0, 9.0], [2.0, 3.0], [3.0, 3.0], [4.0, 1.0], [4.0, 1.0]])).tolist()
    [True, True, False, True, True]
    """
    front = np.ones(len(costs), dtype=np.bool_)
    for item in np.lexsort(costs.T[::-1]):
        if front[item]:
            front &= ~((costs >= costs[item]).all(axis=1) & (costs > costs[item]).any(axis=1))
    return front
