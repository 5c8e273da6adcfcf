"""Rank r on core r."""

import numpy as np

from fabricstudy.core.arrays import Integers

from .base import Mapping
from .tasks import Slots, Tasks


class LinearMapping(Mapping, kind="linear"):
    """Rank r on core r of the allocation, filling node after node."""

    def map_ranks(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> Integers:
        return np.arange(slots.ranks)
