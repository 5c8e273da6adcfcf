"""Cobalt's scheduling pass."""

from typing import Any

import numpy as np

from fabricstudy.core.arrays import Array

from ..state import ScheduleState
from .choice import any_free, choose, choose_reservation
from .compiled import STAMP, jit_allocating, jit_inner
from .queue import queue_order, remove_started
from .running import start_job


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
