"""The queue of waiting jobs and its order."""

from typing import Any

import numpy as np

from fabricstudy.core.arrays import Array

from ..state import ScheduleState
from .compiled import FIRST, LAST, jit_allocating, jit_inner


@jit_inner
def enqueue_arrivals(state: ScheduleState, now: float, arrived: int) -> int:
    """Queue the jobs submitted by now, and return the number of jobs submitted so far."""
    while arrived < len(state.jobs) and state.jobs[arrived].submit_s <= now:
        job, position, first = state.jobs[arrived], state.counter[LAST], state.counter[FIRST]
        state.counter[LAST] += 1
        while position > first and job.queue_rank < state.jobs[state.queue[position - 1]].queue_rank:
            state.queue[position] = state.queue[position - 1]
            position -= 1
        state.queue[position] = arrived
        state.groups[job.group].waiting += 1
        arrived += 1
    return arrived


@jit_inner
def remove_started(state: ScheduleState, started: int) -> None:
    """Remove the jobs that have started, so many, from the queue; those before them move back."""
    end = state.counter[FIRST]
    while started > 0:
        started -= state.jobs[state.queue[end]].partition >= 0
        end += 1
    target = end
    for source in range(end - 1, state.counter[FIRST] - 1, -1):
        if state.jobs[state.queue[source]].partition < 0:
            target -= 1
            state.queue[target] = state.queue[source]
    state.counter[FIRST] = target


@jit_allocating
def queue_order(state: ScheduleState, now: float, score: Any) -> Array:
    """Return the waiting jobs in the order of the queue: by their scores if it changes, of equals as submitted."""
    waiting = state.queue[state.counter[FIRST] : state.counter[LAST]]
    if not state.changes:
        return waiting
    columns = np.empty((4, len(waiting)))
    for index in range(len(waiting)):
        job = state.jobs[waiting[index]]
        columns[0, index], columns[1, index], columns[2, index] = job.submit_s, job.request_s, job.nodes
    scores = columns[3]
    score(now, columns[0], columns[1], columns[2], scores)
    # Insertion sort in place: few jobs have overtaken others since the last pass.
    for end in range(1, len(waiting)):
        number, own, position = waiting[end], scores[end], end
        while position > 0 and (scores[position - 1], -waiting[position - 1]) < (own, -number):
            waiting[position], scores[position] = waiting[position - 1], scores[position - 1]
            position -= 1
        waiting[position], scores[position] = number, own
    return waiting
