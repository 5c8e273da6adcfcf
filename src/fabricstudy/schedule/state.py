"""The state of the event loop as arrays, for compiled code."""

from typing import NamedTuple

import numpy as np

from fabricstudy.core.arrays import Array, Floats

from .jobs import Jobs
from .order.base import Order
from .partitions import NodePool, Partitions

WORD = 64
NONE, EASY, CONSERVATIVE, DRAIN = range(4)
"""Rules of backfilling."""


Profile = tuple[Array, Array, Array]
"""Reservations: the arrays of a rule that reserves for all jobs."""


class ScheduleState(NamedTuple):
    """Partitions, jobs, state and results of one schedule; few arrays of records, since many slow the compiler down.

    A *group* is the partitions on which a job may run: those of its size class and its variants. A list of lists is one
    array, with the `first` position of each inner list and the position behind its `last`.

    * `parts` (PART [partitions]): positions of its lists in `conflicts`, `groups_of` and `above`; `rank`, `variant`,
      `degree` (number of conflicts); and the state: the number of running jobs that block it (`blockers`), and that
      share a midplane with it (`overlaps`), the job on it or -1 (`occupant`), the last end by request of its blockers
      (`expected_s`; minus infinity without blockers, infinity if unknown), and a `mark`, set if it equals the current
      stamp. For slots: their number (`filled`), and the stamp when one was last `freed`.
    * `groups` (GROUP [groups]): positions of its list in `members`, numbers of free members and of waiting jobs; within
      a pass, `open` is whether a free member does not conflict with the reservation, or the number of members that are
      not drained; `freed` is the last stamp of its members.
    * `jobs` (JOB [jobs]), in the order of submission: `lowest` is the least of its factors, `queue_rank` its position
      in an order that never changes, `expected_s` its end by request. For slots: its partition or -1 (`slot`), its
      begin, and the stamp of the search for it (`tried`).
    """

    parts: Array
    conflicts: Array
    """The partitions with which each conflicts, and whether they share a midplane; CONFLICT."""
    groups: Array
    members: Array
    groups_of: Array
    above: Array
    """Partitions of each group; groups of each partition; larger partitions with all midplanes of each; int64."""
    words: Array
    used: Array
    """Midplanes of each partition, and those in use, as bits; uint64 [partitions, words] and [words]."""
    jobs: Array
    factor: Array
    """Slowdown of the run time of each job, float64 [jobs, variants]."""
    queue: Array
    """Waiting jobs at positions `counter[FIRST]` .. `counter[LAST] - 1`, in order; int64 [jobs]."""
    running: Array
    """Running jobs, the first `counter[RUNNING]`, of which the last ends first; int64 [jobs]."""
    counter: Array
    """Numbers that change, at `FIRST` .. `SPANS` of `fabricstudy.schedule.kernel.compiled`; int64 [5]."""
    scale_request: bool
    kill: bool
    changes: bool
    """Whether requests grow with the run time, jobs end at their request, and the order of the queue changes."""
    midplanes: int


def _record(whole: str, floats: str = "") -> np.dtype[np.void]:
    return np.dtype([(name, np.int64) for name in whole.split()] + [(name, np.float64) for name in floats.split()])


PART = _record(
    "first last groups_first groups_last above_first above_last rank variant degree blockers overlaps occupant mark"
    " filled freed",
    "expected_s",
)
CONFLICT = _record("other shares_midplane")
GROUP = _record("first last free waiting open freed")
JOB = _record(
    "group queue_rank partition backfilled slot tried",
    "submit_s runtime_s request_s nodes lowest start_s end_s expected_s reserved_start_s slot_s",
)


def size_classes(nodes: Array, variant_nodes: Array, factors: Array) -> Array:
    """Return the size class of each job in nodes: the smallest on which it fits and may run; 0 if there is none."""
    classes = np.zeros(len(nodes), dtype=np.int64)
    for size in np.unique(variant_nodes)[::-1]:
        may_run = np.isfinite(factors[:, variant_nodes == size]).any(axis=1)
        classes[may_run & (nodes <= size)] = size
    return classes


