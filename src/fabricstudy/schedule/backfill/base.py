"""What every backfilling rule has."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from fabricstudy.kinds import Family, Kind

if TYPE_CHECKING:
    from ..task import Task


class Backfill(Kind):
    """Which later jobs may start while an earlier one has to wait."""

    FAMILY: ClassVar[Family] = Family("backfill", "fabricstudy.schedule.backfill")

    def schedule(self, task: Task) -> None:
        """Run the event loop with this rule; results are written into the task."""
        raise NotImplementedError
