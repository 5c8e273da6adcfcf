"""Shortest job first."""

from typing import Literal

from fabricstudy.core.arrays import Floats
from fabricstudy.core.kinds import register

from .base import Order


@register
class ShortestFirst(Order):
    """Shortest job first, by requested time."""

    kind: Literal["shortest-first"] = "shortest-first"

    @staticmethod
    def score(now_s: float, submit_s: Floats, request_s: Floats, nodes: Floats, score: Floats) -> None:
        score[:] = -request_s
