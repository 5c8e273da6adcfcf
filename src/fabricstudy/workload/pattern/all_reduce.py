"""A vector of every rank, added up, for all ranks.

References
----------
Rabenseifner: Optimization of collective reduction operations. ICCS 2004, doi:10.1007/978-3-540-24685-5_1.
Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations. J. Parallel and Distributed
Computing 69(2), 2009, doi:10.1016/j.jpdc.2008.09.002.
MPICH: src/mpi/coll/allreduce (MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE). Open MPI: ompi/mca/coll/tuned,
coll_tuned_decision_fixed.c at commit 010080e.
"""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.quantities import Size

from .collective import (
    Collective,
    CollectivePart,
    ends_of_blocks,
    fold,
    halving,
    power_below,
    recursive_doubling,
    reverse_steps,
    ring,
    tree_down,
)

MPICH_SHORT_BYTES = 2048
OPEN_MPI_SHORT_BYTES = 10_000


@register
class AllReduce(Collective):
    """Vectors of `message` bytes, one a rank, are added up, and every rank gets the sum. Adding takes no time.

    * ring: each block goes round twice, in 2 (p - 1) steps (Patarasuk and Yuan 2009)
    * recursive-doubling: the whole vector to the rank 2^k away
    * rabenseifner: reduce-scatter by recursive halving, then all-gather by recursive doubling (Rabenseifner 2004)
    * tree: up a binomial tree to the root, then down again
    * mpich: recursive-doubling up to 2048 bytes or with fewer bytes than ranks, else rabenseifner, as MPICH's
      reduce-scatter-allgather for vectors of bytes (MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE)
    * open-mpi: recursive-doubling below 10,000 bytes, else ring, as the fixed rules of Open MPI's coll/tuned; its
      segments above 1 MiB a rank are left out, and its releases from 4.1 on have other rules

    With other numbers of ranks than powers of two, recursive-doubling and rabenseifner let some ranks work for another
    one, as MPICH does (Thakur, Rabenseifner and Gropp 2005).
    """

    kind: Literal["all-reduce"] = "all-reduce"
    message_bytes: Size = Field(alias="message", description="vector of each rank")
    algorithm: Literal["ring", "recursive-doubling", "rabenseifner", "tree", "mpich", "open-mpi"] = Field(
        "mpich", description="how it is done; mpich and open-mpi choose by bytes and ranks as these libraries do"
    )

    def chosen(self, ranks: int) -> str:
        """Return the algorithm by which it is done."""
        if self.algorithm == "mpich":
            short = self.message_bytes <= MPICH_SHORT_BYTES or self.message_bytes < power_below(ranks)
            return "recursive-doubling" if short else "rabenseifner"
        if self.algorithm == "open-mpi":
            short = self.message_bytes < OPEN_MPI_SHORT_BYTES or self.message_bytes <= ranks
            return "recursive-doubling" if short else "ring"
        return self.algorithm

    def is_near(self, ranks: int) -> bool:
        return self.chosen(ranks) == "ring" and self.numbering == "natural"

    def check_ranks(self, ranks: int) -> None:
        """Refuse a vector that cannot be divided where it has to be."""
        super().check_ranks(ranks)
        if self.chosen(ranks) in ("ring", "rabenseifner"):
            self.check_blocks(ranks if self.chosen(ranks) == "ring" else power_below(ranks), self.chosen(ranks))

    def parts(self, ranks: int) -> list[CollectivePart]:
        size_bytes, algorithm = int(self.message_bytes), self.chosen(ranks)
        if algorithm == "ring":
            return [ring(ranks, size_bytes, -1), ring(ranks, size_bytes, 0)]
        if algorithm == "recursive-doubling":
            return [recursive_doubling(ranks, size_bytes)]
        if algorithm == "tree":
            down = tree_down(np.arange(ranks + 1) * 0, size_bytes)
            return [reverse_steps(down), down]
        before, workers, after = fold(ranks, size_bytes)
        scattered = halving(workers, ends_of_blocks(size_bytes, len(workers)))
        return [before, scattered, reverse_steps(scattered), after]
