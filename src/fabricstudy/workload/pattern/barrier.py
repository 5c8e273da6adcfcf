"""Barrier."""

import numpy as np
from pydantic import Field

from fabricstudy.core.quantities import Size

from .collective import Collective, CollectivePart, exchange


class Barrier(Collective, kind="barrier"):
    """Barrier by dissemination: in step k each rank sends to the rank 2^k away.

    The algorithm is that of Hensgen, Finkel and Manber (1988), and of MPICH. Messages of MPI's barrier are empty;
    here they have one byte, the minimum.
    """

    message_bytes: Size = Field("1 B", alias="message", validate_default=True, description="size of each message")

    def parts(self, ranks: int) -> list[CollectivePart]:
        rank, size_bytes = np.arange(ranks), int(self.message_bytes)
        return [[exchange(rank, (rank + (1 << step)) % ranks, size_bytes) for step in range((ranks - 1).bit_length())]]
