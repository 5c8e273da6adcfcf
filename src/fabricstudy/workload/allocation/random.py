"""Free nodes at random."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import RandomAllocation

from .request import Grant, Request


def allocate(config: RandomAllocation, request: Request) -> Grant:
    """Draw free nodes without replacement; ranks fill them in the order drawn."""
    return Grant(request.rng.permutation(np.flatnonzero(request.free))[: request.wanted])
