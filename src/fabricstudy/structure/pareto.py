"""Pareto fronts."""

from math import inf

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


def representatives(costs: Floats, most: int) -> list[int]:
    """Return at most so many rows of a front, sorted by number: those that are best in a column, and representatives.

    The regret of a row is by how much, as a ratio, it is better than each row chosen so far in some column; the row of
    the largest regret is chosen next, until none has any.

    Examples
    --------
    >>> representatives(np.array([[1.0, 9.0, 9.0], [1.01, 8.99, 9.0], [3.0, 3.0, 9.0], [9.0, 1.0, 1.0]]), 3)
    [0, 2, 3]
    """
    if not len(costs):
        return []
    logs = np.log(costs)
    chosen = list(dict.fromkeys(np.argmin(logs, axis=0).tolist()))
    regret = np.full(len(logs), inf)
    for number in chosen:
        regret = np.minimum(regret, (logs[number] - logs).max(axis=1))
    while len(chosen) < most and regret.max() > 0:
        chosen.append(int(np.argmax(regret)))
        regret = np.minimum(regret, (logs[chosen[-1]] - logs).max(axis=1))
    return sorted(chosen)
