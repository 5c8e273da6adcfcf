"""Collectives between a root and all other ranks: gather, scatter and incast."""

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


class Scatter(BlockPattern, Collective, kind="scatter"):
    """The root sends each rank a block of `message` bytes.

    ``linear``: all at once, directly. ``binomial``: down a binomial tree, whose inner ranks forward the blocks of
    their subtrees, as in MPICH (Thakur, Rabenseifner and Gropp 2005).

    With `sizes` this is ``MPI_Scatterv``. MPICH always performs it with linear, since only the root has the sizes
    (src/mpi/coll/scatterv).
    """

    message_bytes: Size = Field(alias="message", description="block of each rank")
    algorithm: Literal["linear", "binomial"] = Field(
        "binomial", description="linear (directly from the root) or binomial (down a tree)"
    )

    def parts(self, ranks: int) -> list[CollectivePart]:
        return [scattered(np.roll(self.rank_blocks(ranks), -self.root), self.algorithm)]


class Incast(Collective, kind="incast"):
    """All other ranks send one message to the root at the same time, over one link (Phanishayee et al., FAST 2008)."""

    def parts(self, ranks: int) -> list[CollectivePart]:
        return [reverse_steps(scattered(np.full(ranks, self.message_bytes), "linear"))]
