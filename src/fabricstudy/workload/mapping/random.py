"""Random mapping."""

from typing import Literal

import numpy as np

from fabricstudy.core.arrays import Integers
from fabricstudy.core.kinds import register

from .base import Mapping
from .tasks import Slots, Tasks


@register
class RandomMapping(Mapping):
    """Ranks shuffled over the cores of the allocation."""

    kind: Literal["random"] = "random"

    def map_ranks(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> Integers:
        return rng.permutation(slots.ranks)
