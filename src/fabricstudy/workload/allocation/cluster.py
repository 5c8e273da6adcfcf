"""The first free nodes."""

from __future__ import annotations

import numpy as np

from fabricstudy.machine import Machine
from fabricstudy.study import Cluster
from fabricstudy.workload.placed import Indices, Mask


def allocate(config: Cluster, machine: Machine, free: Mask, wanted: int, rng: np.random.Generator) -> Indices:
    """Take the first free nodes in order of node number."""
    return np.flatnonzero(free)[:wanted]
