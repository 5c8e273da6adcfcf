"""Pairs of ranks, wherever they sit."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import Pairs

from .sends import Sends, one_phase


def sends(config: Pairs, ranks: int, rng: np.random.Generator) -> Sends:
    """Send once from each rank to its partner: rank + ranks / 2, or one drawn at random."""
    order = np.arange(ranks, dtype=np.int32)
    if config.shuffled:
        order = rng.permutation(order)
    return one_phase(order, np.roll(order, ranks // 2), config.iterations)
