"""Which rank sits on which core of the allocation: one module a mapping.

Each gives the core of each rank, a permutation of the job's cores: ``mapping(config, seats, messages, rng) ->
integer array [ranks]``, where `messages` is None if the pattern itself depends on where the ranks sit. It may
raise `WorkloadError`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fabricstudy.workload.placed import Indices, Messages

from . import file, linear, random, recursive_bisection
from .seats import Seats

Mapping = Callable[[Any, Seats, Messages | None, np.random.Generator], Indices]

# One line a mapping, by the `kind` of its config.
MAPPINGS: dict[str, Mapping] = {
    "linear": linear.seat,
    "random": random.seat,
    "recursive-bisection": recursive_bisection.seat,
    "file": file.seat,
}

__all__ = ["MAPPINGS", "Mapping", "Seats"]
