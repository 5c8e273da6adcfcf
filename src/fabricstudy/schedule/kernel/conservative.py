"""Conservative backfilling: a slot for every job.

The *profile* lists, for each partition, the slots of running and waiting jobs that block it, sorted by start time:
`job`, `begin` and `end` [partitions, room]; `filled` of a partition is their number. The stamp counts freed slots: only
a partition that was `freed` after a job `tried` can give it an earlier slot.
"""

import numpy as np

from ..state import Profile, ScheduleState
from .choice import is_better_reservation
from .compiled import FIRST, LAST, STAMP, jit_allocating, jit_inner
from .queue import remove_started
from .running import end_next_job, next_end_s, requested_on_s, start_job

ROOM = 16
"""Initial number of slots of a partition in a profile."""


@jit_allocating
def grow_profile(state: ScheduleState, profile: Profile, partition: int) -> Profile:
    """Return the profile with room for one more slot of a partition."""
    job, begin, end = profile
    for index in range(state.parts[partition].first, state.parts[partition].last):
        if state.parts[state.conflicts[index].other].filled == job.shape[1]:
            return np.hstack((job, job)), np.hstack((begin, begin)), np.hstack((end, end))
    return profile


@jit_inner
def add_slot(state: ScheduleState, profile: Profile, owner: int, partition: int, begin_s: float, end_s: float) -> None:
    """Insert a slot in the rows of all partitions that conflict with a partition."""
    job, begin, end = profile
    for index in range(state.parts[partition].first, state.parts[partition].last):
        row = state.conflicts[index].other
        position = state.parts[row].filled
        state.parts[row].filled += 1
        while position > 0 and begin[row, position - 1] > begin_s:
            job[row, position] = job[row, position - 1]
            begin[row, position] = begin[row, position - 1]
            end[row, position] = end[row, position - 1]
            position -= 1
        job[row, position], begin[row, position], end[row, position] = owner, begin_s, end_s


@jit_inner
def remove_slot(state: ScheduleState, profile: Profile, owner: int) -> None:
    """Remove the slot of a job."""
    job, begin, end = profile
    partition = state.jobs[owner].slot
    for index in range(state.parts[partition].first, state.parts[partition].last):
        row = state.conflicts[index].other
        position = 0
        while job[row, position] != owner:
            position += 1
        state.parts[row].filled -= 1
        for later in range(position, state.parts[row].filled):
            job[row, later] = job[row, later + 1]
            begin[row, later] = begin[row, later + 1]
            end[row, later] = end[row, later + 1]


@jit_inner
def note_freed(state: ScheduleState, partition: int) -> None:
    """Record for all conflicting partitions that a slot on a partition was freed."""
    state.counter[STAMP] += 1
    for index in range(state.parts[partition].first, state.parts[partition].last):
        other = state.conflicts[index].other
        state.parts[other].freed = state.counter[STAMP]
        for of in range(state.parts[other].groups_first, state.parts[other].groups_last):
            state.groups[state.groups_of[of]].freed = state.counter[STAMP]


@jit_inner
def earliest_gap_s(
    state: ScheduleState, profile: Profile, owner: int, partition: int, now: float, requested: float, before: float
) -> float:
    """Return the earliest start, not after `before`, at which a partition is free for the requested time."""
    job, begin, end = profile
    at_s = now
    for position in range(state.parts[partition].filled):
        if end[partition, position] <= at_s or job[partition, position] == owner:
            continue
        if begin[partition, position] >= at_s + requested:
            break
        at_s = end[partition, position]
        if at_s > before:
            break
    return at_s


@jit_inner
def earliest(state: ScheduleState, profile: Profile, now: float, job: int) -> tuple[int, float]:
    """Return the earliest slot of a job: its slot, unless a partition that was freed since then is better."""
    group = state.jobs[job].group
    best, best_s, since = state.jobs[job].slot, state.jobs[job].slot_s, state.jobs[job].tried
    if best < 0:
        best_s, since = np.inf, -1
    for index in range(state.groups[group].first, state.groups[group].last):
        partition = state.members[index]
        if state.parts[partition].freed > since:
            requested = requested_on_s(state, job, state.parts[partition].variant)
            at_s = earliest_gap_s(state, profile, job, partition, now, requested, best_s)
            if best < 0 or is_better_reservation(state, at_s, partition, best_s, best):
                best, best_s = partition, at_s
    return best, best_s


@jit_allocating
def reserve_slots(state: ScheduleState, profile: Profile, now: float, ended: bool) -> Profile:
    """Reserve the earliest slot of each waiting job, in order of arrival; return the profile.

    A slot is replaced only if a job has ended.
    """
    for position in range(state.counter[FIRST], state.counter[LAST]):
        job = state.queue[position]
        old = state.jobs[job].slot
        if old >= 0 and not (ended and state.groups[state.jobs[job].group].freed > state.jobs[job].tried):
            continue
        partition, at_s = earliest(state, profile, now, job)
        if partition != old or at_s != state.jobs[job].slot_s:
            if old >= 0:
                remove_slot(state, profile, job)
                note_freed(state, old)
            profile = grow_profile(state, profile, partition)
            requested = requested_on_s(state, job, state.parts[partition].variant)
            add_slot(state, profile, job, partition, at_s, at_s + requested)
            state.jobs[job].slot, state.jobs[job].slot_s = partition, at_s
        state.jobs[job].tried = state.counter[STAMP]
        if np.isnan(state.jobs[job].reserved_start_s):
            state.jobs[job].reserved_start_s = at_s
    return profile


@jit_inner
def start_due_jobs(state: ScheduleState, profile: Profile, now: float) -> float:
    """Start jobs whose slot has begun; return when the next slot begins.

    A slot is lost if a job still runs there after its requested time.
    """
    next_s = np.inf
    started, passed = 0, False
    for position in range(state.counter[FIRST], state.counter[LAST]):
        job = state.queue[position]
        slot = state.jobs[job].slot
        if state.jobs[job].slot_s > now:
            next_s = min(next_s, state.jobs[job].slot_s)
            passed = True
        elif state.parts[slot].blockers == 0:
            start_job(state, now, job, slot, passed)
            started += 1
        else:
            remove_slot(state, profile, job)
            note_freed(state, slot)
            state.jobs[job].slot = -1
            passed = True
    remove_started(state, started)
    return next_s


@jit_inner
def end_due_jobs(state: ScheduleState, profile: Profile, now: float, has_slots: bool) -> bool:
    """End all jobs that end now, and their slots if they have any; return whether there were any."""
    ended = False
    while next_end_s(state) <= now:
        job = end_next_job(state)
        if has_slots:
            remove_slot(state, profile, job)
            if state.jobs[job].expected_s > now:
                note_freed(state, state.jobs[job].slot)
        ended = True
    return ended
