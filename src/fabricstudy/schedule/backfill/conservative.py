"""Backfilling with a reservation for everybody."""

from typing import Any, ClassVar, Literal

from fabricstudy.core.kinds import register

from ..jobs import Floats, Ints
from ..state import CONSERVATIVE, ScheduleState
from .base import Backfill


@register
class Conservative(Backfill):
    """Conservative: every waiting job has a slot, a partition (or a number of nodes) and a time; no job delays another.

    A new job takes the earliest slot that delays none. At each end, in order of arrival, each job gives up its slot
    and takes the earliest one; so the order of the queue decides nothing here (Mu'alem and Feitelson, IEEE TPDS 12,
    2001).
    """

    follows_order: ClassVar[bool] = False
    rule: ClassVar[int] = CONSERVATIVE
    on_nodes: ClassVar[bool] = True

    kind: Literal["conservative"] = "conservative"

    def schedule(self, task: ScheduleState, score: Any) -> tuple[Floats, Ints]:
        from ..kernel import run_conservative

        return run_conservative(task)
