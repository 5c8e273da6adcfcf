"""Types of numpy arrays."""

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
