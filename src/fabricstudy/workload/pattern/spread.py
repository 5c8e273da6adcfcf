"""Random partners among the next ranks."""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Int32s
from fabricstudy.core.kinds import register
from fabricstudy.core.model import Whole

from .partners import RandomPartners


@register
class SpreadPattern(RandomPartners):
    """Each rank sends to partners drawn from the next `neighbourhood` ranks (Jain et al., IPDPS 2017).

    A partner drawn twice receives two messages. The source does not state `degree` and `neighbourhood`.
    """

    kind: Literal["spread"] = "spread"
    neighbourhood: Whole | None = Field(
        None, ge=1, description="maximum distance of partners in ranks, cyclically; default: all ranks"
    )

    def draw(self, source: Int32s, ranks: int, rng: np.random.Generator) -> Int32s:
        reach = min(self.neighbourhood or ranks - 1, ranks - 1)
        return ((source + rng.integers(1, reach + 1, size=len(source))) % ranks).astype(np.int32)
