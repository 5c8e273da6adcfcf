"""The queue of waiting jobs and its order."""

from typing import Any

from ..state import ScheduleState
from .compiled import FIRST, GONE, LAST, jit_inner, sift


@jit_inner
def move_entry(state: ScheduleState, source: int, target: int) -> None:
    """Copy an entry of the queue to another position."""
    state.queue_job[target] = state.queue_job[source]
    state.queue_submit_s[target] = state.queue_submit_s[source]
    state.queue_request_s[target] = state.queue_request_s[source]
    state.queue_nodes[target] = state.queue_nodes[source]
    state.queue_score[target] = state.queue_score[source]


@jit_inner
def enqueue_arrivals(state: ScheduleState, now: float, arrived: int) -> int:
    """Queue the jobs submitted by now, and return the number of jobs submitted so far.

    A job is inserted at its position if the order never changes, else at the end.
    """
    while arrived < len(state.jobs) and state.jobs[arrived].submit_s <= now:
        job, position = state.jobs[arrived], state.counter[LAST]
        state.counter[LAST] += 1
        if not state.changes:
            first = state.counter[FIRST]
            while position > first and job.queue_rank < state.jobs[state.queue_job[position - 1]].queue_rank:
                move_entry(state, position - 1, position)
                position -= 1
        state.queue_job[position], state.queue_submit_s[position] = arrived, job.submit_s
        state.queue_request_s[position], state.queue_nodes[position] = job.request_s, job.nodes
        state.groups[job.group].waiting += 1
        arrived += 1
    return arrived


@jit_inner
def compact_queue(state: ScheduleState, low: int, high: int) -> None:
    """Remove the gone jobs, all at positions `low` to `high`; the others keep their order."""
    first, last = state.counter[FIRST], state.counter[LAST]
    if high - first < last - low:
        target = high
        for source in range(high, first - 1, -1):
            if state.queue_job[source] != GONE:
                if source != target:
                    move_entry(state, source, target)
                target -= 1
        state.counter[FIRST] = target + 1
    else:
        target = low
        for source in range(low, last):
            if state.queue_job[source] != GONE:
                if source != target:
                    move_entry(state, source, target)
                target += 1
        state.counter[LAST] = target


@jit_inner
def remove_entry(state: ScheduleState, position: int) -> None:
    """Remove a job from the queue; the positions behind it change, or those before it."""
    if state.changes:
        move_entry(state, state.counter[FIRST], position)
        state.counter[FIRST] += 1
    else:
        state.queue_job[position] = GONE
        compact_queue(state, position, position)


@jit_inner
def update_scores(state: ScheduleState, now: float, score: Any) -> None:
    """Compute the scores of all waiting jobs, if they change."""
    if state.changes:
        first, last = state.counter[FIRST], state.counter[LAST]
        score(
            now,
            state.queue_submit_s[first:last],
            state.queue_request_s[first:last],
            state.queue_nodes[first:last],
            state.queue_score[first:last],
        )


@jit_inner
def comes_before(state: ScheduleState, a: int, b: int) -> bool:
    """Return whether the job at position `a` of the queue comes before that at `b`, in an order that changes."""
    first, second = state.queue_score[a], state.queue_score[b]
    return first > second or (first == second and state.queue_job[a] < state.queue_job[b])


@jit_inner
def head(state: ScheduleState) -> int:
    """Return the position of the first job in the queue's order."""
    best = state.counter[FIRST]
    if state.changes:
        for position in range(best + 1, state.counter[LAST]):
            if comes_before(state, position, best):
                best = position
    return best


@jit_inner
def make_heap(state: ScheduleState, size: int) -> None:
    """Make a heap of the first `size` positions in `heap`, with the first in the queue's order on top."""
    for position in range(size // 2 - 1, -1, -1):
        sift(state, state.heap, position, size, comes_before)


@jit_inner
def all_positions(state: ScheduleState) -> int:
    """Prepare all positions of the queue for `next_position`; return their number."""
    size = state.counter[LAST] - state.counter[FIRST]
    if state.changes:
        for position in range(size):
            state.heap[position] = state.counter[FIRST] + position
        make_heap(state, size)
    return size


@jit_inner
def next_position(state: ScheduleState, visited: int, size: int) -> int:
    """Return the next position in the queue's order, after `visited` of `size` positions."""
    if not state.changes:
        return state.counter[FIRST] + visited
    left = size - visited - 1
    top = state.heap[0]
    state.heap[0] = state.heap[left]
    sift(state, state.heap, 0, left, comes_before)
    return top
