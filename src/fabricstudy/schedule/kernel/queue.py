# Values of records are of any type to mypy.
# mypy: disable-error-code="no-any-return"
"""Jobs that wait, and which of them comes first."""

from typing import Any

from ..state import ScheduleState
from .compiled import FIRST, GONE, LAST, jit_inner


@jit_inner
def move(task: ScheduleState, source: int, target: int) -> None:
    """Let what stands at one place stand at another one."""
    task.queue_job[target] = task.queue_job[source]
    task.queue_submit_s[target] = task.queue_submit_s[source]
    task.queue_request_s[target] = task.queue_request_s[source]
    task.queue_nodes[target] = task.queue_nodes[source]
    task.queue_score[target] = task.queue_score[source]


@jit_inner
def insert(task: ScheduleState, job: int) -> None:
    """Put a job into the queue: where it belongs if the order never changes, else at the end."""
    place = task.counter[LAST]
    task.counter[LAST] += 1
    if not task.changes:
        while place > task.counter[FIRST] and task.jobs[job].place < task.jobs[task.queue_job[place - 1]].place:
            move(task, place - 1, place)
            place -= 1
    task.queue_job[place] = job
    task.queue_submit_s[place] = task.jobs[job].submit_s
    task.queue_request_s[place] = task.jobs[job].request_s
    task.queue_nodes[place] = task.jobs[job].nodes
    task.groups[task.jobs[job].group].waiting += 1


@jit_inner
def enqueue_arrivals(task: ScheduleState, now: float, arrived: int) -> int:
    """Queue all that comes now; give how many have come so far."""
    while arrived < len(task.jobs) and task.jobs[arrived].submit_s <= now:
        insert(task, arrived)
        arrived += 1
    return arrived


@jit_inner
def compact_queue(task: ScheduleState, low: int, high: int) -> None:
    """Take out the jobs that are gone, all of which stand from one place to another; the others keep their order."""
    first, last = task.counter[FIRST], task.counter[LAST]
    if high - first < last - low:
        place = high
        for at in range(high, first - 1, -1):
            if task.queue_job[at] != GONE:
                if at != place:
                    move(task, at, place)
                place -= 1
        task.counter[FIRST] = place + 1
    else:
        place = low
        for at in range(low, last):
            if task.queue_job[at] != GONE:
                if at != place:
                    move(task, at, place)
                place += 1
        task.counter[LAST] = place


@jit_inner
def remove(task: ScheduleState, at: int) -> None:
    """Take a job out of the queue; places behind it change, or those before it."""
    if task.changes:
        move(task, task.counter[FIRST], at)
        task.counter[FIRST] += 1
    else:
        task.queue_job[at] = GONE
        compact_queue(task, at, at)


@jit_inner
def update_scores(task: ScheduleState, now: float, score: Any) -> None:
    """Compute the scores of all that wait, if they change."""
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
def comes_before(task: ScheduleState, one: int, other: int) -> bool:
    """Return whether the job at one place comes before that at another one, where the order changes."""
    first, second = task.queue_score[one], task.queue_score[other]
    return first > second or (first == second and task.queue_job[one] < task.queue_job[other])


@jit_inner
def head(task: ScheduleState) -> int:
    """Place of the first job in the queue's order."""
    best = task.counter[FIRST]
    if task.changes:
        score = task.queue_score
        for place in range(best + 1, task.counter[LAST]):
            if score[place] >= score[best] and comes_before(task, place, best):
                best = place
    return best


@jit_inner
def sift(task: ScheduleState, place: int, size: int) -> None:
    """Let a place of the heap sink to where it belongs."""
    heap = task.heap
    moved = heap[place]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and comes_before(task, heap[child + 1], heap[child]):
            child += 1
        if not comes_before(task, heap[child], moved):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = moved


@jit_inner
def make_heap(task: ScheduleState, size: int) -> None:
    """Order the first `size` places in `heap`, so that the one that comes first in the queue's order is on top."""
    for place in range(size // 2 - 1, -1, -1):
        sift(task, place, size)


@jit_inner
def all_places(task: ScheduleState) -> int:
    """Make ready all places of the queue for `next_place`; give how many there are."""
    size = task.counter[LAST] - task.counter[FIRST]
    if task.changes:
        for place in range(size):
            task.heap[place] = task.counter[FIRST] + place
        make_heap(task, size)
    return size


@jit_inner
def next_place(task: ScheduleState, taken: int, size: int) -> int:
    """Return the place that comes next in the queue's order, after so many were taken of `size`."""
    if not task.changes:
        return task.counter[FIRST] + taken
    left = size - taken - 1
    top = task.heap[0]
    task.heap[0] = task.heap[left]
    sift(task, 0, left)
    return top
