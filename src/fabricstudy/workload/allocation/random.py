"""Random free nodes."""

import numpy as np

from .base import Allocation, Grant, Request


class RandomAllocation(Allocation, kind="random"):
    """Free nodes drawn at random without replacement; ranks fill them in the order drawn."""

    def allocate(self, request: Request) -> Grant:
        return Grant(request.rng.permutation(np.flatnonzero(request.free))[: request.wanted])
