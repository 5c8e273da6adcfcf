"""Ranks shuffled over the cores."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fabricstudy.kinds import register

from ..messages import Indices, Messages
from .base import Mapping
from .slots import Slots


@register
class RandomMapping(Mapping):
    """Ranks shuffled over the cores of the allocation."""

    kind: Literal["random"] = "random"

    def map_ranks(self, slots: Slots, messages: Messages | None, rng: np.random.Generator) -> Indices:
        """Draw one of all mappings with equal chance."""
        return rng.permutation(slots.ranks)
