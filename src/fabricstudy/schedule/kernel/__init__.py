"""The event loop, compiled by numba on first use and then cached.

At each instant, jobs end and arrive first; then a *pass* starts jobs, and the use of the machine is recorded.
`fabricstudy.schedule.state.ScheduleState` describes the arrays.
"""

from typing import Any

import numpy as np

from fabricstudy.core.arrays import Array

from ..state import CONSERVATIVE, DRAIN, EASY, ScheduleState
from .choice import any_free
from .compiled import FIRST, LAST, RUNNING, SPANS, compiled_score, jit_cached, jit_inner
from .conservative import ROOM, end_due_jobs, reserve_slots, start_due_jobs
from .drain import pass_drain
from .easy import pass_in_order
from .nodes import empty_profile, end_due_node_jobs, pass_nodes, reserve_node_slots, room_for_pass, start_due_node_jobs
from .queue import enqueue_arrivals, queue_order
from .running import end_next_job, next_end_s
from .utilisation import grow_tables, record, record_nodes, tables

__all__ = ["compiled_score", "next_instant", "run_nodes", "run_partitions"]

Done = tuple[Array, Array]
"""Instants, and from each on the counts of `UtilisationSeries`: float64 [instants], int64 [instants, 6]."""


def run_partitions(state: ScheduleState, score: Any, rule: int) -> Done:
    """Schedule by a backfilling rule; write the starts and ends of jobs into `state`."""
    return run_conservative(state) if rule == CONSERVATIVE else run_in_order(state, score, rule)


@jit_inner
def next_instant(state: ScheduleState, arrived: int) -> float:
    """Return when the next job ends or arrives."""
    now = next_end_s(state)
    if arrived < len(state.jobs):
        now = min(now, state.jobs[arrived].submit_s)
    return now


@jit_cached
def run_in_order(state: ScheduleState, score: Any, rule: int) -> Done:
    """Schedule by passes over the queue: without backfilling, with that of EASY or of Cobalt."""
    times, counts = tables(state)
    size, arrived = 0, 0
    while arrived < len(state.jobs) or state.counter[RUNNING] > 0:
        now = next_instant(state, arrived)
        while next_end_s(state) <= now:
            end_next_job(state)
        arrived = enqueue_arrivals(state, now, arrived)
        if rule == DRAIN:
            pass_drain(state, now, score)
        elif rule == EASY or any_free(state):
            pass_in_order(state, now, score, rule == EASY)
        times, counts = grow_tables(times, counts, size)
        record(state, now, times, counts, size)
        size += 1
    return times[:size], counts[:size]


@jit_cached
def run_conservative(state: ScheduleState) -> Done:
    """Schedule with a slot for each job, in order of arrival."""
    times, counts = tables(state)
    shape = len(state.parts), ROOM
    profile = np.empty(shape, np.int64), np.empty(shape), np.empty(shape)
    size, arrived, next_s = 0, 0, np.inf
    while arrived < len(state.jobs) or state.counter[RUNNING] > 0 or state.counter[FIRST] < state.counter[LAST]:
        now = min(next_instant(state, arrived), next_s)
        ended = end_due_jobs(state, profile, now)
        arrived = enqueue_arrivals(state, now, arrived)
        profile = reserve_slots(state, profile, now, ended)
        next_s = start_due_jobs(state, profile, now)
        times, counts = grow_tables(times, counts, size)
        record(state, now, times, counts, size)
        size += 1
    return times[:size], counts[:size]


@jit_cached
def run_nodes(state: ScheduleState, score: Any, nodes: int, rule: int, counts_only: bool) -> tuple[Array, Array, Array]:
    """Schedule on nodes without a topology; return also the spans: job, first and last node, int64 [spans, 3]."""
    times, counts = tables(state)
    holder, masks = np.full(nodes, -1), np.zeros((2, nodes), np.bool_)
    spans, profile = np.empty((nodes, 3), np.int64), empty_profile(state)
    size, arrived, next_s = 0, 0, np.inf
    while arrived < len(state.jobs) or state.counter[RUNNING] > 0 or state.counter[FIRST] < state.counter[LAST]:
        now = min(next_instant(state, arrived), next_s)
        ended = end_due_node_jobs(state, profile, now, holder, rule == CONSERVATIVE)
        arrived = enqueue_arrivals(state, now, arrived)
        spans = room_for_pass(state, spans, nodes)
        if rule == CONSERVATIVE:
            reserve_node_slots(state, profile, now, ended, nodes)
            next_s = start_due_node_jobs(state, profile, now, holder, spans, masks[0])
        else:
            pass_nodes(state, now, queue_order(state, now, score), holder, masks, spans, rule == EASY, counts_only)
        times, counts = grow_tables(times, counts, size)
        record_nodes(state, now, times, counts, size, holder, masks[0])
        size += 1
    return times[:size], counts[:size], spans[: state.counter[SPANS]]
