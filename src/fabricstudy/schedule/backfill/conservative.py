"""Backfilling with a reservation for every job."""

from ..state import CONSERVATIVE
from .base import Backfill


class Conservative(Backfill, kind="conservative"):
    """Conservative: every waiting job has a slot, a partition (or a number of nodes) and a time; no job delays another.

    A new job has the earliest slot that delays no other one. When a job ends, the slot of each waiting job is replaced
    by the earliest one, in order of arrival; so the order of the queue has no effect (Mu'alem and Feitelson, IEEE TPDS
    12, 2001).
    """

    follows_order = False
    rule = CONSERVATIVE
    on_nodes = True
