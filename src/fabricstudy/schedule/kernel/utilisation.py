"""Use of the machine at an instant, and the causes of idle midplanes."""

from typing import Any

import numpy as np

from fabricstudy.core.arrays import Array

from ..state import ScheduleState
from .compiled import FIRST, LAST, jit_allocating, jit_inner
from .nodes import count_free_nodes


@jit_allocating
def tables(state: ScheduleState) -> tuple[Array, Array]:
    """Return empty tables of the time of each instant, and of its counts."""
    size = 2 * len(state.jobs)
    return np.empty(size), np.empty((size, 6), np.int64)


@jit_inner
def popcount(bits: Any) -> int:
    """Count the bits of a word that are set."""
    bits = bits - ((bits >> np.uint64(1)) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@jit_inner
def causes(state: ScheduleState) -> tuple[int, int]:
    """Count the midplanes that are idle for lack of cables, and those that are held."""
    cables, held = 0, 0
    for word in range(len(state.used)):
        lacking_cables, startable = np.uint64(0), np.uint64(0)
        for group in range(len(state.groups)):
            if state.groups[group].waiting == 0:
                continue
            overlaps, free = np.uint64(0), np.uint64(0)
            for index in range(state.groups[group].first, state.groups[group].last):
                partition = state.members[index]
                if state.parts[partition].overlaps == 0:
                    overlaps |= state.words[partition, word]
                    if state.parts[partition].blockers == 0:
                        free |= state.words[partition, word]
            lacking_cables |= overlaps & ~free
            startable |= free
        cables += popcount(lacking_cables)
        held += popcount(startable & ~lacking_cables)
    return cables, held


@jit_inner
def use_of_partitions(state: ScheduleState) -> tuple[int, int, int, int]:
    """Count the midplanes that are busy, idle, idle for lack of cables, and held."""
    busy, cables, held = 0, 0, 0
    for word in range(len(state.used)):
        busy += popcount(state.used[word])
    if busy < state.midplanes and state.counter[FIRST] < state.counter[LAST]:
        cables, held = causes(state)
    return busy, state.midplanes - busy, cables, held


@jit_inner
def use_of_nodes(state: ScheduleState, holder: Array, no_nodes: Array) -> tuple[int, int, int, int]:
    """Count the same of nodes; idle ones are held if there are enough for some waiting job."""
    idle, least = count_free_nodes(holder, no_nodes), np.inf
    for position in range(state.counter[FIRST], state.counter[LAST]):
        least = min(least, state.jobs[state.queue[position]].nodes)
    return len(holder) - idle, idle, 0, idle if least <= idle else 0


@jit_allocating
def record(
    state: ScheduleState, now: float, times: Array, counts: Array, row: int, use: tuple[int, int, int, int]
) -> tuple[Array, Array]:
    """Return the tables with the use from now on; what is idle without a cause is empty if no job waits."""
    if row == len(times):
        times = np.concatenate((times, np.empty_like(times)))
        counts = np.concatenate((counts, np.empty_like(counts)))
    busy, idle, cables, held = use
    queue = state.counter[LAST] - state.counter[FIRST]
    empty, scattered = (0, idle - cables - held) if queue else (idle, 0)
    times[row] = now
    counts[row] = busy, empty, cables, held, scattered, queue
    return times, counts
