"""Random mapping."""

import numpy as np

from fabricstudy.core.arrays import Integers

from .base import Mapping
from .tasks import Slots, Tasks


class RandomMapping(Mapping, kind="random"):
    """Ranks shuffled over the cores of the allocation."""

    def map_ranks(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> Integers:
        return rng.permutation(slots.ranks)
