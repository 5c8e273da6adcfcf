# Values of records are of any type to mypy.
# mypy: disable-error-code="no-any-return"
"""The event loop, compiled by numba on first use and kept beside this file.

All functions stand in one file, since numba compiles a caller anew only where its own file changed. `Task` says what
the arrays are. At each instant all that ends and all that comes is taken in first; then a *pass* starts what may start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit, types

from .task import Array, Task

Profile = tuple[Array, Array, Array]
F = TypeVar("F", bound=Callable[..., Any])

FIRST, LAST, RUNNING, STAMP = 0, 1, 2, 3
"""Places in `Task.counter`."""

MOST = 1 << 60
"""More than anything that is counted."""

_FLOATS = types.Array(types.float64, 1, "C")
SCORE = types.void(types.float64, _FLOATS, _FLOATS, _FLOATS, _FLOATS)
"""Type of an order's `score`."""


def _inner(function: F) -> F:
    """Compile what only compiled code calls, and what makes no arrays: none of them are counted as used then."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, "_nrt": False}
    compiled: F = njit(**options)(function)
    return compiled


def _making(function: F) -> F:
    """Compile what only compiled code calls, and what may make arrays."""
    options: dict[str, Any] = {"no_cpython_wrapper": True}
    compiled: F = njit(**options)(function)
    return compiled


# Running jobs -----------------------------------------------------------------------------------------------------


@_inner
def _ends_before(task: Task, one: int, other: int) -> bool:
    first, second = task.jobs[one].end_s, task.jobs[other].end_s
    return first < second or (first == second and one < other)


@_inner
def _push(task: Task, job: int) -> None:
    running = task.running
    place = task.counter[RUNNING]
    task.counter[RUNNING] += 1
    while place > 0 and _ends_before(task, job, running[(place - 1) // 2]):
        running[place] = running[(place - 1) // 2]
        place = (place - 1) // 2
    running[place] = job


@_inner
def _pop(task: Task) -> int:
    running = task.running
    top: int = running[0]
    task.counter[RUNNING] -= 1
    size = task.counter[RUNNING]
    last = running[size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _ends_before(task, running[child + 1], running[child]):
            child += 1
        if not _ends_before(task, running[child], last):
            break
        running[place] = running[child]
        place = child
    running[place] = last
    return top


@_inner
def _length(task: Task, job: int, partition: int) -> float:
    """Requested time on a partition."""
    if task.scale_request:
        return task.jobs[job].request_s * task.factor[job, task.parts[partition].variant]
    return task.jobs[job].request_s


@_inner
def _shortest(task: Task, job: int) -> float:
    """Requested time where the job runs fastest."""
    return task.jobs[job].request_s * task.jobs[job].lowest if task.scale_request else task.jobs[job].request_s


@_inner
def _start(task: Task, now: float, job: int, partition: int, backfilled: bool) -> None:
    length = _length(task, job, partition)
    run = task.jobs[job].runtime_s * task.factor[job, task.parts[partition].variant]
    if task.kill and run > length:
        run = length
    task.jobs[job].start_s = now
    task.jobs[job].end_s = now + run
    task.jobs[job].expected_s = now + length
    task.jobs[job].partition = partition
    task.jobs[job].backfilled = backfilled
    task.parts[partition].occupant = job
    for at in range(task.parts[partition].first, task.parts[partition].last):
        other = task.conflicts[at].other
        if task.parts[other].blockers == 0:
            _count_free(task, other, -1)
        task.parts[other].blockers += 1
        task.parts[other].seats += task.conflicts[at].shares_midplane
    for word in range(len(task.used)):
        task.used[word] |= task.words[partition, word]
    task.groups[task.jobs[job].group].waiting -= 1
    _push(task, job)


@_inner
def _end(task: Task) -> int:
    """End the running job that is first to end."""
    job = _pop(task)
    partition = task.jobs[job].partition
    task.parts[partition].occupant = -1
    for at in range(task.parts[partition].first, task.parts[partition].last):
        other = task.conflicts[at].other
        task.parts[other].blockers -= 1
        task.parts[other].seats -= task.conflicts[at].shares_midplane
        if task.parts[other].blockers == 0:
            _count_free(task, other, 1)
    for word in range(len(task.used)):
        task.used[word] &= ~task.words[partition, word]
    return job


@_inner
def _count_free(task: Task, partition: int, change: int) -> None:
    for at in range(task.parts[partition].groups_first, task.parts[partition].groups_last):
        task.groups[task.groups_of[at]].free += change


# The queue --------------------------------------------------------------------------------------------------------


@_inner
def _move(task: Task, source: int, target: int) -> None:
    task.q_job[target] = task.q_job[source]
    task.q_submit[target] = task.q_submit[source]
    task.q_request[target] = task.q_request[source]
    task.q_nodes[target] = task.q_nodes[source]
    task.q_score[target] = task.q_score[source]


@_inner
def _insert(task: Task, job: int) -> None:
    """Put a job into the queue: where it belongs if the order never changes, else at the end."""
    place = task.counter[LAST]
    task.counter[LAST] += 1
    if not task.changes:
        while place > task.counter[FIRST] and task.jobs[job].place < task.jobs[task.q_job[place - 1]].place:
            _move(task, place - 1, place)
            place -= 1
    task.q_job[place] = job
    task.q_submit[place] = task.jobs[job].submit_s
    task.q_request[place] = task.jobs[job].request_s
    task.q_nodes[place] = task.jobs[job].nodes
    task.groups[task.jobs[job].group].waiting += 1


@_inner
def _remove(task: Task, at: int) -> None:
    """Take a job out of the queue; positions behind it change, and those before it."""
    first, last = task.counter[FIRST], task.counter[LAST]
    if task.changes:
        _move(task, first, at)
        task.counter[FIRST] += 1
    elif at - first < last - at:
        for place in range(at, first, -1):
            _move(task, place - 1, place)
        task.counter[FIRST] += 1
    else:
        for place in range(at, last - 1):
            _move(task, place + 1, place)
        task.counter[LAST] -= 1


@_inner
def _remove_marked(task: Task, marked: int) -> None:
    """Take out jobs whose place in the queue was emptied: the first `marked` of `heap` from its end."""
    for at in range(len(task.heap) - marked, len(task.heap)):
        place = task.heap[at]
        while task.counter[FIRST] < task.counter[LAST] and task.q_job[task.counter[FIRST]] < 0:
            task.counter[FIRST] += 1
        if place > task.counter[FIRST] and task.q_job[place] < 0:
            _move(task, task.counter[FIRST], place)
            task.counter[FIRST] += 1


@_inner
def _rate(task: Task, now: float, score: Any) -> None:
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


@_inner
def _comes_before(task: Task, one: int, other: int) -> bool:
    first, second = task.q_score[one], task.q_score[other]
    return first > second or (first == second and task.q_job[one] < task.q_job[other])


@_inner
def _head(task: Task) -> int:
    """Position of the first job in the queue's order."""
    best = task.counter[FIRST]
    if task.changes:
        score = task.q_score
        for place in range(best + 1, task.counter[LAST]):
            if score[place] >= score[best] and _comes_before(task, place, best):
                best = place
    return best


