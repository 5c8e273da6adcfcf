"""First come, first served."""

from typing import Literal

from fabricstudy.core.arrays import Floats
from fabricstudy.core.kinds import register

from .base import Order


@register
class Fcfs(Order):
    """First come, first served: by time of submission."""

    kind: Literal["fcfs"] = "fcfs"

    @staticmethod
    def score(now_s: float, submit_s: Floats, request_s: Floats, nodes: Floats, score: Floats) -> None:
        score[:] = 0.0
