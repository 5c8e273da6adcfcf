"""Choice of the partition on which a job starts, and of its reservation."""

import numpy as np

from ..state import ScheduleState
from .compiled import STAMP, jit_inner
from .running import free_s, requested_on_s

UNLIMITED = 1 << 60
"""Above every count."""


@jit_inner
def any_free(state: ScheduleState) -> bool:
    """Return whether some waiting job has a free partition."""
    exists = False
    for group in range(len(state.groups)):
        exists |= state.groups[group].free > 0 and state.groups[group].waiting > 0
    return exists


@jit_inner
def count_blocked(state: ScheduleState, partition: int, enough: int) -> int:
    """Count the free partitions that a partition would block, up to `enough`."""
    count = 0
    for index in range(state.parts[partition].first, state.parts[partition].last):
        if state.parts[state.conflicts[index].other].blockers == 0:
            count += 1
            if count >= enough:
                break
    return count


@jit_inner
def above_free_s(state: ScheduleState, now: float, partition: int) -> float:
    """Return when the first occupied partition above this one becomes free; minus infinity if none is occupied."""
    soonest = np.inf
    for index in range(state.parts[partition].above_first, state.parts[partition].above_last):
        if state.parts[state.above[index]].blockers > 0:
            soonest = min(soonest, free_s(state, now, state.above[index]))
    return soonest if soonest < np.inf else -np.inf


@jit_inner
def choose(state: ScheduleState, job: int, now: float, before: float, below: bool) -> int:
    """Return the free partition to start a job on, or -1.

    By its request, it must end by `before` on a marked partition; with `below`, on every partition before the first
    larger one above becomes free. Of several partitions that of least rank is chosen, then that which blocks the fewest
    free partitions, then the first of the list.
    """
    group = state.jobs[job].group
    best, fewest = -1, 0
    if state.groups[group].free == 0:
        return best
    stamp = state.counter[STAMP]
    for index in range(state.groups[group].first, state.groups[group].last):
        partition = state.members[index]
        if state.parts[partition].blockers != 0 or (best >= 0 and state.parts[partition].rank > state.parts[best].rank):
            continue
        if below or state.parts[partition].mark == stamp:
            by_s = above_free_s(state, now, partition) if below else before
            if now + requested_on_s(state, job, state.parts[partition].variant) > by_s:
                continue
        if best < 0 or state.parts[partition].rank < state.parts[best].rank:
            fewest = UNLIMITED
        count = count_blocked(state, partition, fewest)
        if count < fewest:
            best, fewest = partition, count
    return best


@jit_inner
def is_better_reservation(state: ScheduleState, new_s: float, new: int, best_s: float, best: int) -> bool:
    """Return whether a partition is a better reservation: sooner, lower rank, fewer conflicts, first of the list."""
    first, second = state.parts[new], state.parts[best]
    return (new_s, first.rank, first.degree, new) < (best_s, second.rank, second.degree, best)


@jit_inner
def choose_reservation(state: ScheduleState, now: float, job: int, but_marked: bool) -> tuple[int, float]:
    """Return the partition of a job that is free soonest, and when; -1 if `but_marked` and all are marked."""
    group = state.jobs[job].group
    best, best_s = -1, 0.0
    for index in range(state.groups[group].first, state.groups[group].last):
        partition = state.members[index]
        if but_marked and state.parts[partition].mark == state.counter[STAMP]:
            continue
        at_s = free_s(state, now, partition)
        if best < 0 or is_better_reservation(state, at_s, partition, best_s, best):
            best, best_s = partition, at_s
    return best, best_s
