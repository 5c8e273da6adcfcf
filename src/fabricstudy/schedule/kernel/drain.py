"""Cobalt's scheduling pass."""

from typing import Any

import numpy as np

from ..state import ScheduleState
from .choice import any_free, choose, choose_reservation
from .compiled import GONE, LAST, STAMP, jit_inner
from .queue import all_positions, compact_queue, next_position, remove_entry, update_scores
from .running import start_job


@jit_inner
def drain(state: ScheduleState, partition: int) -> None:
    """Mark all partitions that conflict with a partition, and count the unmarked ones of each group."""
    for index in range(state.parts[partition].first, state.parts[partition].last):
        other = state.conflicts[index].other
        if state.parts[other].mark != state.counter[STAMP]:
            state.parts[other].mark = state.counter[STAMP]
            for of in range(state.parts[other].groups_first, state.parts[other].groups_last):
                state.groups[state.groups_of[of]].open -= 1


@jit_inner
def start_or_drain(state: ScheduleState, now: float) -> bool:
    """Start jobs in order, draining a partition for each job that cannot start; return whether any started."""
    state.counter[STAMP] += 1
    for group in range(len(state.groups)):
        state.groups[group].open = state.groups[group].last - state.groups[group].first
    size = all_positions(state)
    low, high = state.counter[LAST], -1
    passed = False
    for visited in range(size):
        position = next_position(state, visited, size)
        job = state.queue_job[position]
        if state.groups[state.jobs[job].group].open == 0:
            passed = True
            continue
        partition = choose(state, job, now, -np.inf, False)
        if partition >= 0:
            start_job(state, now, job, partition, passed)
            state.queue_job[position] = GONE
            low, high = min(low, position), max(high, position)
        else:
            passed = True
            drain(state, choose_reservation(state, now, job, True)[0])
    if high >= 0:
        compact_queue(state, low, high)
    return high >= 0


@jit_inner
def start_below(state: ScheduleState, now: float) -> bool:
    """Start the first job that ends before it blocks a larger partition; return whether there was one."""
    size = all_positions(state)
    for visited in range(size):
        position = next_position(state, visited, size)
        job = state.queue_job[position]
        partition = choose(state, job, now, 0.0, True)
        if partition >= 0:
            start_job(state, now, job, partition, visited > 0)
            remove_entry(state, position)
            return True
    return False


@jit_inner
def pass_drain(state: ScheduleState, now: float, score: Any) -> None:
    """Start jobs until none may start; scores remain, since no time passes."""
    update_scores(state, now, score)
    while any_free(state) and (start_or_drain(state, now) or start_below(state, now)):
        pass
