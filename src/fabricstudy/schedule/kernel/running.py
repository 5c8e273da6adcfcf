"""Running jobs: their ends, and the partitions that they block."""

import numpy as np

from ..state import ScheduleState
from .compiled import RUNNING, jit_inner, sift


@jit_inner
def ends_before(task: ScheduleState, a: int, b: int) -> bool:
    """Return whether job `a` ends before job `b`."""
    first, second = task.jobs[a].end_s, task.jobs[b].end_s
    return first < second or (first == second and a < b)


@jit_inner
def push(task: ScheduleState, job: int) -> None:
    """Add a job to the heap of running jobs."""
    running = task.running
    position = task.counter[RUNNING]
    task.counter[RUNNING] += 1
    while position > 0 and ends_before(task, job, running[(position - 1) // 2]):
        running[position] = running[(position - 1) // 2]
        position = (position - 1) // 2
    running[position] = job


@jit_inner
def pop(task: ScheduleState) -> int:
    """Remove the job that ends first from the heap and return it."""
    top: int = task.running[0]
    task.counter[RUNNING] -= 1
    task.running[0] = task.running[task.counter[RUNNING]]
    sift(task, task.running, 0, task.counter[RUNNING], ends_before)
    return top


@jit_inner
def requested_on_s(task: ScheduleState, job: int, variant: int) -> float:
    """Return the requested time on partitions of a variant."""
    return task.jobs[job].request_s * task.factor[job, variant] if task.scale_request else task.jobs[job].request_s


@jit_inner
def shortest(task: ScheduleState, job: int) -> float:
    """Return the requested time where the job runs fastest."""
    return task.jobs[job].request_s * task.jobs[job].lowest if task.scale_request else task.jobs[job].request_s


@jit_inner
def begin(task: ScheduleState, now: float, job: int, partition: int, variant: int, backfilled: bool) -> None:
    """Record the start, end and partition of a job."""
    requested = requested_on_s(task, job, variant)
    runtime = task.jobs[job].runtime_s * task.factor[job, variant]
    task.jobs[job].start_s = now
    task.jobs[job].end_s = now + (min(runtime, requested) if task.kill else runtime)
    task.jobs[job].expected_s = now + requested
    task.jobs[job].partition = partition
    task.jobs[job].backfilled = backfilled
    push(task, job)


@jit_inner
def start_job(task: ScheduleState, now: float, job: int, partition: int, backfilled: bool) -> None:
    """Start a job on a free partition."""
    begin(task, now, job, partition, task.parts[partition].variant, backfilled)
    task.parts[partition].occupant = job
    expected_s = task.jobs[job].expected_s
    for index in range(task.parts[partition].first, task.parts[partition].last):
        other = task.conflicts[index].other
        if task.parts[other].blockers == 0:
            update_free_counts(task, other, -1)
        task.parts[other].blockers += 1
        task.parts[other].seats += task.conflicts[index].shares_midplane
        task.parts[other].expected_s = max(task.parts[other].expected_s, expected_s)
    for word in range(len(task.used)):
        task.used[word] |= task.words[partition, word]
    task.groups[task.jobs[job].group].waiting -= 1


@jit_inner
def end_next_job(task: ScheduleState) -> int:
    """End the running job that ends first, and return it."""
    job = pop(task)
    partition = task.jobs[job].partition
    task.parts[partition].occupant = -1
    expected_s = task.jobs[job].expected_s
    for index in range(task.parts[partition].first, task.parts[partition].last):
        other = task.conflicts[index].other
        task.parts[other].blockers -= 1
        task.parts[other].seats -= task.conflicts[index].shares_midplane
        if task.parts[other].blockers == 0:
            update_free_counts(task, other, 1)
            task.parts[other].expected_s = -np.inf
        elif task.parts[other].expected_s == expected_s:
            task.parts[other].expected_s = np.inf
    for word in range(len(task.used)):
        task.used[word] &= ~task.words[partition, word]
    return job


@jit_inner
def update_free_counts(task: ScheduleState, partition: int, change: int) -> None:
    """Change the number of free partitions of each group with this one."""
    for index in range(task.parts[partition].groups_first, task.parts[partition].groups_last):
        task.groups[task.groups_of[index]].free += change


@jit_inner
def free_s(task: ScheduleState, now: float, partition: int) -> float:
    """Return when a partition is free by requested times; a job beyond its request is expected to end at once."""
    if task.parts[partition].expected_s == np.inf:
        # The job that was expected to end last has ended.
        latest = -np.inf
        for index in range(task.parts[partition].first, task.parts[partition].last):
            job = task.parts[task.conflicts[index].other].occupant
            if job >= 0:
                latest = max(latest, task.jobs[job].expected_s)
        task.parts[partition].expected_s = latest
    return max(now, task.parts[partition].expected_s)
