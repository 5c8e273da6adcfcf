"""No backfilling."""

from typing import ClassVar, Literal

from fabricstudy.core.kinds import register

from ..state import NONE
from .base import Backfill


@register
class NoBackfill(Backfill):
    """None: jobs start in the order of the queue, and the first one that cannot start blocks all behind it."""

    rule: ClassVar[int] = NONE
    on_nodes: ClassVar[bool] = True
    kind: Literal["none"] = "none"
