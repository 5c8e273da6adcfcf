"""The next and the previous rank."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import Ring

from .sends import Sends, one_phase


def sends(config: Ring, ranks: int, rng: np.random.Generator) -> Sends:
    """Send once from each rank to the next and once to the previous, all in one phase.

    Two ranks send each other two messages.
    """
    rank = np.arange(ranks, dtype=np.int32)
    neighbours = np.concatenate([np.roll(rank, -1), np.roll(rank, 1)])
    return one_phase(np.tile(rank, 2), neighbours, config.iterations)
