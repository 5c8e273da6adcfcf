"""The result of a schedule."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .jobs import Floats, Ints


@dataclass(frozen=True, eq=False)
class UtilisationSeries:
    """How the machine was used from each instant to the next one.

    An idle midplane is counted for one cause, the first of these that holds: `empty`, no job waits; `cables`, a waiting
    job has a partition on it whose midplanes are all free, but none there whose cables are, too; `held`, a waiting job
    has a free partition on it, yet may not start; `scattered`, the rest. With those that are `busy` they add up to all
    midplanes. Without a topology, nodes stand for midplanes.

    Parameters
    ----------
    time_s : float64 array [instants]
        When something ended, came or was due; ascending, each once.
    busy, empty, cables, held, scattered : int64 array [instants]
        Midplanes, after what could start has started.
    queue : int64 array [instants]
        Jobs that wait then.
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
        NaN for a job that was rejected, since no partition is large enough.
    partition : int64 array [jobs]
        Number in the list; -1 for a job that was rejected, 0 in a pool.
    class_nodes : int64 array [jobs]
        Nodes of its size class, 0 for a job that was rejected; in a pool those that it asked for.
    factor : float64 array [jobs]
        How many times as long it ran there; NaN for a job that was rejected.
    backfilled : bool array [jobs]
        Whether it started while one that stood before it in the queue had to wait.
    promised_s : float64 array [jobs]
        When its first reservation or slot began; NaN if it never had one.
    instants : UtilisationSeries
        How the machine was used.
    spans : int64 array [spans, 3]
        In a pool the nodes of each job: job, first node and last node, by job and node; empty where there are
        partitions.
    """

    start_s: Floats
    end_s: Floats
    partition: Ints
    class_nodes: Ints
    factor: Floats
    backfilled: npt.NDArray[np.bool_]
    promised_s: Floats
    instants: UtilisationSeries
    spans: Ints

    @property
    def ran(self) -> npt.NDArray[np.bool_]:
        """Whether each job ran."""
        return self.partition >= 0

    def nodes_of(self, job: int) -> list[tuple[int, int]]:
        """Return the nodes that a job had in a pool: first and last of each interval, ascending."""
        first, last = np.searchsorted(self.spans[:, 0], [job, job + 1])
        return [(int(low), int(high)) for _, low, high in self.spans[first:last]]
