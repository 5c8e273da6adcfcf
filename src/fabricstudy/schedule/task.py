"""What the event loop works on: all of it as arrays, so that compiled code can have it."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .jobs import Floats, Jobs
from .order.base import Order
from .partitions import Partitions

Array = npt.NDArray[Any]
WORD = 64


class Task(NamedTuple):
    """Partitions, jobs, state and results of one schedule.

    A *group* is what a job may run on: the partitions of its size class of the variants that it takes. Lists in lists are
    kept as two arrays: those of row r stand at positions `first[r]` .. `first[r + 1] - 1`.

    The partitions: with which others each conflicts (`first`, `other`, `shares_midplane`); how many these are
    (`degree`), its `rank`, `variant` and midplanes as bits (`words`); the partitions of a group (`group_first`,
    `group_member`), the groups of a partition (`member_first`, `member_group`); for `drain` the larger partitions that
    have all of its midplanes (`above_first`, `above`).

    The jobs, in the order of submission: `submit_s`, `runtime_s`, `request_s`, `nodes`, `group`, `factor` by variant,
    the `lowest` of the factors that it may have, and its `place` among all jobs where the order never changes.

    The state: how many running jobs keep each partition from use (`blockers`), and by a midplane (`seats`); the job on it
    or -1 (`occupant`); midplanes in use as bits (`used`); by group how many partitions are free and how many jobs wait
    (`free`, `waiting`), and in this pass whether one is free beside the reservation, or how many are not drained
    (`open`); a mark on partitions, set where it equals the last one given out (`mark`).
    The queue stands at positions `count[FIRST]` .. `count[LAST] - 1` of `q_job`, `q_submit`, `q_request`, `q_nodes` and
    `q_score`; running jobs are a heap by their end in the first `count[RUNNING]` of `running`; `heap` holds positions of
    the queue.

    The results: `start_s`, `end_s`, `expected_s` (end by the request), `partition`, `backfilled`, `promised_s`.
    """

    first: Array
    other: Array
    shares_midplane: Array
    degree: Array
    rank: Array
    variant: Array
    words: Array
    group_first: Array
    group_member: Array
    member_first: Array
    member_group: Array
    above_first: Array
    above: Array
    submit_s: Array
    runtime_s: Array
    request_s: Array
    nodes: Array
    group: Array
    factor: Array
    lowest: Array
    place: Array
    blockers: Array
    seats: Array
    occupant: Array
    used: Array
    free: Array
    waiting: Array
    open: Array
    mark: Array
    q_job: Array
    q_submit: Array
    q_request: Array
    q_nodes: Array
    q_score: Array
    running: Array
    heap: Array
    count: Array
    start_s: Array
    end_s: Array
    expected_s: Array
    partition: Array
    backfilled: Array
    promised_s: Array
    scale_request: bool
    kill: bool
    changes: bool
    midplanes: int


def classes(nodes: Array, variant_nodes: Array, factors: Array) -> Array:
    """Give the size class of each job in nodes: the least that holds it and that it takes; 0 if there is none."""
    found = np.zeros(len(nodes), dtype=np.int64)
    for size in np.unique(variant_nodes)[::-1]:
        takes = np.isfinite(factors[:, variant_nodes == size]).any(axis=1)
        found[takes & (nodes <= size)] = size
    return found


def task_of(
    partitions: Partitions,
    jobs: Jobs,
    class_nodes: Array,
    factors: Floats,
    order: Order,
    scale_request: bool,
    kill: bool,
    needs_above: bool,
) -> Task:
    """Lay out a schedule.

    Parameters
    ----------
    partitions : Partitions
        What may be given to jobs.
    jobs : Jobs
        Each has a class.
    class_nodes, factors : int64 array [jobs], float64 array [jobs, variants]
        Class of each job, and its factor by variant.
    order : Order
        Which waiting job comes first.
    scale_request, kill : bool
        As of `fabricstudy.schedule.simulate`.
    needs_above : bool
        Whether the larger partitions above each are asked for.
    """
    size, count = len(jobs), len(partitions)
    conflicts = partitions.conflicts
    variant_nodes = np.array([variant.nodes for variant in partitions.variants], dtype=np.int64)
    usable = np.isfinite(factors) & (variant_nodes == class_nodes[:, None])
    takes, group = np.unique(usable, axis=0, return_inverse=True)
    members = takes[:, partitions.variant]
    nodes = jobs.nodes.astype(np.float64)
    floats, whole = np.empty, partial(np.zeros, dtype=np.int64)
    return Task(
        first=conflicts.first,
        other=conflicts.other.astype(np.int64),
        shares_midplane=conflicts.shares_midplane,
        degree=conflicts.counts,
        rank=partitions.rank,
        variant=partitions.variant,
        words=_words(partitions),
        **_lists("group_first", "group_member", members),
        **_lists("member_first", "member_group", members.T),
        **_lists("above_first", "above", _above(partitions) if needs_above else np.zeros((count, 0), dtype=bool)),
        submit_s=jobs.submit_s,
        runtime_s=jobs.runtime_s,
        request_s=jobs.request_s,
        nodes=nodes,
        group=group.reshape(-1).astype(np.int64),
        factor=np.ascontiguousarray(factors),
        lowest=np.where(usable, factors, np.inf).min(axis=1, initial=np.inf),
        place=_places(order, jobs, nodes),
        blockers=whole(count),
        seats=whole(count),
        occupant=np.full(count, -1, dtype=np.int64),
        used=np.zeros(-(-partitions.midplanes // WORD), dtype=np.uint64),
        free=members.sum(axis=1, dtype=np.int64),
        waiting=whole(len(takes)),
        open=whole(len(takes)),
        mark=whole(count),
        q_job=whole(size),
        q_submit=floats(size),
        q_request=floats(size),
        q_nodes=floats(size),
        q_score=np.zeros(size),
        running=whole(size),
        heap=whole(size),
        count=whole(4),
        start_s=np.full(size, np.nan),
        end_s=np.full(size, np.nan),
        expected_s=np.full(size, np.nan),
        partition=np.full(size, -1, dtype=np.int64),
        backfilled=np.zeros(size, dtype=bool),
        promised_s=np.full(size, np.nan),
        scale_request=scale_request,
        kill=kill,
        changes=order.changes,
        midplanes=partitions.midplanes,
    )


def _words(partitions: Partitions) -> Array:
    """Midplanes of each partition as bits, uint64 [partitions, words]."""
    words = -(-partitions.midplanes // WORD)
    bits = np.zeros((len(partitions), words * WORD), dtype=np.uint8)
    bits[:, : partitions.midplanes] = partitions.midplane_table.toarray()
    return np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _lists(first: str, items: str, table: Array) -> dict[str, Array]:
    """Give the columns that are set in each row of a table, as two arrays of these names."""
    rows, columns = np.nonzero(table)
    counts = np.bincount(rows, minlength=len(table))
    return {first: np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), items: columns.astype(np.int64)}


def _above(partitions: Partitions) -> Array:
    """Whether a partition is larger than another and has all of its midplanes, bool [the other, it]."""
    table = partitions.midplane_table
    size = np.asarray(table.sum(axis=1)).reshape(-1)
    shared = (table @ table.T).toarray()
    return np.asarray((shared == size[:, None]) & (size[None, :] > size[:, None]))


def _places(order: Order, jobs: Jobs, nodes: Floats) -> Array:
    """Place of each job in an order that never changes; else that of its submission."""
    place = np.arange(len(jobs))
    if not order.changes:
        score = np.empty(len(jobs))
        order.score(0.0, jobs.submit_s, jobs.request_s, nodes, score)
        place[np.argsort(-score, kind="stable")] = np.arange(len(jobs))
    return place
