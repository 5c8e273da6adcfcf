"""Backfilling with a reservation for everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fabricstudy.kinds import register

from ..jobs import Floats, Ints
from .base import Backfill

if TYPE_CHECKING:
    from ..partitions import Pool
    from ..task import Task


@register
class Conservative(Backfill):
    """Conservative: every waiting job has a slot, a partition (or a number of nodes) and a time; no job delays another.

    A new job takes the earliest slot that delays none. At each end, in order of arrival, each job gives up its slot
    and takes the earliest one; so the order of the queue decides nothing here (Mu'alem and Feitelson, IEEE TPDS 12,
    2001).
    """

    follows_order: ClassVar[bool] = False

    kind: Literal["conservative"] = "conservative"

    def schedule(self, task: Task, score: Any) -> tuple[Floats, Ints]:
        """Run the event loop."""
        from ..kernel import run_conservative

        times, counts = run_conservative(task, score)
        return times, counts

    def schedule_on_nodes(self, task: Task, score: Any, pool: Pool) -> tuple[Floats, Ints, Ints]:
        """Run the event loop without a topology."""
        from ..kernel import run_nodes_conservative

        times, counts, spans = run_nodes_conservative(task, pool.machine_nodes)
        return times, counts, spans
