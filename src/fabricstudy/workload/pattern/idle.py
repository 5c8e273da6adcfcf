"""Nothing at all."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import Idle

from .sends import Sends


def sends(config: Idle, ranks: int, rng: np.random.Generator) -> Sends:
    """Send nothing."""
    none = np.zeros(0, dtype=np.int32)
    return Sends(none, none, none)
