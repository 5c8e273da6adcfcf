"""Types of numpy arrays, and numbering."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Int16s = npt.NDArray[np.int16]
Int32s = npt.NDArray[np.int32]
Integers = npt.NDArray[np.integer]
Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.number]


def number_within(group: Integers) -> Ints:
    """Return the number of each item, from 0 and in order, among those of the same group.

    Examples
    --------
    >>> number_within(np.array([7, 3, 7, 7, 3])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(group, kind="stable")
    number = np.empty(len(group), dtype=np.int64)
    number[order] = np.arange(len(group)) - np.searchsorted(group[order], group[order])
    return number
