"""How the machine is used at an instant, and why the rest of it is idle."""

from typing import Any

import numpy as np

from ..state import Array, ScheduleState
from .compiled import FIRST, LAST, jit_allocating, jit_inner
from .nodes import count_free_nodes, smallest_request_nodes


@jit_allocating
def tables(task: ScheduleState) -> tuple[Array, Array]:
    """Make room for the time of each instant, and for what is counted then."""
    size = 2 * len(task.jobs)
    return np.empty(size), np.empty((size, 6), np.int64)


@jit_allocating
def grow_tables(times: Array, counts: Array, size: int) -> tuple[Array, Array]:
    """Return the tables with room for one more instant."""
    if size < len(times):
        return times, counts
    return np.concatenate((times, np.empty_like(times))), np.concatenate((counts, np.empty_like(counts)))


@jit_inner
def popcount(bits: Any) -> int:
    """Count the bits of a word that are set."""
    bits = bits - ((bits >> np.uint64(1)) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@jit_inner
def causes(task: ScheduleState) -> tuple[int, int]:
    """Count idle midplanes that are so for want of cables, and those that are held."""
    cables, held = 0, 0
    for word in range(len(task.used)):
        lacks, has = np.uint64(0), np.uint64(0)
        for group in range(len(task.groups)):
            if task.groups[group].waiting == 0:
                continue
            seats, free = np.uint64(0), np.uint64(0)
            for at in range(task.groups[group].first, task.groups[group].last):
                partition = task.members[at]
                if task.parts[partition].seats == 0:
                    seats |= task.words[partition, word]
                    if task.parts[partition].blockers == 0:
                        free |= task.words[partition, word]
            lacks |= seats & ~free
            has |= free
        cables += popcount(lacks)
        held += popcount(has & ~lacks)
    return cables, held


@jit_inner
def note(task: ScheduleState, now: float, times: Array, counts: Array, at: int, busy: int, idle: int) -> int:
    """Note what is known whatever the cause: `scattered` is what is left over; give how many jobs wait."""
    queue = task.counter[LAST] - task.counter[FIRST]
    times[at] = now
    counts[at, 0] = busy
    counts[at, 1] = idle if queue == 0 else 0
    counts[at, 2] = 0
    counts[at, 3] = 0
    counts[at, 4] = 0 if queue == 0 else idle
    counts[at, 5] = queue
    return int(queue)


@jit_inner
def note_cause(counts: Array, at: int, cause: int, count: int) -> None:
    """Count idle midplanes, or nodes, for a cause instead of as `scattered`."""
    counts[at, cause] = count
    counts[at, 4] -= count


@jit_inner
def record(task: ScheduleState, now: float, times: Array, counts: Array, at: int) -> None:
    """Note how the machine is used from now on: busy, empty, cables, held, scattered, queue."""
    busy = 0
    for word in range(len(task.used)):
        busy += popcount(task.used[word])
    if note(task, now, times, counts, at, busy, task.midplanes - busy) > 0 and busy < task.midplanes:
        cables, held = causes(task)
        note_cause(counts, at, 2, cables)
        note_cause(counts, at, 3, held)


@jit_inner
def record_nodes(
    task: ScheduleState, now: float, times: Array, counts: Array, at: int, holder: Array, nobody: Array
) -> None:
    """Note how the nodes are used from now on; idle ones are held if a job that waits would find enough."""
    idle = count_free_nodes(holder, nobody)
    if note(task, now, times, counts, at, len(holder) - idle, idle) > 0 and smallest_request_nodes(task) <= idle:
        note_cause(counts, at, 3, idle)
