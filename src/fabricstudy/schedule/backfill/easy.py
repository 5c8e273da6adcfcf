"""Backfilling with one reservation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from fabricstudy.kinds import register

from ..jobs import Floats, Ints
from .base import Backfill

if TYPE_CHECKING:
    from ..partitions import Pool
    from ..task import Task


@register
class Easy(Backfill):
    """EASY: later jobs may start if they do not delay the first one that has to wait.

    That job, the head, is promised the partition that is free soonest by requested times. Later jobs start, in the
    order of the queue, if their partition does not conflict with it, or if they end by their request before that time.
    The promise is made anew at each pass (Lifka: The ANL/IBM SP scheduling system, JSSPP 1995; Mu'alem and Feitelson,
    IEEE TPDS 12, 2001).
    """

    kind: Literal["easy"] = "easy"

    def schedule(self, task: Task, score: Any) -> tuple[Floats, Ints]:
        """Run the event loop."""
        from ..kernel import run_easy

        times, counts = run_easy(task, score)
        return times, counts

    def schedule_on_nodes(self, task: Task, score: Any, pool: Pool) -> tuple[Floats, Ints, Ints]:
        """Run the event loop without a topology."""
        from ..kernel import run_nodes

        times, counts, spans = run_nodes(task, score, pool.machine_nodes, True, pool.counts_only)
        return times, counts, spans
