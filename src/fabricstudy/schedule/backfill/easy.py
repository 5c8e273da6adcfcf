"""Backfilling with one reservation."""

from ..state import EASY
from .base import Backfill


class Easy(Backfill, kind="easy"):
    """EASY: later jobs may start if they do not delay the first one that must wait.

    That job, the head, has a reservation of the partition that is free soonest by requested times. Later jobs start, in
    the order of the queue, if their partition does not conflict with it, or if they end by their request before that
    time. The reservation is renewed at each pass (Lifka: The ANL/IBM SP scheduling system, JSSPP 1995; Mu'alem and
    Feitelson, IEEE TPDS 12, 2001).
    """

    rule = EASY
    on_nodes = True
