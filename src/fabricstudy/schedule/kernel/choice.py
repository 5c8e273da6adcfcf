"""Choice of the partition on which a job starts, and of its reservation."""

import numpy as np

from ..state import ScheduleState
from .compiled import STAMP, jit_inner
from .running import free_s, requested_on_s

UNLIMITED = 1 << 60
"""Above every count."""


@jit_inner
def any_free(task: ScheduleState) -> bool:
    """Return whether some waiting job has a free partition."""
    found = False
    for group in range(len(task.groups)):
        found |= task.groups[group].free > 0 and task.groups[group].waiting > 0
    return found


@jit_inner
def count_blocked(task: ScheduleState, partition: int, enough: int) -> int:
    """Count the free partitions that a partition would block, up to `enough`."""
    count = 0
    for index in range(task.parts[partition].first, task.parts[partition].last):
        if task.parts[task.conflicts[index].other].blockers == 0:
            count += 1
            if count >= enough:
                break
    return count


@jit_inner
def above_free_s(task: ScheduleState, now: float, partition: int) -> float:
    """Return when the first occupied partition above this one becomes free; minus infinity if none is occupied."""
    soonest = np.inf
    for index in range(task.parts[partition].above_first, task.parts[partition].above_last):
        if task.parts[task.above[index]].blockers > 0:
            soonest = min(soonest, free_s(task, now, task.above[index]))
    return soonest if soonest < np.inf else -np.inf


@jit_inner
def choose(task: ScheduleState, job: int, now: float, before: float, below: bool) -> int:
    """Return the free partition to start a job on, or -1.

    By its request, it must end by `before` on a marked partition; with `below`, on every partition before the first
    larger one above becomes free. Of several partitions that of least rank is chosen, then that which blocks the fewest
    free partitions, then the first of the list.
    """
    group = task.jobs[job].group
    best, fewest = -1, 0
    if task.groups[group].free == 0:
        return best
    stamp = task.counter[STAMP]
    for index in range(task.groups[group].first, task.groups[group].last):
        partition = task.members[index]
        if task.parts[partition].blockers != 0 or (best >= 0 and task.parts[partition].rank > task.parts[best].rank):
            continue
        if below or task.parts[partition].mark == stamp:
            by_s = above_free_s(task, now, partition) if below else before
            if now + requested_on_s(task, job, task.parts[partition].variant) > by_s:
                continue
        if best < 0 or task.parts[partition].rank < task.parts[best].rank:
            fewest = UNLIMITED
        count = count_blocked(task, partition, fewest)
        if count < fewest:
            best, fewest = partition, count
    return best


@jit_inner
def is_better_reservation(task: ScheduleState, new_s: float, new: int, best_s: float, best: int) -> bool:
    """Return whether a partition is a better reservation: sooner, lower rank, fewer conflicts, first of the list."""
    if new_s != best_s:
        return new_s < best_s
    if task.parts[new].rank != task.parts[best].rank:
        return task.parts[new].rank < task.parts[best].rank
    if task.parts[new].degree != task.parts[best].degree:
        return task.parts[new].degree < task.parts[best].degree
    return new < best


@jit_inner
def choose_reservation(task: ScheduleState, now: float, job: int, but_marked: bool) -> tuple[int, float]:
    """Return the partition of a job that is free soonest, and when; -1 if `but_marked` and all are marked."""
    group = task.jobs[job].group
    best, best_s = -1, 0.0
    for index in range(task.groups[group].first, task.groups[group].last):
        partition = task.members[index]
        if but_marked and task.parts[partition].mark == task.counter[STAMP]:
            continue
        at_s = free_s(task, now, partition)
        if best < 0 or is_better_reservation(task, at_s, partition, best_s, best):
            best, best_s = partition, at_s
    return best, best_s
