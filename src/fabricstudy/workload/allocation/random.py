"""Random free nodes."""

from typing import Literal

import numpy as np

from fabricstudy.core.kinds import register

from .base import Allocation, Grant, Request


@register
class RandomAllocation(Allocation):
    """Free nodes drawn at random without replacement; ranks fill them in the order drawn."""

    kind: Literal["random"] = "random"

    def allocate(self, request: Request) -> Grant:
        return Grant(request.rng.permutation(np.flatnonzero(request.free))[: request.wanted])
