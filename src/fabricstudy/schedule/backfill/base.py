"""Base class of the backfilling rules."""

from typing import ClassVar

from fabricstudy.core.kinds import Kind


class Backfill(Kind, family="backfill"):
    """Which later jobs may start while an earlier one waits."""

    follows_order: ClassVar[bool] = True
    """Whether the order of the queue matters; otherwise it is that of submission."""

    needs_above: ClassVar[bool] = False
    """Whether it uses the larger partitions above each."""

    rule: ClassVar[int]
    """Its number in `fabricstudy.schedule.state`."""

    on_nodes: ClassVar[bool] = False
    """Whether it works on nodes without a topology."""
