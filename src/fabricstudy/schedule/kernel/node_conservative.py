"""Conservative backfilling on nodes without a topology.

Nodes are alike and a job keeps its nodes, so a slot is a time and a number of nodes: that many are free when it begins.
The *profile* is the number of nodes in slots of running and waiting jobs, in steps: `used[k]` from time `at_s[k]` to
the next one [steps]; the number of steps is `steps[0]`.
"""

import numpy as np

from fabricstudy.core.arrays import Array

from ..state import Profile, ScheduleState
from .compiled import FIRST, LAST, RUNNING, jit_allocating, jit_inner
from .nodes import allocate_nodes, count_free_nodes
from .queue import remove_entry
from .running import begin, pop, requested_on_s


@jit_allocating
def empty_profile(state: ScheduleState) -> Profile:
    """Return a profile without slots, with room for those of all jobs."""
    room = 2 * len(state.jobs) + 2
    at_s = np.full(room, -np.inf)
    return at_s, np.zeros(room, np.int64), np.ones(1, np.int64)


@jit_inner
def step_at(profile: Profile, then: float) -> int:
    """Return the step that begins at a time, after splitting the step that contains it if there is none."""
    at_s, used, steps = profile
    position = steps[0]
    while at_s[position - 1] > then:
        position -= 1
    if at_s[position - 1] == then:
        return position - 1
    for later in range(steps[0], position, -1):
        at_s[later], used[later] = at_s[later - 1], used[later - 1]
    at_s[position], used[position] = then, used[position - 1]
    steps[0] += 1
    return position


@jit_inner
def add(profile: Profile, now: float, begin_s: float, end_s: float, nodes: int) -> None:
    """Add nodes to the use from one time to another, drop past steps, and join steps of equal use."""
    at_s, used, steps = profile
    if end_s <= now:
        return
    first = step_at(profile, max(begin_s, now))
    for position in range(first, step_at(profile, end_s)):
        used[position] += nodes
    size = 0
    for position in range(steps[0]):
        is_past = position + 1 < steps[0] and at_s[position + 1] <= now
        if not is_past and (size == 0 or used[position] != used[size - 1]):
            at_s[size], used[size] = at_s[position], used[position]
            size += 1
    at_s[0] = -np.inf
    steps[0] = size


@jit_inner
def earliest_s(profile: Profile, now: float, requested: float, most: int) -> float:
    """Return the earliest time from which no more than `most` nodes are in use for so long."""
    at_s, used, steps = profile
    then = now
    for position in range(steps[0]):
        if position + 1 < steps[0] and at_s[position + 1] <= then:
            continue
        if at_s[position] >= then + requested:
            break
        if used[position] > most:
            then = at_s[position + 1]
    return then


@jit_inner
def end_due_node_jobs(state: ScheduleState, profile: Profile, now: float, holder: Array, has_slots: bool) -> bool:
    """End all jobs that end now, and the rest of their slots if they have any; return whether any ended."""
    ended = False
    while state.counter[RUNNING] > 0 and state.jobs[state.running[0]].end_s <= now:
        job = pop(state)
        for node in range(len(holder)):
            if holder[node] == job:
                holder[node] = -1
        if has_slots:
            add(profile, now, now, state.jobs[job].expected_s, -int(state.jobs[job].nodes))
        ended = True
    return ended


@jit_inner
def reserve_node_slots(state: ScheduleState, profile: Profile, now: float, ended: bool, nodes: int) -> None:
    """Reserve the earliest slot of each waiting job, in order of arrival; replace a slot only if a job ended."""
    for position in range(state.counter[FIRST], state.counter[LAST]):
        job = state.queue_job[position]
        has_slot = state.jobs[job].slot >= 0
        if has_slot and not ended:
            continue
        wanted, requested = int(state.jobs[job].nodes), requested_on_s(state, job, 0)
        if has_slot:
            add(profile, now, state.jobs[job].slot_s, state.jobs[job].slot_s + requested, -wanted)
        then = earliest_s(profile, now, requested, nodes - wanted)
        add(profile, now, then, then + requested, wanted)
        state.jobs[job].slot, state.jobs[job].slot_s = 0, then
        if np.isnan(state.jobs[job].reserved_start_s):
            state.jobs[job].reserved_start_s = then


@jit_inner
def start_due_node_jobs(
    state: ScheduleState, profile: Profile, now: float, holder: Array, spans: Array, no_nodes: Array
) -> float:
    """Start jobs whose slot has begun; return when the next slot begins.

    A slot is lost if too few nodes are free, since jobs overran their requests.
    """
    next_s, passed = np.inf, False
    free = count_free_nodes(holder, no_nodes)
    position = state.counter[FIRST]
    while position < state.counter[LAST]:
        job = state.queue_job[position]
        wanted, last = int(state.jobs[job].nodes), state.counter[LAST]
        if state.jobs[job].slot_s > now:
            next_s = min(next_s, state.jobs[job].slot_s)
        elif free >= wanted:
            allocate_nodes(state, job, holder, no_nodes, spans)
            begin(state, now, job, 0, 0, passed)
            free -= wanted
            remove_entry(state, position)
            # Either the jobs behind it moved forward, or those before it moved back.
            position += last == state.counter[LAST]
            continue
        else:
            add(profile, now, now, now + requested_on_s(state, job, 0), -wanted)
            state.jobs[job].slot = -1
        passed = True
        position += 1
    return next_s
