"""Orders by one property of a job."""

from fabricstudy.core.arrays import Floats

from .base import Order


class Fcfs(Order, kind="fcfs"):
    """First come, first served: by time of submission."""

    @staticmethod
    def score(now_s: float, submit_s: Floats, request_s: Floats, nodes: Floats, score: Floats) -> None:
        score[:] = 0.0


class LargestFirst(Order, kind="largest-first"):
    """Largest job first, by requested nodes."""

    @staticmethod
    def score(now_s: float, submit_s: Floats, request_s: Floats, nodes: Floats, score: Floats) -> None:
        score[:] = nodes


class ShortestFirst(Order, kind="shortest-first"):
    """Shortest job first, by requested time."""

    @staticmethod
    def score(now_s: float, submit_s: Floats, request_s: Floats, nodes: Floats, score: Floats) -> None:
        score[:] = -request_s
