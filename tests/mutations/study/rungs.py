"""What joins the two sides of a ladder."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def ends_of_rungs(rungs: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the routers at both ends of each rung: those half-way round from each other."""
    low = np.arange(rungs, dtype=np.int32)
    return low, low + np.int32(rungs)
