"""Ranks shuffled over the cores."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import RandomMapping
from fabricstudy.workload.placed import Indices, Messages

from .seats import Seats


def seat(config: RandomMapping, seats: Seats, messages: Messages | None, rng: np.random.Generator) -> Indices:
    """Draw one of all seatings with equal chance."""
    return rng.permutation(seats.ranks)
