"""Cobalt's way."""

from typing import ClassVar, Literal

from fabricstudy.core.kinds import register

from ..state import DRAIN
from .base import Backfill


@register
class Drain(Backfill):
    """Drain, as Cobalt on Argonne's Blue Genes: each job that cannot start keeps the soonest partition from later ones.

    In the order of the queue, a job that cannot start drains the partition that is free soonest by requested times, and
    later jobs may not touch what conflicts with it. If nothing started, a job may start on a partition if it ends
    before the first larger partition above it becomes free. Read from Cobalt's source; not checked against a run of it.
    """

    rule: ClassVar[int] = DRAIN
    needs_above: ClassVar[bool] = True

    kind: Literal["drain"] = "drain"
