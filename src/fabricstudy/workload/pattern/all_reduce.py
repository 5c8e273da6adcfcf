"""All-reduce.

References
----------
Rabenseifner: Optimization of collective reduction operations. ICCS 2004, doi:10.1007/978-3-540-24685-5_1.
Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations. J. Parallel and Distributed
Computing 69(2), 2009, doi:10.1016/j.jpdc.2008.09.002.
Sanders, Speck, Träff: Two-tree algorithms for full bandwidth broadcast, reduction and scan. Parallel Computing 35(12),
2009, doi:10.1016/j.parco.2009.09.001.
MPICH: src/mpi/coll/allreduce (MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE). Open MPI: ompi/mca/coll/tuned,
coll_tuned_decision_fixed.c at commit 010080e.
"""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.model import ConfigError, Whole, model_check
from fabricstudy.core.quantities import Size

from . import collective
from .collective import Collective, CollectivePart, exchange, largest_power_of_two, reverse_steps, ring

Algorithm = Literal["ring", "recursive-doubling", "rabenseifner", "tree", "double-tree", "hierarchical", "direct"]

MPICH_ALL_REDUCE_BYTES = 2048
OPEN_MPI_ALL_REDUCE_BYTES = 10_000


class AllReduce(Collective, kind="all-reduce"):
    """Every rank receives the sum of all ranks' vectors of `message` bytes. The reduction itself costs no time.

    * ring: each block goes round twice, in 2 (p - 1) steps (Patarasuk and Yuan 2009)
    * recursive-doubling: the full vector to the rank 2^k away
    * rabenseifner: reduce-scatter by recursive halving, then all-gather by recursive doubling (Rabenseifner 2004)
    * tree: up a binomial tree to the root, then down again
    * double-tree: half of the vector up and down each of two binary trees, in up to 16 segments of 128 KiB or more;
      a rank has children in one of them only (Sanders, Speck and Träff 2009; NCCL)
    * hierarchical: reduce-scatter within groups of `inside` ranks, all-reduce across the groups, all-gather within,
      all by rings
    * direct: each block directly to the rank that reduces it, and the sum directly to all, in two steps
    * mpich: recursive-doubling up to 2048 bytes or with fewer bytes than ranks, else rabenseifner, as MPICH's
      reduce-scatter-allgather for vectors of bytes (MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE)
    * open-mpi: recursive-doubling below 10,000 bytes, else ring, as the fixed rules of Open MPI's coll/tuned; its
      segmentation above 1 MiB per rank is not modelled, and its releases from 4.1 on have other rules

    For numbers of ranks that are no power of two, recursive-doubling and rabenseifner first fold the excess ranks into
    their neighbours, as MPICH does (Thakur, Rabenseifner and Gropp 2005).
    """

    message_bytes: Size = Field(alias="message", description="vector of each rank")
    algorithm: Literal[Algorithm, "mpich", "open-mpi"] = Field(
        "mpich", description="algorithm; mpich and open-mpi select one by bytes and ranks as these libraries do"
    )
    inside: Whole | None = Field(None, ge=2, description="consecutive ranks of a group of hierarchical")

    @model_check
    def _has_groups(self) -> None:
        check_inside(self.algorithm, self.inside)

    def chosen(self, ranks: int) -> str:
        if self.algorithm == "mpich":
            short = self.message_bytes <= MPICH_ALL_REDUCE_BYTES or self.message_bytes < largest_power_of_two(ranks)
            return "recursive-doubling" if short else "rabenseifner"
        if self.algorithm == "open-mpi":
            short = self.message_bytes < OPEN_MPI_ALL_REDUCE_BYTES or self.message_bytes <= ranks
            return "recursive-doubling" if short else "ring"
        return self.algorithm

    def check_ranks(self, ranks: int) -> None:
        super().check_ranks(ranks)
        if self.chosen(ranks) in ("ring", "direct", "hierarchical", "rabenseifner"):
            divided = largest_power_of_two(ranks) if self.chosen(ranks) == "rabenseifner" else ranks
            self.check_blocks(divided, self.chosen(ranks))
        if self.inside is not None and (ranks % self.inside or ranks == self.inside):
            problem = f"{ranks} ranks cannot be divided into several groups of {self.inside}"
            remedy = "use a divisor of the number of ranks"
            raise ConfigError(problem, remedy, ("inside",), self.inside, "does-not-fit")

    def parts(self, ranks: int) -> list[CollectivePart]:
        return all_reduce(self.chosen(ranks), ranks, int(self.message_bytes), self.inside)


def check_inside(algorithm: str, inside: int | None) -> None:
    """Raise ConfigError unless `inside` is set for hierarchical algorithms, and only for these."""
    if (algorithm == "hierarchical") != (inside is not None):
        problem = "hierarchical needs groups" if inside is None else f"{algorithm} has no groups"
        remedy = "set inside, such as 8" if inside is None else "omit inside, or choose hierarchical"
        raise ConfigError(problem, remedy, ("inside",), inside, "conflicting-keys")


def all_reduce(algorithm: str, ranks: int, size_bytes: int, inside: int | None = None) -> list[CollectivePart]:
    """Return the consecutive steps of an algorithm that all-reduces a vector of `size_bytes`."""
    if algorithm == "ring":
        return [ring(ranks, size_bytes, -1), ring(ranks, size_bytes, 0)]
    if algorithm == "direct":
        scattered = collective.direct(ranks, size_bytes)
        return [scattered, reverse_steps(scattered)]
    if algorithm == "hierarchical":
        assert inside is not None
        return [collective.hierarchical(ranks, inside, size_bytes)]
    if algorithm == "double-tree":
        return [collective.double_tree(ranks, size_bytes)]
    if algorithm == "tree":
        down = collective.tree_down(np.arange(ranks + 1) * 0, size_bytes)
        return [reverse_steps(down), down]
    before, workers, after = collective.fold(ranks, size_bytes)
    if algorithm == "recursive-doubling":
        number, steps = np.arange(len(workers)), range(len(workers).bit_length() - 1)
        doubling = [exchange(workers, workers[number ^ (1 << step)], size_bytes) for step in steps]
        return [before, doubling, after]
    scattered = collective.halving(workers, collective.ends_of_blocks(size_bytes, len(workers)))
    return [before, scattered, reverse_steps(scattered), after]
