"""Largest job first."""

from fabricstudy.core.arrays import Floats

from .base import Order


class LargestFirst(Order, kind="largest-first"):
    """Largest job first, by requested nodes."""

    @staticmethod
    def score(now_s: float, submit_s: Floats, request_s: Floats, nodes: Floats, score: Floats) -> None:
        score[:] = nodes
