"""All-gather: the block of each rank to every other rank."""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.model import ConfigError
from fabricstudy.core.quantities import Size

from ..block_sizes import BlockPattern
from .base import TrafficEstimate
from .collective import Collective, CollectivePart, Rounds, exchange, halving, reverse_steps


class AllGather(BlockPattern, Collective, kind="all-gather"):
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
        equal = self if self.sizes is None else self.model_copy(update={"sizes": None})
        return Collective.traffic(equal, ranks)

    def check_ranks(self, ranks: int) -> None:
        super().check_ranks(ranks)
        if self.algorithm == "recursive-doubling" and ranks & (ranks - 1):
            problem = f"recursive doubling needs a power of two of ranks, not {ranks}"
            remedy = "change the job's size, or use ring"
            raise ConfigError(problem, remedy, ("algorithm",), self.algorithm, "does-not-fit")

    def parts(self, ranks: int) -> list[CollectivePart]:
        rank, blocks = np.arange(ranks), np.roll(self.rank_blocks(ranks), -self.root)
        if self.algorithm == "ring":
            return [Rounds(ranks - 1, lambda step: exchange(rank, (rank + 1) % ranks, blocks[(rank - step) % ranks]))]
        return [reverse_steps(halving(rank, np.concatenate([[0], np.cumsum(blocks)])))]
