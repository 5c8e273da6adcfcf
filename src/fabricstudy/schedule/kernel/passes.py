"""Scheduling passes in the order of the queue: without backfilling, EASY's, and Cobalt's."""

from typing import Any

import numpy as np

from fabricstudy.core.arrays import Array

from ..state import ScheduleState
from .choice import any_free, choose, choose_reservation
from .compiled import STAMP, jit_allocating, jit_inner
from .queue import queue_order, remove_started
from .running import shortest, start_job


@jit_allocating
def pass_in_order(state: ScheduleState, now: float, score: Any, is_easy: bool) -> None:
    """Start jobs until one must wait; with EASY, also later jobs that do not delay it."""
    order = queue_order(state, now, score)
    started = start_in_order(state, now, order)
    if is_easy and started < len(order):
        started += backfill_jobs(state, now, order[started:])
    remove_started(state, started)


@jit_inner
def start_in_order(state: ScheduleState, now: float, order: Array) -> int:
    """Start jobs in order until one must wait; return how many started."""
    state.counter[STAMP] += 1
    for started in range(len(order)):
        partition = choose(state, order[started], now, now, False)
        if partition < 0:
            return started
        start_job(state, now, order[started], partition, False)
    return len(order)


@jit_inner
def open_groups(state: ScheduleState) -> None:
    """Mark the groups with a free partition that does not conflict with the reservation as open."""
    for group in range(len(state.groups)):
        state.groups[group].open = 0
        if state.groups[group].free > 0 and state.groups[group].waiting > 0:
            for index in range(state.groups[group].first, state.groups[group].last):
                partition = state.members[index]
                if state.parts[partition].blockers == 0 and state.parts[partition].mark != state.counter[STAMP]:
                    state.groups[group].open = 1
                    break


@jit_inner
def backfill_jobs(state: ScheduleState, now: float, order: Array) -> int:
    """Reserve a partition for the first job, and start later ones that do not delay it; return how many started."""
    waiting = order[0]
    reserved = not np.isnan(state.jobs[waiting].reserved_start_s)
    if reserved and not any_free(state):
        return 0
    partition, then = choose_reservation(state, now, waiting, False)
    if not reserved:
        state.jobs[waiting].reserved_start_s = then
    state.counter[STAMP] += 1
    for conflict in range(state.parts[partition].first, state.parts[partition].last):
        state.parts[state.conflicts[conflict].other].mark = state.counter[STAMP]
    open_groups(state)
    started = 0
    for visited in range(1, len(order)):
        job = order[visited]
        group = state.groups[state.jobs[job].group]
        if group.free == 0 or (group.open == 0 and now + shortest(state, job) > then):
            continue
        partition = choose(state, job, now, then, False)
        if partition >= 0:
            start_job(state, now, job, partition, True)
            started += 1
            if not any_free(state):
                break
            open_groups(state)
    return started


@jit_inner
def drain(state: ScheduleState, partition: int) -> None:
    """Mark all partitions that conflict with a partition, and count the unmarked ones of each group."""
    for index in range(state.parts[partition].first, state.parts[partition].last):
        other = state.conflicts[index].other
        if state.parts[other].mark != state.counter[STAMP]:
            state.parts[other].mark = state.counter[STAMP]
            for of in range(state.parts[other].groups_first, state.parts[other].groups_last):
                state.groups[state.groups_of[of]].open -= 1


@jit_inner
def start_or_drain(state: ScheduleState, now: float, order: Array) -> int:
    """Start jobs in order, draining a partition for each job that cannot start; return how many started."""
    state.counter[STAMP] += 1
    for group in range(len(state.groups)):
        state.groups[group].open = state.groups[group].last - state.groups[group].first
    started = 0
    for visited in range(len(order)):
        job = order[visited]
        if state.groups[state.jobs[job].group].open == 0:
            continue
        partition = choose(state, job, now, -np.inf, False)
        if partition >= 0:
            start_job(state, now, job, partition, started < visited)
            started += 1
        else:
            drain(state, choose_reservation(state, now, job, True)[0])
    return started


@jit_inner
def start_below(state: ScheduleState, now: float, order: Array) -> int:
    """Start the first job that ends before it blocks a larger partition; return how many started."""
    for visited in range(len(order)):
        partition = choose(state, order[visited], now, 0.0, True)
        if partition >= 0:
            start_job(state, now, order[visited], partition, visited > 0)
            return 1
    return 0


@jit_allocating
def pass_drain(state: ScheduleState, now: float, score: Any) -> None:
    """Start jobs until none may start."""
    started = 1
    while started > 0 and any_free(state):
        order = queue_order(state, now, score)
        started = start_or_drain(state, now, order)
        if started == 0:
            started = start_below(state, now, order)
        remove_started(state, started)
