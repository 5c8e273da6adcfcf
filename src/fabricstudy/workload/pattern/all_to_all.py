"""Every rank to every other."""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.kinds import register

from .base import MessagePattern, TrafficEstimate
from .sends import Sends, one_phase, repeat


@register
class AllToAll(MessagePattern):
    """Each rank sends one message to every other rank.

    ``linear`` posts all in one phase; ``pairwise`` has one phase per partner (rank + k, or rank xor k where the
    number of ranks is a power of two).
    """

    kind: Literal["all-to-all"] = "all-to-all"
    algorithm: Literal["linear", "pairwise"] = Field(
        "linear", description="linear (all at once) or pairwise (one partner a phase)"
    )

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        phases = ranks - 1 if self.algorithm == "pairwise" else 1
        return (TrafficEstimate(float(ranks) * (ranks - 1) * self.iterations, int(self.message_bytes), phases),)

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        """Send once from each rank to each other rank.

        ``linear`` has one phase. ``pairwise`` has ranks - 1 phases: in phase k a rank sends to rank xor (k + 1)
        where the number of ranks is a power of two, else to rank + k + 1 (Thakur, Rabenseifner and Gropp, IJHPCA
        2005).
        """
        source = np.repeat(np.arange(ranks, dtype=np.int32), ranks - 1)
        step = np.tile(np.arange(1, ranks, dtype=np.int32), ranks)
        if self.algorithm == "linear":
            return one_phase(source, (source + step) % np.int32(ranks), self.iterations)
        exchange = ranks & (ranks - 1) == 0
        destination = source ^ step if exchange else (source + step) % np.int32(ranks)
        return repeat(Sends(step - np.int32(1), source, destination), self.iterations)
