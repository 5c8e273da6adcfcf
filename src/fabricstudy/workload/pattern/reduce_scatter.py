"""Reduce-scatter.

The switch-over points are those of MPICH (src/mpi/coll/reduce_scatter) and of Open MPI (ompi/mca/coll/tuned,
coll_tuned_decision_fixed.c at commit 010080e).
"""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.quantities import Size

from . import collective
from .collective import Collective, CollectivePart, Rounds, Step, ends_of_blocks, exchange, largest_power_of_two, ring

MPICH_REDUCE_SCATTER_BYTES = 524_288
OPEN_MPI_SHORT_BYTES, OPEN_MPI_LONG_BYTES = 12 * 1024, 256 * 1024


class ReduceScatter(Collective, kind="reduce-scatter"):
    """Each rank receives one block of the sum of all vectors of `message` bytes. The reduction costs no time.

    * ring: p - 1 steps to the next rank
    * pairwise: p - 1 steps, each block directly to its rank
    * recursive-halving: half, a quarter and so on of the vector, to ever nearer ranks; for numbers of ranks that are no
      power of two the excess ranks are folded first, as in MPICH (Thakur, Rabenseifner and Gropp 2005)
    * mpich: recursive-halving below 524,288 bytes, else pairwise (MPIR_CVAR_REDSCAT_COMMUTATIVE_LONG_MSG_SIZE)
    * open-mpi: recursive-halving up to 12 KiB, up to 256 KiB for powers of two, and with at least 0.0012 ranks a byte
      and 8; else ring: the fixed rules of Open MPI's coll/tuned; its releases from 4.1 on have other rules
    """

    message_bytes: Size = Field(alias="message", description="vector of each rank, divided into blocks")
    algorithm: Literal["ring", "pairwise", "recursive-halving", "mpich", "open-mpi"] = Field(
        "mpich", description="algorithm; mpich and open-mpi select one by bytes and ranks as these libraries do"
    )

    def chosen(self, ranks: int) -> str:
        size_bytes = int(self.message_bytes)
        if self.algorithm == "mpich":
            return "recursive-halving" if size_bytes < MPICH_REDUCE_SCATTER_BYTES else "pairwise"
        if self.algorithm == "open-mpi":
            is_power = largest_power_of_two(ranks) == ranks
            short = size_bytes <= OPEN_MPI_SHORT_BYTES or (size_bytes <= OPEN_MPI_LONG_BYTES and is_power)
            return "recursive-halving" if short or ranks >= 0.0012 * size_bytes + 8 else "ring"
        return self.algorithm

    def check_ranks(self, ranks: int) -> None:
        super().check_ranks(ranks)
        self.check_blocks(ranks, "it")

    def parts(self, ranks: int) -> list[CollectivePart]:
        size_bytes, algorithm = int(self.message_bytes), self.chosen(ranks)
        ends, rank = ends_of_blocks(size_bytes, ranks), np.arange(ranks)

        def send_block(step: int) -> Step:
            partner = (rank + step + 1) % ranks
            return exchange(rank, partner, np.diff(ends)[partner])

        if algorithm == "ring":
            return [ring(ranks, size_bytes, -1)]
        if algorithm == "pairwise":
            return [Rounds(ranks - 1, send_block)]
        before, workers, _ = collective.fold(ranks, size_bytes)
        # A worker for two ranks has the blocks of both, and finally sends the other rank its block.
        served = workers[: ranks - len(workers)] - 1
        of_workers = np.concatenate([ends[served], ends[workers[len(served) :]], ends[-1:]])
        after = [exchange(served + 1, served, ends[served + 1] - ends[served])] if len(served) else []
        return [before, collective.halving(workers, of_workers), after]
