"""The event loop, compiled by numba on first use and kept beside this file.

At each instant all that ends and all that comes is taken in first; then a *pass* starts what may start, and the use of
the machine is noted. `fabricstudy.schedule.task.Task` says what the arrays are.

numba compiles a function anew where its own file has changed or a value that it closes over, and looks at no other
file. So what is kept closes over a digest of all modules of this package and of the task; it has to read it, too, or it
would not close over it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from ..task import CONSERVATIVE, EASY, Array, Task
from .compiled import FIRST, LAST, RUNNING, SCORE, SPANS, STAMP, digest_of, inner, making
from .drain import pass_drain
from .easy import pass_easy, pass_none
from .node_slots import empty_profile
from .node_slots import end_all as end_all_on_nodes
from .node_slots import start_due as start_due_on_nodes
from .node_slots import take_slots as take_slots_on_nodes
from .nodes import pass_nodes, room_for_pass
from .queue import take_in
from .running import end
from .slots import ROOM, end_all, start_due, take_slots
from .use import record, record_nodes, tables, with_room

__all__ = ["SCORE", "looped", "run_conservative", "run_drain", "run_easy", "run_nodes", "run_none"]

Done = tuple[Array, Array]
DoneOnNodes = tuple[Array, Array, Array]
Loop = Callable[[Task, Any], Done]
"""Schedules all jobs of a task by an order's score; gives instants and how the machine was used from each."""


@inner
def next_instant(task: Task, arrived: int) -> float:
    """When the next job ends or comes."""
    now = np.inf
    if task.counter[RUNNING] > 0:
        now = task.jobs[task.running[0]].end_s
    if arrived < len(task.jobs):
        now = min(now, task.jobs[arrived].submit_s)
    return now


def looped(start_all: Any, note: Any) -> Loop:
    """Give the loop over all instants, with what is done at each: a pass, and what is noted of the machine.

    In a process that loads two functions that were compiled in others, numba takes one for the other where their names
    are the same. So each loop has the name of its pass.
    """

    def run(task: Task, score: Any) -> Done:
        times, counts = tables(task)
        size, arrived = 0, 0
        while arrived < len(task.jobs) or task.counter[RUNNING] > 0:
            now = next_instant(task, arrived)
            while task.counter[RUNNING] > 0 and task.jobs[task.running[0]].end_s <= now:
                end(task)
            arrived = take_in(task, now, arrived)
            start_all(task, now, score)
            times, counts = with_room(times, counts, size)
            note(task, now, times, counts, size)
            size += 1
        return times[:size], counts[:size]

    run.__qualname__ = f"looped.{start_all.__module__}.{start_all.__name__}"
    return making(run)


_none, _easy, _drain = (looped(start_all, record) for start_all in (pass_none, pass_easy, pass_drain))


def _kept(digest: int) -> tuple[Loop, Loop, Loop, Loop, Callable[[Task, Any, int, int, bool], DoneOnNodes]]:
    """Give what is compiled once for each digest: no, EASY, Cobalt's, conservative backfilling; and nodes."""

    @njit(cache=True)
    def run_none(task: Task, score: Any) -> Done:
        task.counter[STAMP] = min(0, digest)
        return _none(task, score)

    @njit(cache=True)
    def run_easy(task: Task, score: Any) -> Done:
        task.counter[STAMP] = min(0, digest)
        return _easy(task, score)

    @njit(cache=True)
    def run_drain(task: Task, score: Any) -> Done:
        task.counter[STAMP] = min(0, digest)
        return _drain(task, score)

    @njit(cache=True)
    def run_conservative(task: Task, score: Any) -> Done:
        task.counter[STAMP] = min(0, digest)
        times, counts = tables(task)
        shape = len(task.parts), ROOM
        profile = np.empty(shape, np.int64), np.empty(shape), np.empty(shape)
        size, arrived, next_s = 0, 0, np.inf
        while arrived < len(task.jobs) or task.counter[RUNNING] > 0 or task.counter[FIRST] < task.counter[LAST]:
            now = min(next_instant(task, arrived), next_s)
            ended = end_all(task, profile, now)
            arrived = take_in(task, now, arrived)
            profile = take_slots(task, profile, now, ended)
            next_s = start_due(task, profile, now)
            times, counts = with_room(times, counts, size)
            record(task, now, times, counts, size)
            size += 1
        return times[:size], counts[:size]

    @njit(cache=True)
    def run_nodes(task: Task, score: Any, nodes: int, rule: int, counts_only: bool) -> DoneOnNodes:
        task.counter[STAMP] = min(0, digest)
        times, counts = tables(task)
        holder, masks = np.full(nodes, -1), np.zeros((2, nodes), np.bool_)
        spans, profile = np.empty((nodes, 3), np.int64), empty_profile(task)
        size, arrived, next_s = 0, 0, np.inf
        while arrived < len(task.jobs) or task.counter[RUNNING] > 0 or task.counter[FIRST] < task.counter[LAST]:
            now = min(next_instant(task, arrived), next_s)
            ended = end_all_on_nodes(task, profile, now, holder, rule == CONSERVATIVE)
            arrived = take_in(task, now, arrived)
            spans = room_for_pass(task, spans, nodes)
            if rule == CONSERVATIVE:
                take_slots_on_nodes(task, profile, now, ended, nodes)
                next_s = start_due_on_nodes(task, profile, now, holder, spans, masks[0])
            else:
                pass_nodes(task, now, score, holder, masks, spans, rule == EASY, counts_only)
            times, counts = with_room(times, counts, size)
            record_nodes(task, now, times, counts, size, holder, masks[0])
            size += 1
        return times[:size], counts[:size], spans[: task.counter[SPANS]]

    return run_none, run_easy, run_drain, run_conservative, run_nodes


_HERE = Path(__file__).parent
DIGEST = digest_of([*_HERE.glob("*.py"), _HERE.with_name("task.py")])
run_none, run_easy, run_drain, run_conservative, run_nodes = _kept(DIGEST)
