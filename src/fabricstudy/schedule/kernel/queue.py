"""The queue of waiting jobs and its order."""

from typing import Any

from ..state import ScheduleState
from .compiled import FIRST, GONE, LAST, jit_inner, sift


@jit_inner
def move_entry(task: ScheduleState, source: int, target: int) -> None:
    """Copy an entry of the queue to another position."""
    task.queue_job[target] = task.queue_job[source]
    task.queue_submit_s[target] = task.queue_submit_s[source]
    task.queue_request_s[target] = task.queue_request_s[source]
    task.queue_nodes[target] = task.queue_nodes[source]
    task.queue_score[target] = task.queue_score[source]


@jit_inner
def insert(task: ScheduleState, job: int) -> None:
    """Insert a job into the queue: at its position if the order never changes, else at the end."""
    position = task.counter[LAST]
    task.counter[LAST] += 1
    if not task.changes:
        while position > task.counter[FIRST] and task.jobs[job].place < task.jobs[task.queue_job[position - 1]].place:
            move_entry(task, position - 1, position)
            position -= 1
    task.queue_job[position] = job
    task.queue_submit_s[position] = task.jobs[job].submit_s
    task.queue_request_s[position] = task.jobs[job].request_s
    task.queue_nodes[position] = task.jobs[job].nodes
    task.groups[task.jobs[job].group].waiting += 1


@jit_inner
def enqueue_arrivals(task: ScheduleState, now: float, arrived: int) -> int:
    """Queue the jobs submitted by now; return the number of jobs submitted so far."""
    while arrived < len(task.jobs) and task.jobs[arrived].submit_s <= now:
        insert(task, arrived)
        arrived += 1
    return arrived


@jit_inner
def compact_queue(task: ScheduleState, low: int, high: int) -> None:
    """Remove the gone jobs, all at positions `low` to `high`; the others keep their order."""
    first, last = task.counter[FIRST], task.counter[LAST]
    if high - first < last - low:
        target = high
        for source in range(high, first - 1, -1):
            if task.queue_job[source] != GONE:
                if source != target:
                    move_entry(task, source, target)
                target -= 1
        task.counter[FIRST] = target + 1
    else:
        target = low
        for source in range(low, last):
            if task.queue_job[source] != GONE:
                if source != target:
                    move_entry(task, source, target)
                target += 1
        task.counter[LAST] = target


@jit_inner
def remove_entry(task: ScheduleState, position: int) -> None:
    """Remove a job from the queue; the positions behind it change, or those before it."""
    if task.changes:
        move_entry(task, task.counter[FIRST], position)
        task.counter[FIRST] += 1
    else:
        task.queue_job[position] = GONE
        compact_queue(task, position, position)


@jit_inner
def update_scores(task: ScheduleState, now: float, score: Any) -> None:
    """Compute the scores of all waiting jobs, if they change."""
    if task.changes:
        first, last = task.counter[FIRST], task.counter[LAST]
        score(
            now,
            task.queue_submit_s[first:last],
            task.queue_request_s[first:last],
            task.queue_nodes[first:last],
            task.queue_score[first:last],
        )


@jit_inner
def comes_before(task: ScheduleState, a: int, b: int) -> bool:
    """Return whether the job at position `a` of the queue comes before that at `b`, in an order that changes."""
    first, second = task.queue_score[a], task.queue_score[b]
    return first > second or (first == second and task.queue_job[a] < task.queue_job[b])


@jit_inner
def head(task: ScheduleState) -> int:
    """Return the position of the first job in the queue's order."""
    best = task.counter[FIRST]
    if task.changes:
        for position in range(best + 1, task.counter[LAST]):
            if comes_before(task, position, best):
                best = position
    return best


@jit_inner
def make_heap(task: ScheduleState, size: int) -> None:
    """Make a heap of the first `size` positions in `heap`, with the first in the queue's order on top."""
    for position in range(size // 2 - 1, -1, -1):
        sift(task, task.heap, position, size, comes_before)


@jit_inner
def all_positions(task: ScheduleState) -> int:
    """Prepare all positions of the queue for `next_position`; return their number."""
    size = task.counter[LAST] - task.counter[FIRST]
    if task.changes:
        for position in range(size):
            task.heap[position] = task.counter[FIRST] + position
        make_heap(task, size)
    return size


@jit_inner
def next_position(task: ScheduleState, visited: int, size: int) -> int:
    """Return the next position in the queue's order, after `visited` of `size` positions."""
    if not task.changes:
        return task.counter[FIRST] + visited
    left = size - visited - 1
    top = task.heap[0]
    task.heap[0] = task.heap[left]
    sift(task, task.heap, 0, left, comes_before)
    return top
