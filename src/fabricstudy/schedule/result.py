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

    Parameters
    ----------
    time_s : float64 array [instants]
        Times of submissions, ends and due slots; ascending and distinct.
    busy, empty, cables, held, scattered : int64 array [instants]
        Midplanes, after jobs have started.
    queue : int64 array [instants]
        Waiting jobs.
    """

    time_s: Floats
    busy: Ints
    empty: Ints
    cables: Ints
    held: Ints
    scattered: Ints
    queue: Ints

    def __len__(self) -> int:
        return len(self.time_s)


@dataclass(frozen=True, eq=False)
class ScheduleResult:
    """When and where each job ran; arrays are by job, in the order of `Jobs`.

    Parameters
    ----------
    start_s, end_s : float64 array [jobs]
        NaN for a rejected job, for which no partition is large enough.
    partition : int64 array [jobs]
        Number in the list; -1 for a rejected job, 0 in a pool.
    class_nodes : int64 array [jobs]
        Nodes of its size class, 0 for a rejected job; in a pool the requested nodes.
    factor : float64 array [jobs]
        Slowdown of its run time; NaN for a rejected job.
    backfilled : bool array [jobs]
        Whether it started while a job ahead of it in the queue had to wait.
    reserved_start_s : float64 array [jobs]
        Begin of its first reservation or slot; NaN if it never had one.
    utilisation : UtilisationSeries
    spans : int64 array [spans, 3]
        In a pool the nodes of each job: job, first node and last node, sorted by job and node; else empty.
    """

    start_s: Floats
    end_s: Floats
    partition: Ints
    class_nodes: Ints
    factor: Floats
    backfilled: Bools
    reserved_start_s: Floats
    utilisation: UtilisationSeries
    spans: Ints

    @property
    def ran(self) -> Bools:
        """Whether each job ran."""
        return self.partition >= 0

    def nodes_of(self, job: int) -> list[tuple[int, int]]:
        """Return the nodes of a job in a pool: first and last of each interval, ascending."""
        first, last = np.searchsorted(self.spans[:, 0], [job, job + 1])
        return [(int(low), int(high)) for _, low, high in self.spans[first:last]]
