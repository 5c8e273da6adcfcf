"""Nobody goes on before everybody is there."""

from typing import Literal

from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.quantities import Size

from .collective import Collective, CollectivePart, dissemination


@register
class Barrier(Collective):
    """Every rank hears of every other one, by dissemination: in step k it tells the rank 2^k away.

    The algorithm is that of Hensgen, Finkel and Manber (1988), and of MPICH. Messages of MPI's barrier hold no byte;
    here they have one, the least that can be sent.
    """

    kind: Literal["barrier"] = "barrier"
    message_bytes: Size = Field("1 B", alias="message", validate_default=True, description="size of each message")

    def parts(self, ranks: int) -> list[CollectivePart]:
        """Return the steps: as many as 2 has to be doubled to reach the ranks."""
        return [dissemination(ranks, int(self.message_bytes))]
