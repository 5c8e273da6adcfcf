# Values of records are of any type to mypy.
# mypy: disable-error-code="no-any-return"
"""Jobs that wait, and which of them comes first."""

from typing import Any

from ..task import Task
from .compiled import FIRST, GONE, LAST, inner


@inner
def move(task: Task, source: int, target: int) -> None:
    """Let what stands at one place stand at another one."""
    task.q_job[target] = task.q_job[source]
    task.q_submit[target] = task.q_submit[source]
    task.q_request[target] = task.q_request[source]
    task.q_nodes[target] = task.q_nodes[source]
    task.q_score[target] = task.q_score[source]


@inner
def insert(task: Task, job: int) -> None:
    """Put a job into the queue: where it belongs if the order never changes, else at the end."""
    place = task.counter[LAST]
    task.counter[LAST] += 1
    if not task.changes:
        while place > task.counter[FIRST] and task.jobs[job].place < task.jobs[task.q_job[place - 1]].place:
            move(task, place - 1, place)
            place -= 1
    task.q_job[place] = job
    task.q_submit[place] = task.jobs[job].submit_s
    task.q_request[place] = task.jobs[job].request_s
    task.q_nodes[place] = task.jobs[job].nodes
    task.groups[task.jobs[job].group].waiting += 1


@inner
def take_in(task: Task, now: float, arrived: int) -> int:
    """Queue all that comes now; give how many have come so far."""
    while arrived < len(task.jobs) and task.jobs[arrived].submit_s <= now:
        insert(task, arrived)
        arrived += 1
    return arrived


@inner
def close_gaps(task: Task, low: int, high: int) -> None:
    """Take out the jobs that are gone, all of which stand from one place to another; the others keep their order."""
    first, last = task.counter[FIRST], task.counter[LAST]
    if high - first < last - low:
        place = high
        for at in range(high, first - 1, -1):
            if task.q_job[at] != GONE:
                if at != place:
                    move(task, at, place)
                place -= 1
        task.counter[FIRST] = place + 1
    else:
        place = low
        for at in range(low, last):
            if task.q_job[at] != GONE:
                if at != place:
                    move(task, at, place)
                place += 1
        task.counter[LAST] = place


@inner
def remove(task: Task, at: int) -> None:
    """Take a job out of the queue; places behind it change, or those before it."""
    if task.changes:
        move(task, task.counter[FIRST], at)
        task.counter[FIRST] += 1
    else:
        task.q_job[at] = GONE
        close_gaps(task, at, at)


@inner
def rate(task: Task, now: float, score: Any) -> None:
    """Compute the scores of all that wait, if they change."""
    if task.changes:
        first, last = task.counter[FIRST], task.counter[LAST]
        score(
            now,
            task.q_submit[first:last],
            task.q_request[first:last],
            task.q_nodes[first:last],
            task.q_score[first:last],
        )


@inner
def comes_before(task: Task, one: int, other: int) -> bool:
    """Whether the job at one place comes before that at another one, where the order changes."""
    first, second = task.q_score[one], task.q_score[other]
    return first > second or (first == second and task.q_job[one] < task.q_job[other])


@inner
def head(task: Task) -> int:
    """Place of the first job in the queue's order."""
    best = task.counter[FIRST]
    if task.changes:
        score = task.q_score
        for place in range(best + 1, task.counter[LAST]):
            if score[place] >= score[best] and comes_before(task, place, best):
                best = place
    return best


@inner
def sift(task: Task, place: int, size: int) -> None:
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


@inner
def make_heap(task: Task, size: int) -> None:
    """Order the first `size` places in `heap`, so that the one that comes first in the queue's order is on top."""
    for place in range(size // 2 - 1, -1, -1):
        sift(task, place, size)


@inner
def all_places(task: Task) -> int:
    """Make ready all places of the queue for `next_place`; give how many there are."""
    size = task.counter[LAST] - task.counter[FIRST]
    if task.changes:
        for place in range(size):
            task.heap[place] = task.counter[FIRST] + place
        make_heap(task, size)
    return size


@inner
def next_place(task: Task, taken: int, size: int) -> int:
    """Give the place that comes next in the queue's order, after so many were taken of `size`."""
    if not task.changes:
        return task.counter[FIRST] + taken
    left = size - taken - 1
    top = task.heap[0]
    task.heap[0] = task.heap[left]
    sift(task, 0, left)
    return top
