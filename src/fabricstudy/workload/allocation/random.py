"""Free nodes at random."""

from __future__ import annotations

import numpy as np

from fabricstudy.machine import Machine
from fabricstudy.study import RandomAllocation
from fabricstudy.workload.placed import Indices, Mask


def allocate(config: RandomAllocation, machine: Machine, free: Mask, wanted: int, rng: np.random.Generator) -> Indices:
    """Draw free nodes without replacement; ranks fill them in the order drawn."""
    return rng.permutation(np.flatnonzero(free))[:wanted]
