"""Gather."""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.quantities import Size

from ..block_sizes import BlockPattern
from .collective import Collective, CollectivePart, reverse_steps, scattered


class Gather(BlockPattern, Collective, kind="gather"):
    """Each rank's block of `message` bytes reaches the root.

    ``linear``: all at once, directly. ``binomial``: up a binomial tree, whose inner ranks forward what they received,
    as in MPICH (Thakur, Rabenseifner and Gropp 2005).

    With `sizes` this is ``MPI_Gatherv``, which MPICH always performs with linear (src/mpi/coll/gatherv).
    """

    message_bytes: Size = Field(alias="message", description="block of each rank")
    algorithm: Literal["linear", "binomial"] = Field(
        "binomial", description="linear (directly to the root) or binomial (up a tree)"
    )

    def parts(self, ranks: int) -> list[CollectivePart]:
        return [reverse_steps(scattered(np.roll(self.rank_blocks(ranks), -self.root), self.algorithm))]
