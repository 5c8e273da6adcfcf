"""Largest job first."""

from typing import Literal

from fabricstudy.core.arrays import Floats
from fabricstudy.core.kinds import register

from .base import Order


@register
class LargestFirst(Order):
    """Largest job first, by requested nodes."""

    kind: Literal["largest-first"] = "largest-first"

    @staticmethod
    def score(now_s: float, submit_s: Floats, request_s: Floats, nodes: Floats, score: Floats) -> None:
        score[:] = nodes
