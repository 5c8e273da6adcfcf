"""Each rank sends to one some steps further on."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from fabricstudy.core.model import Whole
from fabricstudy.workload.pattern import MessagePattern, Sends, one_phase


class Ahead(MessagePattern, kind="ahead"):
    """Each rank sends to the rank `step` further on, round the end to the first."""

    step: Whole = Field(1, ge=1, le=1_000_000, description="ranks from sender to receiver")

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations."""
        return float(ranks) * self.iterations

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        """Send once from each rank."""
        rank = np.arange(ranks, dtype=np.int32)
        return one_phase(rank, (rank + self.step) % ranks, self.iterations)
