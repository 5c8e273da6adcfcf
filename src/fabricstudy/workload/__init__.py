"""The jobs: which nodes each gets, which rank is where, and what they send.

In: the jobs of a point and its seed, its `Machine`, and one side of the machine's best cut.
Out: `place` gives a `PlacedJob` a job: the node of each rank, and its `Messages` by phase in a stated, seeded send
order, as plain numpy arrays. `write_parquet` keeps them as tables, `hop_bytes` measures how far they travel. The same
point gives the same jobs on every host. A job that cannot be placed is a `WorkloadError`, which says why.
Patterns, allocations and mappings are one module a kind, in the packages of these names.
"""

from .job import Job
from .messages import Messages, PlacedJob, WorkloadError, hop_bytes, write_parquet
from .placing import place

__all__ = ["Job", "Messages", "PlacedJob", "WorkloadError", "hop_bytes", "place", "write_parquet"]
