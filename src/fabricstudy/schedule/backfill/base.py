"""Base class of the backfilling rules."""

from typing import ClassVar

from fabricstudy.core.kinds import Kind


class Backfill(Kind, family="backfill"):
    """Which later jobs may start while an earlier one waits."""

    rule: ClassVar[int]
    """Its number in `fabricstudy.schedule.state`."""
