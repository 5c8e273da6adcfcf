"""The shortest first."""

from typing import Literal

from fabricstudy.core.kinds import register

from .base import Floats, Order


@register
class ShortestFirst(Order):
    """The job that asked for the shortest time first."""

    kind: Literal["shortest-first"] = "shortest-first"

    @staticmethod
    def score(now_s: float, submit_s: Floats, request_s: Floats, nodes: Floats, score: Floats) -> None:
        score[:] = -request_s
