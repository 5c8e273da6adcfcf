"""No traffic."""

from typing import ClassVar, Literal

import numpy as np

from fabricstudy.core.kinds import register

from .base import Pattern, Sends, TrafficEstimate


@register
class Idle(Pattern):
    """The job occupies its nodes and sends nothing."""

    kind: Literal["idle"] = "idle"
    silent: ClassVar[bool] = True

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        return ()

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        none = np.zeros(0, dtype=np.int32)
        return Sends(none, none, none)
