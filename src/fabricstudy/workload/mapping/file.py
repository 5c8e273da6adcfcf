"""The seating that a file lists."""

from __future__ import annotations

import numpy as np

from fabricstudy.study import MappingFile
from fabricstudy.workload.placed import Indices, Messages, WorkloadError

from .seats import Seats


def seat(config: MappingFile, seats: Seats, messages: Messages | None, rng: np.random.Generator) -> Indices:
    """Seat rank r on the core that line r names.

    Raises
    ------
    WorkloadError
        If the file does not name each core of the job once.
    """
    cores = np.array(config.cores, dtype=np.int64)
    if len(cores) != seats.ranks:
        raise WorkloadError(
            f"the mapping file has {len(cores)} lines and the job {seats.ranks} ranks; write one a rank"
        )
    if not np.array_equal(np.sort(cores), np.arange(seats.ranks)):
        raise WorkloadError(f"the mapping file must name each core from 0 to {seats.ranks - 1} exactly once")
    return cores
