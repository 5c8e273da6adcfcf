"""First come, first served."""

from fabricstudy.core.arrays import Floats

from .base import Order


class Fcfs(Order, kind="fcfs"):
    """First come, first served: by time of submission."""

    @staticmethod
    def score(now_s: float, submit_s: Floats, request_s: Floats, nodes: Floats, score: Floats) -> None:
        score[:] = 0.0
