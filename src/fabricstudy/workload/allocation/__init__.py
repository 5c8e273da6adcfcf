"""Which nodes a job gets: one module a policy.

Each gives the nodes of a job in the order in which ranks are to fill them: ``policy(config, machine, free,
wanted, rng) -> integer array [wanted]``, where `free` (bool [nodes]) has at least `wanted` nodes left. It may
raise `WorkloadError`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fabricstudy.machine import Machine
from fabricstudy.workload.placed import Indices, Mask

from . import cluster, explicit, random, spread

Policy = Callable[[Any, Machine, Mask, int, np.random.Generator], Indices]

# One line a policy, by the `kind` of its config.
ALLOCATIONS: dict[str, Policy] = {
    "cluster": cluster.allocate,
    "spread": spread.allocate,
    "random": random.allocate,
    "explicit": explicit.allocate,
}
