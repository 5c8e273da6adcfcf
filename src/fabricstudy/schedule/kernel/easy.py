"""Scheduling passes in the order of the queue, without backfilling and with EASY's."""

from typing import Any

import numpy as np

from ..state import ScheduleState
from .choice import any_free, choose, choose_reservation
from .compiled import FIRST, GONE, LAST, STAMP, jit_inner
from .queue import all_positions, compact_queue, head, make_heap, next_position, remove_entry, update_scores
from .running import shortest, start_job


@jit_inner
def start_in_order(task: ScheduleState, now: float, score: Any) -> int:
    """Start jobs in the order of the queue; return the position of the first that cannot start, or -1."""
    if task.counter[FIRST] == task.counter[LAST]:
        return -1
    update_scores(task, now, score)
    task.counter[STAMP] += 1
    while task.counter[FIRST] < task.counter[LAST]:
        position = head(task)
        job = task.queue_job[position]
        partition = choose(task, job, now, now, False)
        if partition < 0:
            return position
        start_job(task, now, job, partition, False)
        remove_entry(task, position)
    return -1


@jit_inner
def pass_none(task: ScheduleState, now: float, score: Any) -> None:
    """Start jobs until one has to wait."""
    if any_free(task):
        start_in_order(task, now, score)


@jit_inner
def pass_easy(task: ScheduleState, now: float, score: Any) -> None:
    """Start jobs until one must wait, reserve a partition for it, and start later jobs that do not delay it."""
    position = start_in_order(task, now, score)
    if position < 0:
        return
    first = task.queue_job[position]
    promised = not np.isnan(task.jobs[first].promised_s)
    if promised and not any_free(task):
        return
    partition, then = choose_reservation(task, now, first, False)
    if not promised:
        task.jobs[first].promised_s = then
    task.counter[STAMP] += 1
    for conflict in range(task.parts[partition].first, task.parts[partition].last):
        task.parts[task.conflicts[conflict].other].mark = task.counter[STAMP]
    backfill_jobs(task, now, then, position)


@jit_inner
def open_groups(task: ScheduleState) -> None:
    """Mark the groups with a free partition that does not conflict with the reservation as open."""
    for group in range(len(task.groups)):
        task.groups[group].open = 0
        if task.groups[group].free > 0 and task.groups[group].waiting > 0:
            for index in range(task.groups[group].first, task.groups[group].last):
                partition = task.members[index]
                if task.parts[partition].blockers == 0 and task.parts[partition].mark != task.counter[STAMP]:
                    task.groups[group].open = 1
                    break


@jit_inner
def may_fit(task: ScheduleState, job: int, now: float, before: float) -> bool:
    """Return whether a job may have a partition that does not delay the reservation."""
    group = task.jobs[job].group
    return task.groups[group].free > 0 and (task.groups[group].open > 0 or now + shortest(task, job) <= before)


@jit_inner
def fitting_positions(task: ScheduleState, now: float, before: float) -> int:
    """Prepare the positions of jobs that may fit, or all of a sorted queue; return their number."""
    if not task.changes:
        return all_positions(task)
    size = 0
    for position in range(task.counter[FIRST], task.counter[LAST]):
        if may_fit(task, task.queue_job[position], now, before):
            task.heap[size] = position
            size += 1
    make_heap(task, size)
    return size


@jit_inner
def backfill_jobs(task: ScheduleState, now: float, before: float, waits: int) -> None:
    """Start in order the jobs that do not delay the job that waits at a position of the queue."""
    open_groups(task)
    size = fitting_positions(task, now, before)
    low, high = task.counter[LAST], -1
    for visited in range(size):
        position = next_position(task, visited, size)
        job = task.queue_job[position]
        if position == waits or not may_fit(task, job, now, before):
            continue
        partition = choose(task, job, now, before, False)
        if partition >= 0:
            start_job(task, now, job, partition, True)
            task.queue_job[position] = GONE
            low, high = min(low, position), max(high, position)
            if not any_free(task):
                break
            open_groups(task)
    if high >= 0:
        compact_queue(task, low, high)
