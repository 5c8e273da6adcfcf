"""Broadcast."""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.model import ConfigError
from fabricstudy.core.quantities import Size

from .collective import (
    Collective,
    CollectivePart,
    ends_of_blocks,
    halving,
    largest_power_of_two,
    reverse_steps,
    ring,
    tree_down,
)

MPICH_SHORT_BYTES, MPICH_LONG_BYTES, MPICH_FEW_RANKS = 12_288, 524_288, 8


class Broadcast(Collective, kind="broadcast"):
    """The root's `message` bytes reach every rank (Thakur, Rabenseifner and Gropp 2005).

    * binomial: undivided, down a binomial tree
    * scatter-ring: blocks down a binomial tree, then all-gather round a ring
    * scatter-recursive-doubling: the same with all-gather by recursive doubling, for powers of two (van de Geijn)
    * mpich: binomial below 12,288 bytes or 8 ranks; else scatter-recursive-doubling below 524,288 bytes with a power of
      two of ranks; else scatter-ring (MPIR_CVAR_BCAST_SHORT_MSG_SIZE, _LONG_MSG_SIZE and _MIN_PROCS)
    """

    message_bytes: Size = Field(alias="message", description="data of the root")
    algorithm: Literal["binomial", "scatter-ring", "scatter-recursive-doubling", "mpich"] = Field(
        "mpich", description="algorithm; mpich selects one by bytes and ranks as the library does"
    )

    def chosen(self, ranks: int) -> str:
        if self.algorithm != "mpich":
            return self.algorithm
        if self.message_bytes < MPICH_SHORT_BYTES or ranks < MPICH_FEW_RANKS:
            return "binomial"
        medium = self.message_bytes < MPICH_LONG_BYTES and largest_power_of_two(ranks) == ranks
        return "scatter-recursive-doubling" if medium else "scatter-ring"

    def check_ranks(self, ranks: int) -> None:
        super().check_ranks(ranks)
        if self.chosen(ranks) != "binomial":
            self.check_blocks(ranks, self.chosen(ranks))
        if self.chosen(ranks) == "scatter-recursive-doubling" and largest_power_of_two(ranks) != ranks:
            problem = f"recursive doubling needs a power of two of ranks, not {ranks}"
            remedy = "change the job's size, or use scatter-ring"
            raise ConfigError(problem, remedy, ("algorithm",), self.algorithm, "does-not-fit")

    def parts(self, ranks: int) -> list[CollectivePart]:
        size_bytes, algorithm = int(self.message_bytes), self.chosen(ranks)
        ends = ends_of_blocks(size_bytes, ranks)
        if algorithm == "binomial":
            return [tree_down(ends * 0, size_bytes)]
        if algorithm == "scatter-ring":
            return [tree_down(ends), ring(ranks, size_bytes, 0)]
        return [tree_down(ends), reverse_steps(halving(np.arange(ranks), ends))]
