"""Random partners, drawn once for all iterations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fabricstudy.study.workloads.patterns import RandomPartners
from fabricstudy.workload.placed import IntArray

from .sends import Sends, one_phase

Draw = Callable[[IntArray, np.random.Generator], IntArray]


def sends_to_partners(config: RandomPartners, ranks: int, rng: np.random.Generator, draw: Draw) -> Sends:
    """Send once from each rank to each of its partners, in one phase an iteration.

    How many partners a rank has is drawn from the study's `degree`. `draw` gives a partner for each rank of an
    array; where that is the rank itself, it is asked again.
    """
    least, most = config.degree
    source = np.repeat(np.arange(ranks, dtype=np.int32), rng.integers(least, most + 1, size=ranks))
    partner = draw(source, rng)
    while len(own := np.flatnonzero(partner == source)):
        partner[own] = draw(source[own], rng)
    return one_phase(source, partner, config.iterations)
