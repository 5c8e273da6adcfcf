"""Backfilling of Cobalt."""

from ..state import DRAIN
from .base import Backfill


class Drain(Backfill, kind="drain"):
    """Drain, as Cobalt on Argonne's Blue Genes: each job that cannot start blocks the soonest partition for later ones.

    In the order of the queue, a job that cannot start drains the partition that is free soonest by requested times, and
    later jobs do not start on partitions that conflict with it. If none started, a job may start on a partition if it
    ends before the first larger partition above it becomes free. From Cobalt's source; not compared with a run of it.
    """

    rule = DRAIN
    needs_above = True
