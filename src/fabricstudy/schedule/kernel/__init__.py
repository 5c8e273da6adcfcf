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
from .nodes import empty_profile, end_due_node_jobs, pass_nodes, reserve_node_slots, room_for_pass, start_due_node_jobs
from .passes import pass_drain, pass_in_order
from .queue import enqueue_arrivals, queue_order
from .running import next_end_s
from .utilisation import record, tables, use_of_nodes, use_of_partitions

__all__ = ["compiled_score", "run_nodes", "run_partitions"]


@jit_inner
def next_instant(state: ScheduleState, arrived: int) -> float:
    """Return when the next job ends or arrives."""
    now = next_end_s(state)
    if arrived < len(state.jobs):
        now = min(now, state.jobs[arrived].submit_s)
    return now


@jit_cached
def run_partitions(state: ScheduleState, score: Any, rule: int) -> tuple[Array, Array]:
    """Schedule by a backfilling rule; write the starts and ends of jobs into `state`.

    Return the instants, float64 [instants], and from each on the counts of `UtilisationSeries`, int64 [instants, 6].
    """
    times, counts = tables(state)
    has_slots = rule == CONSERVATIVE
    shape = len(state.parts) if has_slots else 0, ROOM
    profile = np.empty(shape, np.int64), np.empty(shape), np.empty(shape)
    size, arrived, next_s = 0, 0, np.inf
    while arrived < len(state.jobs) or state.counter[RUNNING] > 0 or state.counter[FIRST] < state.counter[LAST]:
        now = min(next_instant(state, arrived), next_s)
        ended = end_due_jobs(state, profile, now, has_slots)
        arrived = enqueue_arrivals(state, now, arrived)
        if has_slots:
            profile = reserve_slots(state, profile, now, ended)
            next_s = start_due_jobs(state, profile, now)
        elif rule == DRAIN:
            pass_drain(state, now, score)
        elif rule == EASY or any_free(state):
            pass_in_order(state, now, score, rule == EASY)
        times, counts = record(state, now, times, counts, size, use_of_partitions(state))
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
        times, counts = record(state, now, times, counts, size, use_of_nodes(state, holder, masks[0]))
        size += 1
    return times[:size], counts[:size], spans[: state.counter[SPANS]]
