"""The event loop, compiled by numba on first use and kept beside these files.

At each instant all that ends and all that comes is taken in first; then a *pass* starts what may start, and the use of
the machine is noted. `fabricstudy.schedule.task.Task` says what the arrays are.
"""

from typing import Any

import numpy as np

from ..task import CONSERVATIVE, DRAIN, EASY, Array, Task
from .compiled import FIRST, LAST, RUNNING, SPANS, compiled_score, inner, kept
from .drain import pass_drain
from .easy import pass_easy, pass_none
from .node_slots import empty_profile
from .node_slots import end_all as end_all_on_nodes
from .node_slots import start_due as start_due_on_nodes
from .node_slots import take_slots as take_slots_on_nodes
from .nodes import pass_nodes, room_for_pass
from .queue import take_in
from .running import end
from .slots import ROOM, end_all, start_due, take_slots
from .use import record, record_nodes, tables, with_room

__all__ = ["compiled_score", "next_instant", "run_conservative", "run_in_order", "run_nodes"]

Done = tuple[Array, Array]
DoneOnNodes = tuple[Array, Array, Array]


@inner
def next_instant(task: Task, arrived: int) -> float:
    """When the next job ends or comes."""
    now = np.inf
    if task.counter[RUNNING] > 0:
        now = task.jobs[task.running[0]].end_s
    if arrived < len(task.jobs):
        now = min(now, task.jobs[arrived].submit_s)
    return now


@kept
def run_in_order(task: Task, score: Any, rule: int) -> Done:
    """Schedule by passes over the queue: without backfilling, with EASY's or with Cobalt's."""
    times, counts = tables(task)
    size, arrived = 0, 0
    while arrived < len(task.jobs) or task.counter[RUNNING] > 0:
        now = next_instant(task, arrived)
        while task.counter[RUNNING] > 0 and task.jobs[task.running[0]].end_s <= now:
            end(task)
        arrived = take_in(task, now, arrived)
        if rule == DRAIN:
            pass_drain(task, now, score)
        elif rule == EASY:
            pass_easy(task, now, score)
        else:
            pass_none(task, now, score)
        times, counts = with_room(times, counts, size)
        record(task, now, times, counts, size)
        size += 1
    return times[:size], counts[:size]


@kept
def run_conservative(task: Task) -> Done:
    """Schedule with a slot for each job, whatever the order of the queue."""
    times, counts = tables(task)
    shape = len(task.parts), ROOM
    profile = np.empty(shape, np.int64), np.empty(shape), np.empty(shape)
    size, arrived, next_s = 0, 0, np.inf
    while arrived < len(task.jobs) or task.counter[RUNNING] > 0 or task.counter[FIRST] < task.counter[LAST]:
        now = min(next_instant(task, arrived), next_s)
        ended = end_all(task, profile, now)
        arrived = take_in(task, now, arrived)
        profile = take_slots(task, profile, now, ended)
        next_s = start_due(task, profile, now)
        times, counts = with_room(times, counts, size)
        record(task, now, times, counts, size)
        size += 1
    return times[:size], counts[:size]


@kept
def run_nodes(task: Task, score: Any, nodes: int, rule: int, counts_only: bool) -> DoneOnNodes:
    """Schedule on nodes without a topology."""
    times, counts = tables(task)
    holder, masks = np.full(nodes, -1), np.zeros((2, nodes), np.bool_)
    spans, profile = np.empty((nodes, 3), np.int64), empty_profile(task)
    size, arrived, next_s = 0, 0, np.inf
    while arrived < len(task.jobs) or task.counter[RUNNING] > 0 or task.counter[FIRST] < task.counter[LAST]:
        now = min(next_instant(task, arrived), next_s)
        ended = end_all_on_nodes(task, profile, now, holder, rule == CONSERVATIVE)
        arrived = take_in(task, now, arrived)
        spans = room_for_pass(task, spans, nodes)
        if rule == CONSERVATIVE:
            take_slots_on_nodes(task, profile, now, ended, nodes)
            next_s = start_due_on_nodes(task, profile, now, holder, spans, masks[0])
        else:
            pass_nodes(task, now, score, holder, masks, spans, rule == EASY, counts_only)
        times, counts = with_room(times, counts, size)
        record_nodes(task, now, times, counts, size, holder, masks[0])
        size += 1
    return times[:size], counts[:size], spans[: task.counter[SPANS]]
