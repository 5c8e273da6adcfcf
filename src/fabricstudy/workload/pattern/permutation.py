"""A random partner for all iterations."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import Permutation

from .sends import Sends, one_phase


def sends(config: Permutation, ranks: int, rng: np.random.Generator) -> Sends:
    """Send once from each rank to its image under a permutation drawn from all those without fixed points."""
    rank = np.arange(ranks, dtype=np.int32)
    image = rng.permutation(rank)
    # One permutation in e has no fixed point, so this ends after three draws on average.
    while np.any(image == rank):
        image = rng.permutation(rank)
    return one_phase(rank, image, config.iterations)
