"""Rank r on core r."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import LinearMapping
from fabricstudy.workload.placed import Indices, Messages

from .seats import Seats


def seat(config: LinearMapping, seats: Seats, messages: Messages | None, rng: np.random.Generator) -> Indices:
    """Fill node after node in rank order."""
    return np.arange(seats.ranks)
