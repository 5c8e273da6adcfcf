"""Use of the machine at an instant, and the causes of idle midplanes."""

from typing import Any

import numpy as np

from ..state import Array, ScheduleState
from .compiled import FIRST, LAST, jit_allocating, jit_inner
from .nodes import count_free_nodes, smallest_request_nodes


@jit_allocating
def tables(task: ScheduleState) -> tuple[Array, Array]:
    """Return empty tables of the time of each instant, and of its counts."""
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
    """Count the midplanes that are idle for lack of cables, and those that are held."""
    cables, held = 0, 0
    for word in range(len(task.used)):
        lacks, has = np.uint64(0), np.uint64(0)
        for group in range(len(task.groups)):
            if task.groups[group].waiting == 0:
                continue
            seats, free = np.uint64(0), np.uint64(0)
            for index in range(task.groups[group].first, task.groups[group].last):
                partition = task.members[index]
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
def note(task: ScheduleState, now: float, times: Array, counts: Array, row: int, busy: int, idle: int) -> int:
    """Record the counts that do not depend on causes, all idle midplanes as scattered; return the waiting jobs."""
    queue = task.counter[LAST] - task.counter[FIRST]
    times[row] = now
    for use in range(1, 5):
        counts[row, use] = 0
    counts[row, 0] = busy
    counts[row, 4 if queue else 1] = idle
    counts[row, 5] = queue
    return int(queue)


@jit_inner
def note_cause(counts: Array, row: int, cause: int, count: int) -> None:
    """Record the count of idle midplanes, or nodes, of a cause, which are then not scattered."""
    counts[row, cause] = count
    counts[row, 4] -= count


@jit_inner
def record(task: ScheduleState, now: float, times: Array, counts: Array, row: int) -> None:
    """Record the use of the machine from now on: busy, empty, cables, held, scattered, queue."""
    busy = 0
    for word in range(len(task.used)):
        busy += popcount(task.used[word])
    if note(task, now, times, counts, row, busy, task.midplanes - busy) > 0 and busy < task.midplanes:
        cables, held = causes(task)
        note_cause(counts, row, 2, cables)
        note_cause(counts, row, 3, held)


@jit_inner
def record_nodes(
    task: ScheduleState, now: float, times: Array, counts: Array, row: int, holder: Array, no_nodes: Array
) -> None:
    """Record the use of the nodes from now on; idle ones are held if there are enough for some waiting job."""
    idle = count_free_nodes(holder, no_nodes)
    if note(task, now, times, counts, row, len(holder) - idle, idle) > 0 and smallest_request_nodes(task) <= idle:
        note_cause(counts, row, 3, idle)
