"""Rank r on core r."""

from typing import Literal

import numpy as np

from fabricstudy.core.arrays import Integers
from fabricstudy.core.kinds import register

from .base import Mapping
from .tasks import Slots, Tasks


@register
class LinearMapping(Mapping):
    """Rank r on core r of the allocation, filling node after node."""

    kind: Literal["linear"] = "linear"

    def map_ranks(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> Integers:
        return np.arange(slots.ranks)
