"""The orders of the queue."""

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


class Wfp(Order, kind="wfp"):
    """Highest (wait / requested time)^3 x nodes first, computed at each pass: Cobalt's utility function WFP.

    It favours large jobs, and those with long waits relative to their requests (Tang, Lan, Desai and Buettner:
    Fault-aware, utility-based job scheduling on Blue Gene/P systems, CLUSTER 2009).
    """

    changes = True

    @staticmethod
    def score(now_s: float, submit_s: Floats, request_s: Floats, nodes: Floats, score: Floats) -> None:
        for job in range(len(score)):
            wait = (now_s - submit_s[job]) / request_s[job]
            score[job] = wait * wait * wait * nodes[job]
