"""Every rank to every other."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import AllToAll

from .sends import Sends, one_phase, repeat


def sends(config: AllToAll, ranks: int, rng: np.random.Generator) -> Sends:
    """Send once from each rank to each other rank.

    ``linear`` has one phase. ``pairwise`` has ranks - 1 phases: in phase k a rank sends to rank xor (k + 1)
    where the number of ranks is a power of two, else to rank + k + 1 (Thakur, Rabenseifner and Gropp, IJHPCA
    2005).
    """
    source = np.repeat(np.arange(ranks, dtype=np.int32), ranks - 1)
    step = np.tile(np.arange(1, ranks, dtype=np.int32), ranks)
    if config.algorithm == "linear":
        return one_phase(source, (source + step) % np.int32(ranks), config.iterations)
    exchange = ranks & (ranks - 1) == 0
    destination = source ^ step if exchange else (source + step) % np.int32(ranks)
    return repeat(Sends(step - np.int32(1), source, destination), config.iterations)
