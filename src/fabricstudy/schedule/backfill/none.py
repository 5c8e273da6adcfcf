"""No backfilling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from fabricstudy.kinds import register

from ..jobs import Floats, Ints
from .base import Backfill

if TYPE_CHECKING:
    from ..partitions import Pool
    from ..task import Task


@register
class NoBackfill(Backfill):
    """None: jobs start in the order of the queue, and the first one that cannot start holds up all behind it."""

    kind: Literal["none"] = "none"

    def schedule(self, task: Task, score: Any) -> tuple[Floats, Ints]:
        """Run the event loop."""
        from ..kernel import run_none

        times, counts = run_none(task, score)
        return times, counts

    def schedule_on_nodes(self, task: Task, score: Any, pool: Pool) -> tuple[Floats, Ints, Ints]:
        """Run the event loop without a topology."""
        from ..kernel import run_nodes

        times, counts, spans = run_nodes(task, score, pool.machine_nodes, False, pool.counts_only)
        return times, counts, spans
