"""What the parts of a program cost, from the simulated start and end of its operations.

A message is active at its sender from the start of the send to its end, and at its receiver from the start of both to
the arrival: a receive that waits for a send that has not started is not active. The time of a rank, from the start of
its job to the end of the job, is divided into

* computation: a calc is running;
* exposed communication: no calc is running, and a message is active. It is divided equally among the marks of the
  messages that are active at the time;
* bubble: all other time.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from fabricstudy.core.arrays import Floats, Ints

from .operations import CALC, RECEIVE, SEND, Operations

UNMARKED = "(unmarked)"

MAX_DRAWN_RANKS, MAX_DRAWN_OPERATIONS = 64, 20_000
"""Ranks and operations of all jobs of which a chart can still be read; more are not recorded one by one."""

KINDS = {CALC: "calc", SEND: "send", RECEIVE: "receive"}


def is_drawable(jobs: Iterable[Operations]) -> bool:
    """Return whether the operations of jobs are few enough to be recorded one by one."""
    sizes = [(job.ranks, len(job)) for job in jobs]
    ranks, operations = (sum(counts) for counts in zip(*sizes, strict=True))
    return bool(ranks <= MAX_DRAWN_RANKS and operations <= MAX_DRAWN_OPERATIONS)


def active_from_ns(operations: Operations, start_ns: Floats) -> Floats:
    """Return when each operation is active: a receive once its send has started, too; float64 [operations]."""
    begin_ns = start_ns.copy()
    receives = np.flatnonzero(operations.kind == RECEIVE)
    begin_ns[receives] = np.maximum(start_ns[receives], start_ns[operations.partner[receives]])
    return begin_ns


def operation_rows(job: int, operations: Operations, start_ns: Floats, end_ns: Floats) -> dict[str, Any]:
    """Return job, rank, kind, mark, start and end of the operations that take time, by column."""
    names = np.array([*operations.mark_names, UNMARKED], dtype=object)
    begin_ns = active_from_ns(operations, start_ns)
    rows = np.flatnonzero(end_ns > begin_ns)
    return {
        "job": [job] * len(rows),
        "rank": operations.rank[rows].tolist(),
        "kind": [KINDS[kind] for kind in operations.kind[rows].tolist()],
        "mark": [UNMARKED] * len(rows) if operations.mark is None else names[operations.mark[rows]].tolist(),
        "start_ns": begin_ns[rows].tolist(),
        "end_ns": end_ns[rows].tolist(),
    }


def mark_times(operations: Operations, start_ns: Floats, end_ns: Floats) -> dict[str, Any]:
    """Return ``exposed_ns`` and ``bubble_ns``, means over the ranks, and in ``marks`` a row for each mark in use.

    `start_ns` and `end_ns` are those of the operations, float64 [operations]. A row has the first time at which an
    operation of the mark is active and the last end, the bytes of its sends, and, as means over the ranks, the time of
    its calcs and its exposed communication.
    """
    names = [*operations.mark_names, UNMARKED]
    # Operations without a mark, -1, have the last number.
    mark = np.full(len(operations), -1) if operations.mark is None else operations.mark.astype(np.int64)
    mark = np.where(mark < 0, len(names) - 1, mark)
    active_ns = active_from_ns(operations, start_ns)
    computed_ns, exposed_ns = _divided(operations, mark, len(names), active_ns, end_ns)
    sends, calcs = operations.kind == SEND, operations.kind == CALC
    rows = [
        {
            "mark": names[number],
            "start_ns": float(active_ns[mark == number].min()),
            "end_ns": float(end_ns[mark == number].max()),
            "bytes": int(operations.size_bytes[sends & (mark == number)].sum()),
            "compute_ns": float(operations.duration_ns[calcs & (mark == number)].sum()) / operations.ranks,
            "exposed_ns": float(exposed_ns[number]) / operations.ranks,
        }
        for number in np.unique(mark).tolist()
    ]
    exposed = float(exposed_ns.sum()) / operations.ranks
    bubble = float(end_ns.max(initial=0.0)) - computed_ns / operations.ranks - exposed
    return {"marks": rows, "exposed_ns": exposed, "bubble_ns": max(bubble, 0.0)}


def _divided(operations: Operations, mark: Ints, marks: int, begin_ns: Floats, end_ns: Floats) -> tuple[float, Floats]:
    """Return the time in which calcs run, of all ranks together, and the exposed time of each mark, float64 [marks]."""
    # What is active at a rank: messages by mark, and calcs.
    what = np.where(operations.kind == CALC, marks, mark)
    rank, time_ns = np.tile(operations.rank, 2), np.concatenate([begin_ns, end_ns])
    order = np.lexsort([time_ns, rank])
    change = np.repeat([1, -1], len(operations))[order]
    what, lasts_ns = np.tile(what, 2)[order], np.append(np.diff(time_ns[order]), 0.0)
    lasts_ns[np.append(np.diff(rank[order]) > 0, True)] = 0.0
    active = np.stack([np.cumsum(np.where(what == one, change, 0)) > 0 for one in range(marks + 1)])
    computing, together = active[-1], active[:-1].sum(axis=0)
    share_ns = np.where(computing, 0.0, lasts_ns / np.maximum(together, 1))
    return float(lasts_ns[computing].sum()), (active[:-1] * share_ns).sum(axis=1)
