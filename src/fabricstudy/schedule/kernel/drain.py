"""Cobalt's scheduling pass."""

from typing import Any

import numpy as np

from ..state import ScheduleState
from .choice import any_free, choose, choose_reservation
from .compiled import GONE, LAST, STAMP, jit_inner
from .queue import all_positions, compact_queue, next_position, remove_entry, update_scores
from .running import start_job


@jit_inner
def drain(task: ScheduleState, partition: int) -> None:
    """Mark all partitions that conflict with a partition, and count the unmarked ones of each group."""
    for index in range(task.parts[partition].first, task.parts[partition].last):
        other = task.conflicts[index].other
        if task.parts[other].mark != task.counter[STAMP]:
            task.parts[other].mark = task.counter[STAMP]
            for of in range(task.parts[other].groups_first, task.parts[other].groups_last):
                task.groups[task.groups_of[of]].open -= 1


@jit_inner
def start_or_drain(task: ScheduleState, now: float) -> bool:
    """Start jobs in order, draining a partition for each job that cannot start; return whether any started."""
    task.counter[STAMP] += 1
    for group in range(len(task.groups)):
        task.groups[group].open = task.groups[group].last - task.groups[group].first
    size = all_positions(task)
    low, high = task.counter[LAST], -1
    passed = False
    for visited in range(size):
        position = next_position(task, visited, size)
        job = task.queue_job[position]
        if task.groups[task.jobs[job].group].open == 0:
            passed = True
            continue
        partition = choose(task, job, now, -np.inf, False)
        if partition >= 0:
            start_job(task, now, job, partition, passed)
            task.queue_job[position] = GONE
            low, high = min(low, position), max(high, position)
        else:
            passed = True
            drain(task, choose_reservation(task, now, job, True)[0])
    if high >= 0:
        compact_queue(task, low, high)
    return high >= 0


@jit_inner
def start_below(task: ScheduleState, now: float) -> bool:
    """Start the first job that ends before it blocks a larger partition; return whether there was one."""
    size = all_positions(task)
    for visited in range(size):
        position = next_position(task, visited, size)
        job = task.queue_job[position]
        partition = choose(task, job, now, 0.0, True)
        if partition >= 0:
            start_job(task, now, job, partition, visited > 0)
            remove_entry(task, position)
            return True
    return False


@jit_inner
def pass_drain(task: ScheduleState, now: float, score: Any) -> None:
    """Start jobs until none may start; scores remain, since no time passes."""
    update_scores(task, now, score)
    while any_free(task) and (start_or_drain(task, now) or start_below(task, now)):
        pass
