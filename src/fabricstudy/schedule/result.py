"""The result of a schedule."""

from dataclasses import dataclass

import numpy as np

from fabricstudy.core.arrays import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class UtilisationSeries:
    """Use of the machine from each instant to the next one.

    An idle midplane is counted for the first of these causes that holds: `empty`, no job waits; `cables`, a waiting job
    has a partition on it whose midplanes are all free, but none whose cables are free, too; `held`, a waiting job has a
    free partition on it, but may not start; `scattered`, all others. With the `busy` ones they add up to all midplanes.
    Without a topology, nodes are counted.
    """

    time_s: Floats
    """Times of submissions, ends and due slots; ascending and distinct; float64 [instants]."""
    busy: Ints
    empty: Ints
    cables: Ints
    held: Ints
    scattered: Ints
    """Midplanes, after jobs have started; int64 [instants] each."""
    queue: Ints
    """Waiting jobs, int64 [instants]."""

    def __len__(self) -> int:
        return len(self.time_s)


@dataclass(frozen=True, eq=False)
class ScheduleResult:
    """When and where each job ran; arrays [jobs] are in the order of `Jobs`."""

    start_s: Floats
    end_s: Floats
    """NaN for a rejected job, for which no partition is large enough."""
    partition: Ints
    """Number in the list; -1 for a rejected job, 0 in a pool."""
    class_nodes: Ints
    """Nodes of its size class, 0 for a rejected job; in a pool the requested nodes."""
    factor: Floats
    """Slowdown of its run time; NaN for a rejected job."""
    backfilled: Bools
    """Whether it started while a job ahead of it in the queue had to wait."""
    reserved_start_s: Floats
    """Start time of its first reservation or slot; NaN if it never had one."""
    utilisation: UtilisationSeries
    spans: Ints
    """In a pool the nodes of each job: job, first node and last node, sorted by job and node; int64 [spans, 3]."""

    @property
    def ran(self) -> Bools:
        """Whether each job ran."""
        return self.partition >= 0

    def nodes_of(self, job: int) -> list[tuple[int, int]]:
        """Return the nodes of a job in a pool: first and last of each interval, ascending."""
        first, last = np.searchsorted(self.spans[:, 0], [job, job + 1])
        return [(int(low), int(high)) for _, low, high in self.spans[first:last]]