@_inner
def _sift(task: Task, place: int, size: int) -> None:
    heap = task.heap
    moved = heap[place]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _comes_before(task, heap[child + 1], heap[child]):
            child += 1
        if not _comes_before(task, heap[child], moved):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = moved


@_inner
def _pop_position(task: Task, size: int) -> int:
    """Take the first position out of the heap of this size."""
    top = task.heap[0]
    task.heap[0] = task.heap[size - 1]
    _sift(task, 0, size - 1)
    return top


# Partitions -------------------------------------------------------------------------------------------------------


@_inner
def _blocked(task: Task, partition: int, enough: int) -> int:
    """Count the free partitions that one would block, up to `enough`."""
    count = 0
    for at in range(task.parts[partition].first, task.parts[partition].last):
        if task.parts[task.conflicts[at].other].blockers == 0:
            count += 1
            if count >= enough:
                break
    return count


@_inner
def _choose(task: Task, job: int, now: float, before: float) -> int:
    """Give the free partition to start a job on, or -1: one without the mark, or one on which it ends in time.

    Of several the one of least rank, then the one that blocks fewest free ones, then the first of the list.
    """
    group = task.jobs[job].group
    best = -1
    fewest = 0
    if task.groups[group].free == 0:
        return best
    stamp = task.counter[STAMP]
    for at in range(task.groups[group].first, task.groups[group].last):
        partition = task.members[at]
        if task.parts[partition].blockers != 0 or (best >= 0 and task.parts[partition].rank > task.parts[best].rank):
            continue
        if task.parts[partition].mark == stamp and now + _length(task, job, partition) > before:
            continue
        if best < 0 or task.parts[partition].rank < task.parts[best].rank:
            fewest = MOST
        count = _blocked(task, partition, fewest)
        if count < fewest:
            best, fewest = partition, count
    return best


