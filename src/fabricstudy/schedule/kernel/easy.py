"""Scheduling passes in the order of the queue, without backfilling and with EASY's."""

from typing import Any

import numpy as np

from ..state import ScheduleState
from .choice import any_free, choose, choose_reservation
from .compiled import FIRST, GONE, LAST, STAMP, jit_inner
from .queue import all_positions, compact_queue, head, make_heap, next_position, remove_entry, update_scores
from .running import shortest, start_job


@jit_inner
def start_in_order(state: ScheduleState, now: float, score: Any) -> int:
    """Start jobs in the order of the queue; return the position of the first that cannot start, or -1."""
    if state.counter[FIRST] == state.counter[LAST]:
        return -1
    update_scores(state, now, score)
    state.counter[STAMP] += 1
    while state.counter[FIRST] < state.counter[LAST]:
        position = head(state)
        job = state.queue_job[position]
        partition = choose(state, job, now, now, False)
        if partition < 0:
            return position
        start_job(state, now, job, partition, False)
        remove_entry(state, position)
    return -1


@jit_inner
def pass_easy(state: ScheduleState, now: float, score: Any) -> None:
    """Start jobs until one must wait, reserve a partition for it, and start later jobs that do not delay it."""
    position = start_in_order(state, now, score)
    if position < 0:
        return
    first = state.queue_job[position]
    reserved = not np.isnan(state.jobs[first].reserved_start_s)
    if reserved and not any_free(state):
        return
    partition, then = choose_reservation(state, now, first, False)
    if not reserved:
        state.jobs[first].reserved_start_s = then
    state.counter[STAMP] += 1
    for conflict in range(state.parts[partition].first, state.parts[partition].last):
        state.parts[state.conflicts[conflict].other].mark = state.counter[STAMP]
    backfill_jobs(state, now, then, position)


@jit_inner
def open_groups(state: ScheduleState) -> None:
    """Mark the groups with a free partition that does not conflict with the reservation as open."""
    for group in range(len(state.groups)):
        state.groups[group].open = 0
        if state.groups[group].free > 0 and state.groups[group].waiting > 0:
            for index in range(state.groups[group].first, state.groups[group].last):
                partition = state.members[index]
                if state.parts[partition].blockers == 0 and state.parts[partition].mark != state.counter[STAMP]:
                    state.groups[group].open = 1
                    break


@jit_inner
def may_fit(state: ScheduleState, job: int, now: float, before: float) -> bool:
    """Return whether a job may have a partition that does not delay the reservation."""
    group = state.jobs[job].group
    return state.groups[group].free > 0 and (state.groups[group].open > 0 or now + shortest(state, job) <= before)


@jit_inner
def fitting_positions(state: ScheduleState, now: float, before: float) -> int:
    """Prepare the positions of jobs that may fit, or all of a sorted queue; return their number."""
    if not state.changes:
        return all_positions(state)
    size = 0
    for position in range(state.counter[FIRST], state.counter[LAST]):
        if may_fit(state, state.queue_job[position], now, before):
            state.heap[size] = position
            size += 1
    make_heap(state, size)
    return size


@jit_inner
def backfill_jobs(state: ScheduleState, now: float, before: float, waits: int) -> None:
    """Start in order the jobs that do not delay the job that waits at a position of the queue."""
    open_groups(state)
    size = fitting_positions(state, now, before)
    low, high = state.counter[LAST], -1
    for visited in range(size):
        position = next_position(state, visited, size)
        job = state.queue_job[position]
        if position == waits or not may_fit(state, job, now, before):
            continue
        partition = choose(state, job, now, before, False)
        if partition >= 0:
            start_job(state, now, job, partition, True)
            state.queue_job[position] = GONE
            low, high = min(low, position), max(high, position)
            if not any_free(state):
                break
            open_groups(state)
    if high >= 0:
        compact_queue(state, low, high)
