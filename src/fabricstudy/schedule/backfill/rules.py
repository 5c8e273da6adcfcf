"""The rules by which jobs start out of the order of the queue."""

from ..state import CONSERVATIVE, DRAIN, EASY, NONE
from .base import Backfill


class Conservative(Backfill, kind="conservative"):
    """Conservative: every waiting job has a slot, a partition (or a number of nodes) and a time; no job delays another.

    A new job has the earliest slot that delays no other one. When a job ends, the slot of each waiting job is replaced
    by the earliest one, in order of arrival; so the order of the queue has no effect (Mu'alem and Feitelson, IEEE TPDS
    12, 2001).
    """

    rule = CONSERVATIVE


class Drain(Backfill, kind="drain"):
    """Drain, as Cobalt on Argonne's Blue Genes: each job that cannot start blocks the soonest partition for later ones.

    In the order of the queue, a job that cannot start drains the partition that is free soonest by requested times, and
    later jobs do not start on partitions that conflict with it. If none started, a job may start on a partition if it
    ends before the first larger partition above it becomes free. From Cobalt's source; not compared with a run of it.
    """

    rule = DRAIN


class Easy(Backfill, kind="easy"):
    """EASY: later jobs may start if they do not delay the first one that must wait.

    That job, the head, has a reservation of the partition that is free soonest by requested times. Later jobs start, in
    the order of the queue, if their partition does not conflict with it, or if they end by their request before that
    time. The reservation is renewed at each pass (Lifka: The ANL/IBM SP scheduling system, JSSPP 1995; Mu'alem and
    Feitelson, IEEE TPDS 12, 2001).
    """

    rule = EASY


class NoBackfill(Backfill, kind="none"):
    """None: jobs start in the order of the queue, and the first one that cannot start blocks all behind it."""

    rule = NONE
