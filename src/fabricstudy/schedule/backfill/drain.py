"""Cobalt's way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fabricstudy.core.kinds import register

from ..jobs import Floats, Ints
from .base import Backfill

if TYPE_CHECKING:
    from ..task import Task


@register
class Drain(Backfill):
    """Drain, as Cobalt on Argonne's Blue Genes: each job that cannot start keeps the soonest partition from later ones.

    In the order of the queue, a job that cannot start drains the partition that is free soonest by requested times, and
    later jobs may not touch what conflicts with it. If nothing started, a job may start on a partition if it ends
    before the first larger partition above it becomes free. Read from Cobalt's source; not checked against a run of it.
    """

    needs_above: ClassVar[bool] = True

    kind: Literal["drain"] = "drain"

    def schedule(self, task: Task, score: Any) -> tuple[Floats, Ints]:
        """Run the event loop."""
        from ..kernel import run_drain

        return run_drain(task, score)
