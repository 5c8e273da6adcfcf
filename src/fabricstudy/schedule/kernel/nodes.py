"""Scheduling passes on nodes without a topology.

`holder` [nodes] has the job on each node or -1. Of `masks` [2, nodes] the second row marks the nodes reserved for the
head of the queue, and the first none. `spans` [room, 3] has the nodes of each job: job, first node, last node.

With conservative backfilling a slot is a time and a number of nodes: nodes are alike and a job keeps its nodes, so that
many are free when it begins. The *profile* is the number of nodes in slots of running and waiting jobs, in steps:
`used[k]` from time `at_s[k]` to the next one [steps]; the number of steps is `steps[0]`.
"""

import numpy as np

from fabricstudy.core.arrays import Array

from ..state import Profile, ScheduleState
from .compiled import FIRST, LAST, SPANS, jit_allocating, jit_inner
from .queue import remove_started
from .running import begin, next_end_s, pop, requested_on_s, shortest


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


@jit_allocating
def reserve_nodes(state: ScheduleState, now: float, head: int, holder: Array, reserved: Array) -> tuple[float, int]:
    """Reserve the lowest nodes as soon as enough are free by requests; return when, and how many others are free."""
    free_s = np.full(len(holder), now)
    for node in range(len(holder)):
        if holder[node] >= 0:
            free_s[node] = max(now, state.jobs[holder[node]].expected_s)
    wanted, count = int(state.jobs[head].nodes), 0
    then = np.partition(free_s, wanted - 1)[wanted - 1]
    for node in range(len(holder)):
        reserved[node] = count < wanted and free_s[node] <= then
        count += free_s[node] <= then
    return then, count - wanted


@jit_allocating
def pass_nodes(
    state: ScheduleState, now: float, order: Array, holder: Array, masks: Array, spans: Array, is_easy: bool,
    counts_only: bool,
) -> None:  # fmt: skip
    """Start jobs in order; with EASY, also later ones that do not delay the first that must wait."""
    started, spare, then, has_head = 0, 0, now, False
    free = count_free_nodes(holder, masks[0])
    for visited in range(len(order)):
        job = order[visited]
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
            started += 1
        elif not is_easy:
            break
        elif not has_head:
            has_head = True
            then, spare = reserve_nodes(state, now, job, holder, masks[1])
            if np.isnan(state.jobs[job].reserved_start_s):
                state.jobs[job].reserved_start_s = then
    remove_started(state, started)


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
    while next_end_s(state) <= now:
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
        job = state.queue[position]
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
    next_s, started, passed = np.inf, 0, False
    free = count_free_nodes(holder, no_nodes)
    for position in range(state.counter[FIRST], state.counter[LAST]):
        job = state.queue[position]
        wanted = int(state.jobs[job].nodes)
        if state.jobs[job].slot_s > now:
            next_s = min(next_s, state.jobs[job].slot_s)
            passed = True
        elif free >= wanted:
            allocate_nodes(state, job, holder, no_nodes, spans)
            begin(state, now, job, 0, 0, passed)
            free -= wanted
            started += 1
        else:
            add(profile, now, now, now + requested_on_s(state, job, 0), -wanted)
            state.jobs[job].slot = -1
            passed = True
    remove_started(state, started)
    return next_s
