"""Random partners among the next ranks."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import SpreadPattern
from fabricstudy.workload.placed import IntArray

from .partners import sends_to_partners
from .sends import Sends


def sends(config: SpreadPattern, ranks: int, rng: np.random.Generator) -> Sends:
    """Send once from each rank to partners 1 to `neighbourhood` ranks later, counted round, with equal chance."""
    reach = min(config.neighbourhood or ranks - 1, ranks - 1)

    def draw(source: IntArray, rng: np.random.Generator) -> IntArray:
        return ((source + rng.integers(1, reach + 1, size=len(source))) % ranks).astype(np.int32)

    return sends_to_partners(config, ranks, rng, draw)
