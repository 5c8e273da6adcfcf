"""All-to-all."""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.kinds import register

from .base import MessagePattern, TrafficEstimate
from .sends import Sends, all_to_all_along, repeat


@register
class AllToAll(MessagePattern):
    """Each rank sends one message to every other rank.

    ``linear`` posts all in one phase; ``pairwise`` has one phase per partner: rank + k, or rank xor k where the
    number of ranks is a power of two (Thakur, Rabenseifner and Gropp, IJHPCA 2005).
    """

    kind: Literal["all-to-all"] = "all-to-all"
    algorithm: Literal["linear", "pairwise"] = Field(
        "linear", description="linear (all at once) or pairwise (one partner per phase)"
    )

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        phases = ranks - 1 if self.algorithm == "pairwise" else 1
        return (TrafficEstimate(float(ranks) * (ranks - 1) * self.iterations, int(self.message_bytes), phases),)

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        rank = np.arange(ranks, dtype=np.int32)
        linear = all_to_all_along(rank, 0)
        if self.algorithm == "linear":
            return repeat(linear, self.iterations)
        step = np.tile(rank[1:], ranks)
        exchange = ranks & (ranks - 1) == 0
        destination = linear.source ^ step if exchange else linear.destination
        return repeat(Sends(step - np.int32(1), linear.source, destination), self.iterations)
