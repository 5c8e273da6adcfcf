"""Shortest job first."""

from fabricstudy.core.arrays import Floats

from .base import Order


class ShortestFirst(Order, kind="shortest-first"):
    """Shortest job first, by requested time."""

    @staticmethod
    def score(now_s: float, submit_s: Floats, request_s: Floats, nodes: Floats, score: Floats) -> None:
        score[:] = -request_s
