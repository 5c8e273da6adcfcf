"""No backfilling."""

from typing import ClassVar

from ..state import NONE
from .base import Backfill


class NoBackfill(Backfill, kind="none"):
    """None: jobs start in the order of the queue, and the first one that cannot start blocks all behind it."""

    rule: ClassVar[int] = NONE
    on_nodes: ClassVar[bool] = True
