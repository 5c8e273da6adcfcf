"""All-gather: the block of each rank to every other rank."""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError

from .base import MessagePattern, TrafficEstimate
from .sends import Sends, concatenate_phases, one_phase


@register
class AllGather(MessagePattern):
    """Each rank's block of `message` bytes reaches every other rank (Thakur, Rabenseifner and Gropp 2005).

    ``ring``: in each of ranks - 1 phases a rank forwards one block to the next rank. ``recursive-doubling``: in
    phase k a rank exchanges the 2^k blocks it has with rank xor 2^k; the number of ranks is a power of two.
    """

    kind: Literal["all-gather"] = "all-gather"
    algorithm: Literal["ring", "recursive-doubling"] = Field(
        "ring", description="ring (one block per phase to the next rank) or recursive-doubling (doubled in each phase)"
    )

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        block = int(self.message_bytes)
        if self.algorithm == "ring":
            return (TrafficEstimate(float(ranks) * (ranks - 1) * self.iterations, block, ranks - 1),)
        phases = (ranks - 1).bit_length()
        return tuple(TrafficEstimate(float(ranks) * self.iterations, block << phase) for phase in range(phases))

    def is_near(self, ranks: int) -> bool:
        return self.algorithm == "ring" and self.numbering == "natural"

    def check_ranks(self, ranks: int) -> None:
        if self.algorithm == "recursive-doubling" and ranks & (ranks - 1):
            problem = f"recursive doubling needs a power of two of ranks, not {ranks}"
            remedy = "change the job's size, or use ring"
            raise ConfigError(problem, remedy, ("algorithm",), self.algorithm, "does-not-fit")

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        rank = np.arange(ranks, dtype=np.int32)
        if self.algorithm == "ring":
            return one_phase(rank, np.roll(rank, -1), (ranks - 1) * self.iterations)
        block, phases = int(self.message_bytes), (ranks - 1).bit_length()
        parts = [one_phase(rank, rank ^ np.int32(1 << k), size_bytes=block << k) for k in range(phases)]
        return concatenate_phases(parts, self.iterations)
