"""Running jobs: their ends, and the partitions that they block."""

import numpy as np

from ..state import ScheduleState
from .compiled import RUNNING, jit_inner


@jit_inner
def push(state: ScheduleState, job: int) -> None:
    """Add a job to the running ones, of which the last ends first."""
    running, end_s = state.running, state.jobs[job].end_s
    position = state.counter[RUNNING]
    state.counter[RUNNING] += 1
    while position > 0 and (state.jobs[running[position - 1]].end_s, running[position - 1]) < (end_s, job):
        running[position] = running[position - 1]
        position -= 1
    running[position] = job


@jit_inner
def next_end_s(state: ScheduleState) -> float:
    """Return when the next running job ends; infinite if none runs."""
    running = state.counter[RUNNING]
    return state.jobs[state.running[running - 1]].end_s if running > 0 else np.inf


@jit_inner
def pop(state: ScheduleState) -> int:
    """Remove the job that ends first from the running ones, and return it."""
    state.counter[RUNNING] -= 1
    return state.running[state.counter[RUNNING]]


@jit_inner
def requested_on_s(state: ScheduleState, job: int, variant: int) -> float:
    """Return the requested time on partitions of a variant."""
    return state.jobs[job].request_s * state.factor[job, variant] if state.scale_request else state.jobs[job].request_s


@jit_inner
def shortest(state: ScheduleState, job: int) -> float:
    """Return the requested time where the job runs fastest."""
    return state.jobs[job].request_s * state.jobs[job].lowest if state.scale_request else state.jobs[job].request_s


@jit_inner
def begin(state: ScheduleState, now: float, job: int, partition: int, variant: int, backfilled: bool) -> None:
    """Record the start, end and partition of a job."""
    requested = requested_on_s(state, job, variant)
    runtime = state.jobs[job].runtime_s * state.factor[job, variant]
    state.jobs[job].start_s = now
    state.jobs[job].end_s = now + (min(runtime, requested) if state.kill else runtime)
    state.jobs[job].expected_s = now + requested
    state.jobs[job].partition = partition
    state.jobs[job].backfilled = backfilled
    push(state, job)


@jit_inner
def start_job(state: ScheduleState, now: float, job: int, partition: int, backfilled: bool) -> None:
    """Start a job on a free partition."""
    begin(state, now, job, partition, state.parts[partition].variant, backfilled)
    state.parts[partition].occupant = job
    expected_s = state.jobs[job].expected_s
    for index in range(state.parts[partition].first, state.parts[partition].last):
        other = state.conflicts[index].other
        if state.parts[other].blockers == 0:
            update_free_counts(state, other, -1)
        state.parts[other].blockers += 1
        state.parts[other].overlaps += state.conflicts[index].shares_midplane
        state.parts[other].expected_s = max(state.parts[other].expected_s, expected_s)
    for word in range(len(state.used)):
        state.used[word] |= state.words[partition, word]
    state.groups[state.jobs[job].group].waiting -= 1


@jit_inner
def end_next_job(state: ScheduleState) -> int:
    """End the running job that ends first, and return it."""
    job = pop(state)
    partition = state.jobs[job].partition
    state.parts[partition].occupant = -1
    expected_s = state.jobs[job].expected_s
    for index in range(state.parts[partition].first, state.parts[partition].last):
        other = state.conflicts[index].other
        state.parts[other].blockers -= 1
        state.parts[other].overlaps -= state.conflicts[index].shares_midplane
        if state.parts[other].blockers == 0:
            update_free_counts(state, other, 1)
            state.parts[other].expected_s = -np.inf
        elif state.parts[other].expected_s == expected_s:
            state.parts[other].expected_s = np.inf
    for word in range(len(state.used)):
        state.used[word] &= ~state.words[partition, word]
    return job


@jit_inner
def update_free_counts(state: ScheduleState, partition: int, change: int) -> None:
    """Change the number of free partitions of each group with this one."""
    for index in range(state.parts[partition].groups_first, state.parts[partition].groups_last):
        state.groups[state.groups_of[index]].free += change


@jit_inner
def free_s(state: ScheduleState, now: float, partition: int) -> float:
    """Return when a partition is free by requested times; a job beyond its request is expected to end immediately."""
    if state.parts[partition].expected_s == np.inf:
        # The job that was expected to end last has ended.
        latest = -np.inf
        for index in range(state.parts[partition].first, state.parts[partition].last):
            job = state.parts[state.conflicts[index].other].occupant
            if job >= 0:
                latest = max(latest, state.jobs[job].expected_s)
        state.parts[partition].expected_s = latest
    return max(now, state.parts[partition].expected_s)