def initial_state(
    partitions: Partitions | NodePool,
    jobs: Jobs,
    class_nodes: Array,
    factors: Floats,
    order: Order,
    scale_request: bool,
    kill: bool,
    rule: int,
) -> ScheduleState:
    """Return the state before the first job; `scale_request` and `kill` are those of `simulate_schedule`.

    `class_nodes` (int64 [jobs]) is the size class of each job, `factors` (float64 [jobs, variants]) its slowdown by
    variant; `rule` is that of backfilling, of which `DRAIN` uses `above`.
    """
    variant_nodes = np.array([variant.nodes for variant in partitions.variants], dtype=np.int64)
    usable = np.isfinite(factors) & (variant_nodes == class_nodes[:, None])
    usable_of_group, group = _groups_of(usable)
    listed = None if isinstance(partitions, NodePool) else partitions
    of_group = np.zeros((1, 0), dtype=bool) if listed is None else usable_of_group[:, listed.variant]
    above = _above(listed) if rule == DRAIN and listed is not None else np.zeros((of_group.shape[1], 0), dtype=bool)
    groups = np.zeros(len(of_group), dtype=GROUP)
    groups["first"], groups["last"] = _edges(of_group)
    groups["free"] = of_group.sum(axis=1)
    records = np.zeros(len(jobs), dtype=JOB)
    for name in ("submit_s", "runtime_s", "request_s", "nodes"):
        records[name] = getattr(jobs, name)
    for name in ("start_s", "end_s", "expected_s", "reserved_start_s"):
        records[name] = np.nan
    records["partition"] = records["slot"] = -1
    records["group"], records["queue_rank"] = group, _queue_ranks(order, jobs)
    records["lowest"] = np.where(usable, factors, np.inf).min(axis=1, initial=np.inf)
    parts, conflicts, words = _of_partitions(listed, of_group, above)
    return ScheduleState(
        parts=parts,
        conflicts=conflicts,
        groups=groups,
        members=_columns(of_group),
        groups_of=_columns(of_group.T),
        above=_columns(above),
        words=words,
        used=np.zeros(words.shape[1], dtype=np.uint64),
        jobs=records,
        factor=np.ascontiguousarray(factors),
        queue=np.zeros(len(jobs), dtype=np.int64),
        running=np.zeros(len(jobs), dtype=np.int64),
        counter=np.zeros(5, dtype=np.int64),
        scale_request=scale_request,
        kill=kill,
        changes=order.changes,
        midplanes=0 if listed is None else listed.midplanes,
    )


def _groups_of(usable: Array) -> tuple[Array, Array]:
    """Return the distinct rows of a table, and the number of each row; much faster than np.unique by rows."""
    group = np.zeros(len(usable), dtype=np.int64)
    for byte in np.packbits(usable, axis=1).T:
        group = np.unique(group << 8 | byte, return_inverse=True)[1]
    return usable[np.unique(group, return_index=True)[1]], group


def _columns(table: Array) -> Array:
    """Return the columns that are set in each row of a table, as one list."""
    # Slices of np.nonzero are contiguous only with fewer than two elements, and the loops would be compiled twice.
    return np.ascontiguousarray(np.nonzero(table)[1])


def _edges(table: Array) -> tuple[Array, Array]:
    """Return the first and last position of each row of a table in the list of `_columns`."""
    last = np.cumsum(table.sum(axis=1))
    return np.concatenate([[0], last[:-1]]), last


def _of_partitions(partitions: Partitions | None, of_group: Array, above: Array) -> tuple[Array, Array, Array]:
    """Return the arrays `parts`, `conflicts` and `words`."""
    if partitions is None:
        return np.zeros(0, dtype=PART), np.zeros(0, dtype=CONFLICT), np.empty((0, 0), dtype=np.uint64)
    pairs = partitions.conflicts
    parts, conflicts = np.zeros(len(partitions), dtype=PART), np.empty(len(pairs.other), dtype=CONFLICT)
    parts["first"], parts["last"] = pairs.first[:-1], pairs.first[1:]
    parts["groups_first"], parts["groups_last"] = _edges(of_group.T)
    parts["above_first"], parts["above_last"] = _edges(above)
    parts["rank"], parts["variant"], parts["degree"] = partitions.rank, partitions.variant, pairs.counts
    parts["occupant"] = -1
    parts["expected_s"] = -np.inf
    conflicts["other"], conflicts["shares_midplane"] = pairs.other, pairs.shares_midplane
    bits = np.zeros((len(partitions), -(-partitions.midplanes // WORD) * WORD), dtype=np.uint8)
    bits[:, : partitions.midplanes] = partitions.midplane_table.toarray()
    return parts, conflicts, np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _above(partitions: Partitions) -> Array:
    """Return whether the second partition is larger and has all midplanes of the first, bool [first, second]."""
    table = partitions.midplane_table
    size = np.asarray(table.sum(axis=1)).reshape(-1)
    return np.asarray(((table @ table.T).toarray() == size[:, None]) & (size[None, :] > size[:, None]))


def _queue_ranks(order: Order, jobs: Jobs) -> Array:
    """Return the position of each job in an order that never changes; else that of its submission."""
    rank = np.arange(len(jobs))
    if not order.changes:
        score = np.empty(len(jobs))
        order.score(0.0, jobs.submit_s, jobs.request_s, jobs.nodes.astype(np.float64), score)
        rank[np.argsort(-score, kind="stable")] = np.arange(len(jobs))
    return rank