@_inner
def _free_s(task: Task, now: float, partition: int) -> float:
    """When a partition is free by requested times; a job beyond its request is expected to end at once."""
    latest = now
    for at in range(task.parts[partition].first, task.parts[partition].last):
        job = task.parts[task.conflicts[at].other].occupant
        if job >= 0 and task.jobs[job].expected_s > latest:
            latest = task.jobs[job].expected_s
    return latest


@_inner
def _comes_sooner(task: Task, one_s: float, one: int, other_s: float, other: int) -> bool:
    """Whether one of two partitions is to be promised: sooner, of lower rank, of fewer conflicts, first of the list."""
    if one_s != other_s:
        return one_s < other_s
    if task.parts[one].rank != task.parts[other].rank:
        return task.parts[one].rank < task.parts[other].rank
    if task.parts[one].degree != task.parts[other].degree:
        return task.parts[one].degree < task.parts[other].degree
    return one < other


@_inner
def _reserve(task: Task, now: float, job: int, but_marked: bool) -> tuple[int, float]:
    """Give the partition of a job that is free soonest, and when; -1 if all are marked and these do not count."""
    group = task.jobs[job].group
    best, best_s = -1, 0.0
    for at in range(task.groups[group].first, task.groups[group].last):
        partition = task.members[at]
        if but_marked and task.parts[partition].mark == task.counter[STAMP]:
            continue
        free_s = _free_s(task, now, partition)
        if best < 0 or _comes_sooner(task, free_s, partition, best_s, best):
            best, best_s = partition, free_s
    return best, best_s


# Passes -----------------------------------------------------------------------------------------------------------


@_inner
def _in_turn(task: Task, now: float, score: Any) -> int:
    """Start jobs in the order of the queue; give the position of the first one that cannot start, or -1."""
    if task.counter[FIRST] == task.counter[LAST]:
        return -1
    _rate(task, now, score)
    task.counter[STAMP] += 1
    while task.counter[FIRST] < task.counter[LAST]:
        at = _head(task)
        job = task.q_job[at]
        partition = _choose(task, job, now, now)
        if partition < 0:
            return at
        _start(task, now, job, partition, False)
        _remove(task, at)
    return -1


@_inner
def _any_free(task: Task) -> bool:
    """Whether a job that waits has a free partition."""
    found = False
    for group in range(len(task.groups)):
        found |= task.groups[group].free > 0 and task.groups[group].waiting > 0
    return found


@_inner
def _open_groups(task: Task) -> None:
    """Find out which groups have a free partition that does not conflict with the reservation."""
    for group in range(len(task.groups)):
        task.groups[group].open = 0
        if task.groups[group].free > 0 and task.groups[group].waiting > 0:
            for at in range(task.groups[group].first, task.groups[group].last):
                partition = task.members[at]
                if task.parts[partition].blockers == 0 and task.parts[partition].mark != task.counter[STAMP]:
                    task.groups[group].open = 1
                    break


@_inner
def _may_fit(task: Task, job: int, now: float, before: float) -> bool:
    group = task.jobs[job].group
    return task.groups[group].free > 0 and (task.groups[group].open > 0 or now + _shortest(task, job) <= before)


@_inner
def _mark_conflicts(task: Task, partition: int) -> None:
    for at in range(task.parts[partition].first, task.parts[partition].last):
        task.parts[task.conflicts[at].other].mark = task.counter[STAMP]


@_inner
def _fill_fixed(task: Task, now: float, before: float) -> None:
    """Backfill where the queue stands in order."""
    at = task.counter[FIRST] + 1
    while at < task.counter[LAST]:
        job = task.q_job[at]
        partition = _choose(task, job, now, before) if _may_fit(task, job, now, before) else -1
        if partition < 0:
            at += 1
            continue
        _start(task, now, job, partition, True)
        last = task.counter[LAST]
        _remove(task, at)
        # Either those behind it have moved up, or those before it have moved back.
        at += last == task.counter[LAST]
        if not _any_free(task):
            return
        _open_groups(task)


