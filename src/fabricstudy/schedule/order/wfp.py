"""The order of Argonne's Blue Genes."""

from fabricstudy.core.arrays import Floats

from .base import Order


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
