"""No traffic."""

import numpy as np

from .base import Pattern, Sends, TrafficEstimate


class Idle(Pattern, kind="idle"):
    """The job occupies its nodes and sends nothing."""

    is_idle = True

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        return ()

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        none = np.zeros(0, dtype=np.int32)
        return Sends(none, none, none)