@_inner
def _fill_changing(task: Task, now: float, before: float, head: int) -> None:
    """Backfill where the order has to be found."""
    size, marked = 0, 0
    for place in range(task.counter[FIRST], task.counter[LAST]):
        if place != head and _may_fit(task, task.q_job[place], now, before):
            task.heap[size] = place
            size += 1
    for place in range(size // 2 - 1, -1, -1):
        _sift(task, place, size)
    while size > 0:
        at = _pop_position(task, size)
        size -= 1
        job = task.q_job[at]
        partition = _choose(task, job, now, before) if _may_fit(task, job, now, before) else -1
        if partition >= 0:
            _start(task, now, job, partition, True)
            task.q_job[at] = -1
            marked += 1
            task.heap[len(task.heap) - marked] = at
            _open_groups(task)
    _remove_marked(task, marked)


@_inner
def _pass_easy(task: Task, now: float, score: Any) -> None:
    at = _in_turn(task, now, score)
    if at < 0:
        return
    head = task.q_job[at]
    promised = not np.isnan(task.jobs[head].promised_s)
    if promised and not _any_free(task):
        return
    partition, free_s = _reserve(task, now, head, False)
    if not promised:
        task.jobs[head].promised_s = free_s
    task.counter[STAMP] += 1
    _mark_conflicts(task, partition)
    _open_groups(task)
    if task.changes:
        _fill_changing(task, now, free_s, at)
    else:
        _fill_fixed(task, now, free_s)


# Instants ---------------------------------------------------------------------------------------------------------


@_inner
def _ones(bits: Any) -> int:
    """Count the bits of a word that are set."""
    bits = bits - ((bits >> np.uint64(1)) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@_making
def _record(task: Task, now: float, times: Array, counts: Array, size: int) -> tuple[Array, Array]:
    """Note how the machine is used from now on: busy, empty, cables, held, scattered, queue."""
    if size == len(times):
        times = np.concatenate((times, np.empty_like(times)))
        counts = np.concatenate((counts, np.empty_like(counts)))
    words = len(task.used)
    busy = 0
    for word in range(words):
        busy += _ones(task.used[word])
    queue = task.counter[LAST] - task.counter[FIRST]
    cables, held = 0, 0
    if queue > 0 and busy < task.midplanes:
        cables, held = _causes(task)
    idle = task.midplanes - busy
    times[size] = now
    counts[size, 0] = busy
    counts[size, 1] = idle if queue == 0 else 0
    counts[size, 2] = cables
    counts[size, 3] = held
    counts[size, 4] = 0 if queue == 0 else idle - cables - held
    counts[size, 5] = queue
    return times, counts


@_inner
def _causes(task: Task) -> tuple[int, int]:
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
        cables += _ones(lacks)
        held += _ones(has & ~lacks)
    return cables, held


@_inner
def _next_instant(task: Task, arrived: int) -> float:
    """When the next job ends or comes."""
    now = np.inf
    if task.counter[RUNNING] > 0:
        now = task.jobs[task.running[0]].end_s
    if arrived < len(task.jobs) and task.jobs[arrived].submit_s < now:
        now = task.jobs[arrived].submit_s
    return now


@_inner
def _take_in(task: Task, now: float, arrived: int) -> int:
    """End and queue all that ends and comes now; give how many have come so far."""
    while task.counter[RUNNING] > 0 and task.jobs[task.running[0]].end_s <= now:
        _end(task)
    while arrived < len(task.jobs) and task.jobs[arrived].submit_s <= now:
        _insert(task, arrived)
        arrived += 1
    return arrived


@_making
def _tables(task: Task) -> tuple[Array, Array]:
    size = 2 * len(task.jobs)
    return np.empty(size), np.empty((size, 6), np.int64)


@njit(cache=True)
def run_none(task: Task, score: Any) -> tuple[Array, Array]:
    """Schedule without backfilling; give instants and how the machine was used from each."""
    times, counts = _tables(task)
    size, arrived = 0, 0
    while arrived < len(task.jobs) or task.counter[RUNNING] > 0:
        now = _next_instant(task, arrived)
        arrived = _take_in(task, now, arrived)
        if _any_free(task):
            _in_turn(task, now, score)
        times, counts = _record(task, now, times, counts, size)
        size += 1
    return times[:size], counts[:size]


@njit(cache=True)
def run_easy(task: Task, score: Any) -> tuple[Array, Array]:
    """Schedule with one reservation."""
    times, counts = _tables(task)
    size, arrived = 0, 0
    while arrived < len(task.jobs) or task.counter[RUNNING] > 0:
        now = _next_instant(task, arrived)
        arrived = _take_in(task, now, arrived)
        _pass_easy(task, now, score)
        times, counts = _record(task, now, times, counts, size)
        size += 1
    return times[:size], counts[:size]


# Draining ---------------------------------------------------------------------------------------------------------


@_inner
def _all_positions(task: Task) -> int:
    """Make a heap of all positions of the queue; give its size."""
    size = 0
    for place in range(task.counter[FIRST], task.counter[LAST]):
        task.heap[size] = place
        size += 1
    if task.changes:
        for place in range(size // 2 - 1, -1, -1):
            _sift(task, place, size)
    return size


@_inner
def _next_position(task: Task, taken: int, size: int) -> int:
    """Give the position that comes next in the queue's order, after so many were taken of the heap of `size`."""
    return _pop_position(task, size - taken) if task.changes else task.heap[taken]


@_inner
def _drain(task: Task, partition: int) -> None:
    """Mark whatever conflicts with a partition, and count down what is left in each group."""
    for at in range(task.parts[partition].first, task.parts[partition].last):
        other = task.conflicts[at].other
        if task.parts[other].mark != task.counter[STAMP]:
            task.parts[other].mark = task.counter[STAMP]
            for of in range(task.parts[other].groups_first, task.parts[other].groups_last):
                task.groups[task.groups_of[of]].open -= 1


@_inner
def _start_or_drain(task: Task, now: float) -> bool:
    """Start jobs in order, those that cannot start keeping a partition from later ones; say whether any started."""
    task.counter[STAMP] += 1
    for group in range(len(task.groups)):
        task.groups[group].open = task.groups[group].last - task.groups[group].first
    size = _all_positions(task)
    marked = 0
    passed = False
    for taken in range(size):
        at = _next_position(task, taken, size)
        job = task.q_job[at]
        if task.groups[task.jobs[job].group].open == 0:
            passed = True
            continue
        partition = _choose(task, job, now, -np.inf)
        if partition >= 0:
            _start(task, now, job, partition, passed)
            task.q_job[at] = -1 - at
            marked += 1
        else:
            passed = True
            _drain(task, _reserve(task, now, job, True)[0])
    _close_gaps(task, marked)
    return marked > 0


@_inner
def _close_gaps(task: Task, marked: int) -> None:
    """Take out jobs whose place in the queue was emptied; the others keep their order."""
    if marked == 0:
        return
    place = task.counter[FIRST]
    for at in range(task.counter[FIRST], task.counter[LAST]):
        if task.q_job[at] >= 0:
            if at != place:
                _move(task, at, place)
            place += 1
    task.counter[LAST] = place


@_inner
def _above_free_s(task: Task, now: float, partition: int) -> float:
    """When the first larger partition above one becomes free of those that are not; the past if there is none."""
    soonest = np.inf
    for at in range(task.parts[partition].above_first, task.parts[partition].above_last):
        if task.parts[task.above[at]].blockers > 0:
            soonest = min(soonest, _free_s(task, now, task.above[at]))
    return soonest if soonest < np.inf else -np.inf


@_inner
def _choose_below(task: Task, job: int, now: float) -> int:
    """Give a free partition on which a job ends before the first larger one above it becomes free, or -1."""
    group = task.jobs[job].group
    best, fewest = -1, 0
    if task.groups[group].free == 0:
        return best
    for at in range(task.groups[group].first, task.groups[group].last):
        partition = task.members[at]
        if task.parts[partition].blockers != 0 or (best >= 0 and task.parts[partition].rank > task.parts[best].rank):
            continue
        if now + _length(task, job, partition) > _above_free_s(task, now, partition):
            continue
        if best < 0 or task.parts[partition].rank < task.parts[best].rank:
            fewest = MOST
        count = _blocked(task, partition, fewest)
        if count < fewest:
            best, fewest = partition, count
    return best


@_inner
def _start_below(task: Task, now: float) -> bool:
    """Start the first job that ends before it is in the way of a larger one; say whether there was any."""
    size = _all_positions(task)
    for taken in range(size):
        at = _next_position(task, taken, size)
        job = task.q_job[at]
        partition = _choose_below(task, job, now)
        if partition >= 0:
            _start(task, now, job, partition, taken > 0)
            _remove(task, at)
            return True
    return False


@_inner
def _pass_drain(task: Task, now: float, score: Any) -> None:
    """Start what may start; scores stay as they are, since no time passes."""
    _rate(task, now, score)
    while _any_free(task) and (_start_or_drain(task, now) or _start_below(task, now)):
        pass


@njit(cache=True)
def run_drain(task: Task, score: Any) -> tuple[Array, Array]:
    """Schedule as Cobalt does."""
    times, counts = _tables(task)
    size, arrived = 0, 0
    while arrived < len(task.jobs) or task.counter[RUNNING] > 0:
        now = _next_instant(task, arrived)
        arrived = _take_in(task, now, arrived)
        _pass_drain(task, now, score)
        times, counts = _record(task, now, times, counts, size)
        size += 1
    return times[:size], counts[:size]


# Slots for everybody ----------------------------------------------------------------------------------------------

# The *profile* has for each partition the slots that keep it from use, of running and of waiting jobs, by their begin:
# `job`, `begin` and `end` [partitions, room], and how many there are (`filled`). Stamps count what is given up: only a
# partition that was `freed` after a job `tried` can give it an earlier slot.


@_making
def _with_room(task: Task, profile: Profile, filled: Array, partition: int) -> Profile:
    """Give the profile with room for one more slot of a partition."""
    job, begin, end = profile
    for at in range(task.parts[partition].first, task.parts[partition].last):
        if filled[task.conflicts[at].other] == job.shape[1]:
            return (
                np.concatenate((job, np.empty_like(job)), axis=1),
                np.concatenate((begin, np.empty_like(begin)), axis=1),
                np.concatenate((end, np.empty_like(end)), axis=1),
            )
    return profile


@_inner
def _occupy(
    task: Task, profile: Profile, filled: Array, owner: int, partition: int, begin_s: float, end_s: float
) -> None:
    """Enter a slot in the rows of all that conflicts with a partition."""
    job, begin, end = profile
    for at in range(task.parts[partition].first, task.parts[partition].last):
        row = task.conflicts[at].other
        place = filled[row]
        filled[row] += 1
        while place > 0 and begin[row, place - 1] > begin_s:
            job[row, place], begin[row, place], end[row, place] = (
                job[row, place - 1], begin[row, place - 1], end[row, place - 1],
            )  # fmt: skip
            place -= 1
        job[row, place], begin[row, place], end[row, place] = owner, begin_s, end_s


@_inner
def _release(task: Task, profile: Profile, filled: Array, owner: int, partition: int) -> None:
    """Take a slot out again."""
    job, begin, end = profile
    for at in range(task.parts[partition].first, task.parts[partition].last):
        row = task.conflicts[at].other
        place = 0
        while job[row, place] != owner:
            place += 1
        filled[row] -= 1
        for later in range(place, filled[row]):
            job[row, later], begin[row, later], end[row, later] = (
                job[row, later + 1], begin[row, later + 1], end[row, later + 1],
            )  # fmt: skip


@_inner
def _gap(profile: Profile, filled: Array, partition: int, now: float, length: float, before: float) -> float:
    """When a partition is unused for so long at the earliest, if it is no later than `before`."""
    begin, end = profile[1], profile[2]
    at_s = now
    for place in range(filled[partition]):
        if end[partition, place] <= at_s:
            continue
        if begin[partition, place] >= at_s + length:
            break
        at_s = end[partition, place]
        if at_s > before:
            break
    return at_s


@_inner
def _earliest(
    task: Task,
    profile: Profile,
    filled: Array,
    now: float,
    job: int,
    freed: Array,
    since: int,
    best: int,
    best_s: float,
) -> tuple[int, float]:
    """Give the earliest slot of a job on partitions that were freed since, unless the one that it has is better."""
    group = task.jobs[job].group
    for at in range(task.groups[group].first, task.groups[group].last):
        partition = task.members[at]
        if freed[partition] > since:
            at_s = _gap(profile, filled, partition, now, _length(task, job, partition), best_s)
            if best < 0 or _comes_sooner(task, at_s, partition, best_s, best):
                best, best_s = partition, at_s
    return best, best_s


@_inner
def _note_freed(task: Task, freed: Array, partition: int, stamp: int) -> None:
    for at in range(task.parts[partition].first, task.parts[partition].last):
        freed[task.conflicts[at].other] = stamp


@_inner
def _was_freed(task: Task, job: int, freed: Array, since: int) -> bool:
    found = False
    group = task.jobs[job].group
    for at in range(task.groups[group].first, task.groups[group].last):
        found |= freed[task.members[at]] > since
    return found


@_making
def _take_slots(
    task: Task,
    profile: Profile,
    filled: Array,
    now: float,
    slot: Array,
    slot_s: Array,
    freed: Array,
    tried: Array,
    stamp: int,
    ended: bool,
) -> tuple[Profile, int]:
    """Let each waiting job, in order of arrival, take the earliest slot; give the profile and the last stamp.

    Those that have one give it up for that only if a job has ended.
    """
    for place in range(task.counter[FIRST], task.counter[LAST]):
        job = task.q_job[place]
        old, old_s = slot[job], slot_s[job]
        if old < 0:
            partition, at_s = _earliest(task, profile, filled, now, job, freed, -1, -1, np.inf)
        elif ended and _was_freed(task, job, freed, tried[job]):
            _release(task, profile, filled, job, old)
            partition, at_s = _earliest(task, profile, filled, now, job, freed, tried[job], old, old_s)
        else:
            continue
        profile = _with_room(task, profile, filled, partition)
        _occupy(task, profile, filled, job, partition, at_s, at_s + _length(task, job, partition))
        if old >= 0 and (partition != old or at_s != old_s):
            stamp += 1
            _note_freed(task, freed, old, stamp)
        slot[job], slot_s[job], tried[job] = partition, at_s, stamp
        if np.isnan(task.jobs[job].promised_s):
            task.jobs[job].promised_s = at_s
    return profile, stamp


@_inner
def _start_due(
    task: Task, profile: Profile, filled: Array, now: float, slot: Array, slot_s: Array, freed: Array, stamp: int
) -> tuple[float, int]:
    """Start jobs whose slot has come; where one runs longer than it asked for, the slot is lost.

    Gives when the next slot begins, and the last stamp.
    """
    next_s = np.inf
    passed = False
    place = task.counter[FIRST]
    while place < task.counter[LAST]:
        job = task.q_job[place]
        last = task.counter[LAST]
        if slot_s[job] > now:
            next_s = min(next_s, slot_s[job])
        elif task.parts[slot[job]].blockers == 0:
            _start(task, now, job, slot[job], passed)
            _remove(task, place)
            # Either those behind it have moved up, or those before it have moved back.
            place += last == task.counter[LAST]
            continue
        else:
            _release(task, profile, filled, job, slot[job])
            stamp += 1
            _note_freed(task, freed, slot[job], stamp)
            slot[job] = -1
        passed = True
        place += 1
    return next_s, stamp


@njit(cache=True)
def run_conservative(task: Task, score: Any) -> tuple[Array, Array]:
    """Schedule with a slot for every job."""
    jobs, shape = len(task.jobs), (len(task.parts), 16)
    times, counts = _tables(task)
    profile = np.empty(shape, np.int64), np.empty(shape), np.empty(shape)
    filled, freed = np.zeros(shape[0], np.int64), np.zeros(shape[0], np.int64)
    slot, slot_s, tried = np.full(jobs, -1), np.empty(jobs), np.zeros(jobs, np.int64)
    size, arrived, stamp, next_s = 0, 0, 0, np.inf
    while arrived < jobs or task.counter[RUNNING] > 0 or task.counter[FIRST] < task.counter[LAST]:
        now = min(_next_instant(task, arrived), next_s)
        ended = False
        while task.counter[RUNNING] > 0 and task.jobs[task.running[0]].end_s <= now:
            job = _end(task)
            _release(task, profile, filled, job, slot[job])
            if task.jobs[job].expected_s > now:
                stamp += 1
                _note_freed(task, freed, slot[job], stamp)
            ended = True
        while arrived < jobs and task.jobs[arrived].submit_s <= now:
            _insert(task, arrived)
            arrived += 1
        profile, stamp = _take_slots(task, profile, filled, now, slot, slot_s, freed, tried, stamp, ended)
        next_s, stamp = _start_due(task, profile, filled, now, slot, slot_s, freed, stamp)
        times, counts = _record(task, now, times, counts, size)
        size += 1
    return times[:size], counts[:size]


# Nodes without a topology -----------------------------------------------------------------------------------------

# `holder` [nodes] has the job on each node or -1; `reserved` [nodes] those that are kept for the head of the queue.


@_inner
def _give_nodes(task: Task, now: float, at: int, holder: Array, reserved: Array, backfilled: bool) -> None:
    """Start the job at a position of the queue on the free nodes of the lowest numbers that are not reserved."""
    job = task.q_job[at]
    left = task.jobs[job].nodes
    for node in range(len(holder)):
        if left > 0 and holder[node] < 0 and not reserved[node]:
            holder[node] = job
            left -= 1
    length = _shortest(task, job)
    run = task.jobs[job].runtime_s * task.factor[job, 0]
    if task.kill and run > length:
        run = length
    task.jobs[job].start_s = now
    task.jobs[job].end_s = now + run
    task.jobs[job].expected_s = now + length
    task.jobs[job].partition = 0
    task.jobs[job].backfilled = backfilled
    _push(task, job)


@_inner
def _free_nodes(holder: Array, reserved: Array) -> int:
    """Count nodes that are free and not reserved."""
    count = 0
    for node in range(len(holder)):
        count += holder[node] < 0 and not reserved[node]
    return count


@_inner
def _expected_s(task: Task, now: float, job: int) -> float:
    """When a running job ends by its request; now if it is beyond it."""
    return max(now, task.jobs[job].expected_s)


@_inner
def _nodes_by(task: Task, now: float, then: float, free: int) -> int:
    """Count the nodes that are free at a time by the requests of running jobs."""
    for place in range(task.counter[RUNNING]):
        job = task.running[place]
        if _expected_s(task, now, job) <= then:
            free += int(task.jobs[job].nodes)
    return free


@_inner
def _reserve_nodes(task: Task, now: float, head: int, free: int, holder: Array, reserved: Array) -> tuple[float, int]:
    """Reserve the lowest nodes that are free as soon as there are enough; give when, and how many are left then."""
    wanted = int(task.jobs[head].nodes)
    then = np.inf
    for place in range(task.counter[RUNNING]):
        at_s = _expected_s(task, now, task.running[place])
        if at_s < then and _nodes_by(task, now, at_s, free) >= wanted:
            then = at_s
    left = wanted
    for node in range(len(holder)):
        is_free = holder[node] < 0 or _expected_s(task, now, holder[node]) <= then
        reserved[node] = left > 0 and is_free
        left -= 1 if reserved[node] else 0
    return then, _nodes_by(task, now, then, free) - wanted


@_inner
def _pass_nodes(
    task: Task, now: float, score: Any, holder: Array, masks: Array, is_easy: bool, counts_only: bool
) -> None:
    """Start jobs in order; with EASY, later ones too that do not delay the first that has to wait.

    Of `masks` the second row is what is reserved, and the first is nothing.
    """
    _rate(task, now, score)
    size = _all_positions(task)
    marked, spare, then, has_head = 0, 0, now, False
    free = _free_nodes(holder, masks[0])
    for taken in range(size):
        at = _next_position(task, taken, size)
        job = task.q_job[at]
        wanted = int(task.jobs[job].nodes)
        # Only a job that runs on into the reserved time has to leave alone what is reserved.
        runs_on = has_head and now + _shortest(task, job) > then
        keeps_off = masks[1] if runs_on and not counts_only else masks[0]
        fits = free >= wanted and not (runs_on and counts_only and spare < wanted)
        if fits and _free_nodes(holder, keeps_off) >= wanted:
            _give_nodes(task, now, at, holder, keeps_off, has_head)
            spare -= wanted if runs_on else 0
            free -= wanted
            task.q_job[at] = -1 - at
            marked += 1
        elif not is_easy:
            break
        elif not has_head:
            has_head = True
            then, spare = _reserve_nodes(task, now, job, free, holder, masks[1])
            if np.isnan(task.jobs[job].promised_s):
                task.jobs[job].promised_s = then
    _close_gaps(task, marked)


@_inner
def _least_wanted(task: Task) -> float:
    """Nodes of the smallest job that waits."""
    least = np.inf
    for place in range(task.counter[FIRST], task.counter[LAST]):
        least = min(least, task.q_nodes[place])
    return least


@_inner
def _record_nodes(task: Task, now: float, times: Array, counts: Array, size: int, holder: Array, nobody: Array) -> None:
    """Note how the nodes are used from now on; idle ones are held if a job that waits would find enough."""
    idle = _free_nodes(holder, nobody)
    queue = task.counter[LAST] - task.counter[FIRST]
    is_held = queue > 0 and _least_wanted(task) <= idle
    times[size] = now
    counts[size, 0] = len(holder) - idle
    counts[size, 1] = idle if queue == 0 else 0
    counts[size, 2] = 0
    counts[size, 3] = idle if is_held else 0
    counts[size, 4] = idle if queue > 0 and not is_held else 0
    counts[size, 5] = queue


@njit(cache=True)
def run_nodes(task: Task, score: Any, nodes: int, is_easy: bool, counts_only: bool) -> tuple[Array, Array]:
    """Schedule on nodes without a topology, without backfilling or with EASY."""
    times, counts = _tables(task)
    holder, masks = np.full(nodes, -1), np.zeros((2, nodes), np.bool_)
    size, arrived = 0, 0
    while arrived < len(task.jobs) or task.counter[RUNNING] > 0:
        now = _next_instant(task, arrived)
        while task.counter[RUNNING] > 0 and task.jobs[task.running[0]].end_s <= now:
            job = _pop(task)
            for node in range(nodes):
                if holder[node] == job:
                    holder[node] = -1
        while arrived < len(task.jobs) and task.jobs[arrived].submit_s <= now:
            _insert(task, arrived)
            arrived += 1
        _pass_nodes(task, now, score, holder, masks, is_easy, counts_only)
        _record_nodes(task, now, times, counts, size, holder, masks[0])
        size += 1
    return times[:size], counts[:size]
