"""All-to-all."""

from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.model import Whole

from ..block_sizes import BlockPattern, pair_blocks
from .base import SEND_ORDERS, SendOrder, Sends, TrafficEstimate, all_to_all_along, repeat, without_empty


class AllToAll(BlockPattern, kind="all-to-all"):
    """Each rank sends one message to every other rank.

    ``linear`` posts all in one phase; ``pairwise`` has one phase per partner: rank + k, or rank xor k where the
    number of ranks is a power of two (Thakur, Rabenseifner and Gropp, IJHPCA 2005). ``scattered`` has `window` partners
    per phase, itself counted: rank, rank - 1, rank - 2, ...

    With `sizes` this is ``MPI_Alltoallv``, or ``MPI_Alltoallw`` if these are the bytes of the datatypes. MPICH performs
    both with scattered, unless in place (src/mpi/coll/alltoallv, src/mpi/coll/alltoallw, MPIR_CVAR_ALLTOALL_THROTTLE).
    """

    sizes_of_pairs = True
    algorithm: Literal["linear", "pairwise", "scattered"] = Field(
        "linear", description="linear (all at once), pairwise (one partner per phase) or scattered (`window` per phase)"
    )
    window: Whole = Field(32, ge=2, description="partners per phase of scattered")
    # Ranks that each draw an order of their own meet at receivers, which costs more than the network does.
    order: SendOrder = Field("rounds", description=SEND_ORDERS)

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages; with `sizes` by their mean, as if no block were empty."""
        phases = {"linear": 1, "pairwise": ranks - 1, "scattered": -(-ranks // self.window)}[self.algorithm]
        return (TrafficEstimate(float(ranks) * (ranks - 1) * self.iterations, int(self.message_bytes), phases),)

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        sends = self._steps(ranks)
        if self.sizes is not None:
            blocks = pair_blocks(self.sizes, ranks, int(self.message_bytes))
            sends = replace(sends, size_bytes=blocks[sends.source, sends.destination])
        return without_empty(repeat(sends, self.iterations))

    def _steps(self, ranks: int) -> Sends:
        rank = np.arange(ranks, dtype=np.int32)
        linear = all_to_all_along(rank, 0)
        step = np.tile(rank[1:], ranks)
        if self.algorithm == "linear":
            return linear
        if self.algorithm == "scattered":
            return Sends(step // np.int32(self.window), linear.source, (linear.source - step) % np.int32(ranks))
        exchange = ranks & (ranks - 1) == 0
        destination = linear.source ^ step if exchange else linear.destination
        return Sends(step - np.int32(1), linear.source, destination)
