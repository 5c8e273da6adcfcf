"""One schedule from beginning to end."""

from __future__ import annotations

from .backfill.base import Backfill
from .jobs import Floats, Jobs
from .order.base import Order
from .partitions import Partitions, Pool
from .scheduled import Scheduled


def simulate(
    partitions: Partitions | Pool,
    jobs: Jobs,
    order: Order,
    backfill: Backfill,
    factors: Floats | None = None,
    scale_request: bool = True,
    kill: bool = False,
) -> Scheduled:
    """Run jobs on partitions.

    Parameters
    ----------
    partitions : Partitions or Pool
        What may be given to jobs.
    jobs : Jobs
        In the order in which they come.
    order, backfill : Order, Backfill
        Which waiting job comes first, and which may start before its turn.
    factors : float64 array [jobs, variants], optional
        How many times as long each job runs on a partition of each variant; infinite where it never takes one. Left
        out: 1.
    scale_request : bool, optional
        Whether the requested time grows by the same factor.
    kill : bool, optional
        Whether a job ends when the time that it asked for is over.
    """
    raise NotImplementedError
