"""Scheduling passes on nodes without a topology.

`holder` [nodes] has the job on each node or -1. Of `masks` [2, nodes] the second row marks the nodes reserved for the
head of the queue, and the first none. `spans` [room, 3] has the nodes of each job: job, first node, last node.
"""

from typing import Any

import numpy as np

from fabricstudy.core.arrays import Array

from ..state import ScheduleState
from .compiled import FIRST, GONE, LAST, RUNNING, SPANS, jit_allocating, jit_inner
from .queue import all_positions, compact_queue, next_position, update_scores
from .running import begin, shortest


@jit_allocating
def room_for_pass(state: ScheduleState, spans: Array, nodes: int) -> Array:
    """Return the spans with room for a pass, which allocates each node at most once."""
    while state.counter[SPANS] + nodes > len(spans):
        spans = np.concatenate((spans, np.empty_like(spans)))
    return spans


@jit_inner
def allocate_nodes(state: ScheduleState, job: int, holder: Array, reserved: Array, spans: Array) -> None:
    """Allocate to a job the free nodes of the lowest numbers that are not reserved."""
    left = state.jobs[job].nodes
    for node in range(len(holder)):
        if left > 0 and holder[node] < 0 and not reserved[node]:
            if left < state.jobs[job].nodes and holder[node - 1] == job:
                spans[state.counter[SPANS] - 1, 2] = node
            else:
                spans[state.counter[SPANS], 0], spans[state.counter[SPANS], 1] = job, node
                spans[state.counter[SPANS], 2] = node
                state.counter[SPANS] += 1
            holder[node] = job
            left -= 1


@jit_inner
def count_free_nodes(holder: Array, reserved: Array) -> int:
    """Count nodes that are free and not reserved."""
    count = 0
    for node in range(len(holder)):
        count += holder[node] < 0 and not reserved[node]
    return count


@jit_inner
def expected_s(state: ScheduleState, now: float, job: int) -> float:
    """Return when a running job ends by its request; now if that time is past."""
    return max(now, state.jobs[job].expected_s)


@jit_inner
def count_by(state: ScheduleState, now: float, then: float, free: int) -> int:
    """Count the nodes that are free at a time by the requests of running jobs."""
    for position in range(state.counter[RUNNING]):
        job = state.running[position]
        if expected_s(state, now, job) <= then:
            free += int(state.jobs[job].nodes)
    return free


@jit_inner
def reserve_nodes(
    state: ScheduleState, now: float, head: int, free: int, holder: Array, reserved: Array
) -> tuple[float, int]:
    """Reserve the lowest nodes as soon as enough are free; return when, and how many others are free then."""
    wanted = int(state.jobs[head].nodes)
    then = np.inf
    for position in range(state.counter[RUNNING]):
        at_s = expected_s(state, now, state.running[position])
        if at_s < then and count_by(state, now, at_s, free) >= wanted:
            then = at_s
    left = wanted
    for node in range(len(holder)):
        is_free = holder[node] < 0 or expected_s(state, now, holder[node]) <= then
        reserved[node] = left > 0 and is_free
        left -= 1 if reserved[node] else 0
    return then, count_by(state, now, then, free) - wanted


@jit_inner
def pass_nodes(
    state: ScheduleState,
    now: float,
    score: Any,
    holder: Array,
    masks: Array,
    spans: Array,
    is_easy: bool,
    counts_only: bool,
) -> None:
    """Start jobs in order; with EASY, also later ones that do not delay the first that must wait."""
    update_scores(state, now, score)
    size = all_positions(state)
    low, high = state.counter[LAST], -1
    spare, then, has_head = 0, now, False
    free = count_free_nodes(holder, masks[0])
    for visited in range(size):
        position = next_position(state, visited, size)
        job = state.queue_job[position]
        wanted = int(state.jobs[job].nodes)
        # Only a job that runs into the reserved time must avoid the reserved nodes.
        overlaps = has_head and now + shortest(state, job) > then
        avoided = masks[1] if overlaps and not counts_only else masks[0]
        fits = free >= wanted and not (overlaps and counts_only and spare < wanted)
        if fits and count_free_nodes(holder, avoided) >= wanted:
            allocate_nodes(state, job, holder, avoided, spans)
            begin(state, now, job, 0, 0, has_head)
            spare -= wanted if overlaps else 0
            free -= wanted
            state.queue_job[position] = GONE
            low, high = min(low, position), max(high, position)
        elif not is_easy:
            break
        elif not has_head:
            has_head = True
            then, spare = reserve_nodes(state, now, job, free, holder, masks[1])
            if np.isnan(state.jobs[job].reserved_start_s):
                state.jobs[job].reserved_start_s = then
    if high >= 0:
        compact_queue(state, low, high)


@jit_inner
def smallest_request_nodes(state: ScheduleState) -> float:
    """Return the nodes of the smallest waiting job."""
    least = np.inf
    for position in range(state.counter[FIRST], state.counter[LAST]):
        least = min(least, state.queue_nodes[position])
    return least
