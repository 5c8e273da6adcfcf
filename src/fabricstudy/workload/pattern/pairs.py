"""Pairs of ranks, wherever they sit."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.kinds import register
from fabricstudy.model import ConfigError, Flag
from fabricstudy.workload.pattern.base import MessagePattern

from .sends import Sends, one_phase


@register
class Pairs(MessagePattern):
    """Each rank exchanges with the rank half the job later (Jain et al., IPDPS 2017), or with one drawn at random."""

    kind: Literal["pairs"] = "pairs"
    shuffled: Flag = Field(False, description="whether the pairs are drawn at random, once for all iterations")

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations."""
        return float(ranks) * self.iterations

    def check_ranks(self, ranks: int) -> None:
        """Refuse an odd number of ranks."""
        if ranks % 2:
            raise ConfigError(
                f"pairs need an even number of ranks and get {ranks}", "change the job's size", code="ranks-do-not-fit"
            )

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        """Send once from each rank to its partner: rank + ranks / 2, or one drawn at random."""
        order = np.arange(ranks, dtype=np.int32)
        if self.shuffled:
            order = rng.permutation(order)
        return one_phase(order, np.roll(order, ranks // 2), self.iterations)
