"""Batch scheduling on partitions that share cables: which job runs when and where.

In: the partitions of a machine, jobs of a trace, an order of the queue, a backfilling rule, and the slowdown of each
job on each partition.
Out: start, end and partition of each job, and for each instant the number of busy midplanes and the causes of idle ones
(`ScheduleResult`); from these the rows of the tables.
"""

from .backfill.base import Backfill
from .jobs import Jobs
from .order.base import Order
from .partition_list.base import PartitionList
from .partitions import NodePool, Partitions
from .result import ScheduleResult
from .simulate import simulate_schedule
from .trace.base import Trace

__all__ = [
    "Backfill", "Jobs", "NodePool", "Order", "PartitionList", "Partitions", "ScheduleResult", "Trace",
    "simulate_schedule",
]  # fmt: skip
