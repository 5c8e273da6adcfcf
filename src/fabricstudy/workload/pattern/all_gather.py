"""All-gather: the block of each rank to every other rank."""

from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.model import ConfigError
from fabricstudy.core.quantities import Size

from ..block_sizes import BlockPattern
from .base import Sends, TrafficEstimate, concatenate_phases, one_phase, repeat, without_empty


class AllGather(BlockPattern, kind="all-gather"):
    """Each rank's block of `message` bytes reaches every other rank (Thakur, Rabenseifner and Gropp 2005).

    ``ring``: in each of ranks - 1 phases a rank forwards one block to the next rank. ``recursive-doubling``: in
    phase k a rank exchanges the 2^k blocks it has with rank xor 2^k; the number of ranks is a power of two.

    With `sizes` this is ``MPI_Allgatherv``. MPICH uses recursive doubling below 512 KiB in total if the ranks are a
    power of two; else Bruck's algorithm, not implemented here, below 80 KiB, and ring in segments
    (src/mpi/coll/allgatherv).
    """

    message_bytes: Size = Field(alias="message", description="block of each rank")
    algorithm: Literal["ring", "recursive-doubling"] = Field(
        "ring", description="ring (one block per phase to the next rank) or recursive-doubling (doubled in each phase)"
    )

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages by size; with `sizes` by the mean, as if no block were empty."""
        block = int(self.message_bytes)
        if self.algorithm == "ring":
            return (TrafficEstimate(float(ranks) * (ranks - 1) * self.iterations, block, ranks - 1),)
        phases = (ranks - 1).bit_length()
        return tuple(TrafficEstimate(float(ranks) * self.iterations, block << phase) for phase in range(phases))

    def is_near(self, ranks: int) -> bool:
        return self.algorithm == "ring" and self.numbering == "natural"

    def check_ranks(self, ranks: int) -> None:
        super().check_ranks(ranks)
        if self.algorithm == "recursive-doubling" and ranks & (ranks - 1):
            problem = f"recursive doubling needs a power of two of ranks, not {ranks}"
            remedy = "change the job's size, or use ring"
            raise ConfigError(problem, remedy, ("algorithm",), self.algorithm, "does-not-fit")

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        rank = np.arange(ranks, dtype=np.int32)
        blocks = self.rank_blocks(ranks)
        if self.algorithm == "ring":
            steps = one_phase(rank, np.roll(rank, -1), ranks - 1)
            sent = None if self.sizes is None else blocks[(steps.source - steps.phase) % ranks]
            return without_empty(repeat(replace(steps, size_bytes=sent), self.iterations))
        ends = np.concatenate([[0], np.cumsum(blocks)])
        parts = []
        for distance in (1 << k for k in range((ranks - 1).bit_length())):
            first = rank // distance * distance
            parts.append(one_phase(rank, rank ^ np.int32(distance), size_bytes=ends[first + distance] - ends[first]))
        return without_empty(concatenate_phases(parts, self.iterations))
