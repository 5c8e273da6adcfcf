"""Uniform random traffic."""

import numpy as np
from pydantic import Field

from fabricstudy.core.model import Whole

from .base import MessagePattern, Sends


class UniformRandom(MessagePattern, kind="uniform-random"):
    """Each rank sends `messages_per_rank` messages, each to a rank drawn uniformly from the others."""

    messages_per_rank: Whole = Field(1, ge=1, le=1_000_000, description="messages of each rank in an iteration")

    def traffic_messages(self, ranks: int) -> float:
        return float(ranks) * self.messages_per_rank * self.iterations

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        phase = np.repeat(np.arange(self.iterations, dtype=np.int32), ranks * self.messages_per_rank)
        source = np.tile(np.repeat(np.arange(ranks, dtype=np.int32), self.messages_per_rank), self.iterations)
        step = rng.integers(1, ranks, size=len(source), dtype=np.int32)
        return Sends(phase, source, (source + step) % np.int32(ranks))
