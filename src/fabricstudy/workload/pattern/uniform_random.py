"""Random partners, drawn anew each time."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import UniformRandom

from .sends import Sends


def sends(config: UniformRandom, ranks: int, rng: np.random.Generator) -> Sends:
    """Send from each rank in each iteration `messages_per_rank` times, to any other with equal chance."""
    a_phase = ranks * config.messages_per_rank
    phase = np.repeat(np.arange(config.iterations, dtype=np.int32), a_phase)
    source = np.tile(np.repeat(np.arange(ranks, dtype=np.int32), config.messages_per_rank), config.iterations)
    step = rng.integers(1, ranks, size=len(source), dtype=np.int32)
    return Sends(phase, source, (source + step) % np.int32(ranks))
