"""No backfilling."""

from ..state import NONE
from .base import Backfill


class NoBackfill(Backfill, kind="none"):
    """None: jobs start in the order of the queue, and the first one that cannot start blocks all behind it."""

    rule = NONE
    on_nodes = True
