"""The jobs: which nodes each gets, which rank sits where, and what they send.

In: a `Point` of the study, its `Machine`, and one side of the machine's best cut. Out: `place` gives a
`PlacedJob` a job: the node of each rank, and its `Messages` by phase in a stated, seeded send order, as plain
numpy arrays. `write_parquet` keeps them as tables, `hop_bytes` measures how far they travel. The same point
gives the same jobs on every host. A job that cannot be placed is a `WorkloadError`, which says why. Adding a
pattern, allocation policy or mapping: one module in `pattern`, `allocation` or `mapping`, one line in that
package's registry, one entry in a config union of `fabricstudy.study.workloads`.
"""

from .placed import Messages, PlacedJob, WorkloadError, hop_bytes, write_parquet
from .placing import place

__all__ = ["Messages", "PlacedJob", "WorkloadError", "hop_bytes", "place", "write_parquet"]
