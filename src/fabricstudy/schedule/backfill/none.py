"""No backfilling."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from fabricstudy.core.kinds import register

from ..jobs import Floats, Ints
from ..task import NONE, Task
from .base import Backfill


@register
class NoBackfill(Backfill):
    """None: jobs start in the order of the queue, and the first one that cannot start holds up all behind it."""

    on_nodes: ClassVar[int | None] = NONE

    kind: Literal["none"] = "none"

    def schedule(self, task: Task, score: Any) -> tuple[Floats, Ints]:
        """Run the event loop."""
        from ..kernel import run_none

        return run_none(task, score)
