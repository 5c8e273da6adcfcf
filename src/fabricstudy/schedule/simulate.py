"""Simulation of one schedule."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fabricstudy.core.arrays import Array, Floats
from fabricstudy.core.model import ConfigError
from fabricstudy.core.returned import Returned
from fabricstudy.core.source import extension_package

from .backfill.base import Backfill
from .jobs import Jobs
from .order.base import Order
from .order.simple import Fcfs
from .partitions import NodePool, Partitions
from .result import ScheduleResult, UtilisationSeries
from .state import CONSERVATIVE, DRAIN, EASY, NONE, initial_state, size_classes
from .trace.base import Trace


def _check_score(order: Order, jobs: Jobs) -> None:
    """Refuse a score of an extension that is no number for each job; compiled code checks neither values nor bounds."""
    if not extension_package(type(order).__module__):
        return
    given = [np.array(part, dtype=np.float64) for part in (jobs.submit_s, jobs.request_s, jobs.nodes)]
    score, own = np.full(len(jobs), np.nan), [part.copy() for part in given]
    method: Any = type(order).score
    returned = Returned(order, "score")
    with returned.time_limit():
        method(float(jobs.submit_s.max(initial=0.0)) + 1.0, *own, score)
    if not np.isfinite(score).all():
        raise returned.error("writes scores that are no numbers, or not all of them")
    if not all(map(np.array_equal, own, given)):
        raise returned.error("changes its arguments")


def checked_jobs(trace: Trace, machine_nodes: int, block_nodes: int, seed: int, folder: Path) -> Jobs:
    """Return the jobs of a trace. Raises ConfigError as `Trace.jobs`, or if they are none."""
    returned = Returned(trace, "jobs")
    with returned.time_limit():
        jobs = returned.instance(trace.jobs(machine_nodes, block_nodes, seed, folder), Jobs)
    if not extension_package(type(trace).__module__):
        return jobs
    submit_s = returned.floats(jobs.submit_s, "times of submission")
    if not len(submit_s) or (np.diff(submit_s) < 0).any():
        raise returned.error("returns no jobs, or not in the order of submission")
    times = [returned.floats(part, "times", len(submit_s)) for part in (jobs.runtime_s, jobs.request_s)]
    nodes = returned.integers(jobs.nodes, "nodes", len(submit_s), least=1)
    if not all((part > 0).all() for part in times):
        raise returned.error("returns times of 0")
    names = ("number", "executable", "queue")
    others = (returned.integers(getattr(jobs, name), name, len(submit_s), least=-1) for name in names)
    columns: Any = dict(zip(names, (part.astype(np.int64) for part in others), strict=True))
    return replace(
        jobs, submit_s=submit_s, runtime_s=times[0], request_s=times[1], nodes=nodes.astype(np.int64), **columns
    )


def simulate_schedule(
    partitions: Partitions | NodePool,
    jobs: Jobs,
    order: Order,
    backfill: Backfill,
    factors: Floats | None = None,
    scale_request: bool = True,
    kill: bool = False,
) -> ScheduleResult:
    """Simulate the schedule of jobs on partitions.

    `factors` (float64 [jobs, variants]) are the slowdowns of each job on partitions of each variant, infinite where it
    never runs, by default 1. With `scale_request` requested times grow by the same factors; with `kill` a job ends at
    its requested time.

    Raises ConfigError if the backfilling rule needs partitions, and there are none; ValueError if a time or a factor is
    not above zero, or `factors` has another shape.

    Examples
    --------
    Two jobs of 1,024 nodes in one line of four midplanes: each torus occupies all cables of the line, so that the
    second job waits for the first one; as meshes, open along the line, both start at once.

    >>> from fabricstudy.machine.base import Topology
    >>> from fabricstudy.schedule.partition_list.base import PartitionList
    >>> line = Topology.model_validate({"kind": "bluegene-p", "midplanes": [1, 1, 4]})
    >>> jobs = Jobs.of([0, 0], [60, 60], [60, 60], [1024, 1024])
    >>> order, backfill = Order.model_validate("fcfs"), Backfill.model_validate("easy")
    >>> for name, wrap in {"torus": [True], "mesh": [True, True, False]}.items():
    ...     partitions = PartitionList.model_validate([{"shape": [1, 1, 2], "wrap": wrap}]).partitions(line)
    ...     print(name, simulate_schedule(partitions, jobs, order, backfill).start_s.tolist())
    torus [0.0, 60.0]
    mesh [0.0, 0.0]
    """
    if getattr(backfill, "rule", None) not in (NONE, EASY, CONSERVATIVE, DRAIN):
        raise Returned(backfill, "rule").error("is none of fabricstudy.schedule.state")
    if isinstance(partitions, NodePool) and backfill.rule == DRAIN:
        remedy = "use none, easy or conservative, or a list of partitions"
        raise ConfigError("this backfilling rule needs partitions", remedy, code="conflicting-keys")
    if factors is None:
        factors = np.ones((len(jobs), len(partitions.variants)))
    if factors.shape != (len(jobs), len(partitions.variants)):
        raise ValueError(f"factors of shape {factors.shape} for {len(jobs)} jobs, {len(partitions.variants)} variants")
    if not all((part > 0).all() for part in (jobs.runtime_s, jobs.request_s, jobs.nodes, factors)):
        raise ValueError("run times, requests, nodes and factors have to be above zero")
    variant_nodes = np.array([variant.nodes for variant in partitions.variants], dtype=np.int64)
    class_nodes = size_classes(jobs.nodes, variant_nodes, factors)
    accepted = np.flatnonzero(class_nodes)
    order = Fcfs() if backfill.rule == CONSERVATIVE else order
    state = initial_state(
        partitions,
        jobs.at(accepted),
        class_nodes[accepted],
        factors[accepted],
        order,
        scale_request,
        kill,
        backfill.rule,
    )
    from .kernel import compiled_score, run_nodes, run_partitions

    _check_score(order, jobs)
    score = compiled_score(type(order))
    variant: Any = 0
    if isinstance(partitions, NodePool):
        times, counts, spans = run_nodes(state, score, partitions.machine_nodes, backfill.rule, partitions.counts_only)
        class_nodes = np.where(class_nodes > 0, jobs.nodes, 0)
    else:
        times, counts = run_partitions(state, score, backfill.rule)
        spans = np.empty((0, 3), dtype=np.int64)
        variant = partitions.variant[state.jobs["partition"]]
    spans[:, 0] = accepted[spans[:, 0]]

    def of_all(values: Array, rejected: Any) -> Array:
        column = np.full(len(jobs), rejected, dtype=values.dtype)
        column[accepted] = values
        return column

    return ScheduleResult(
        start_s=of_all(state.jobs["start_s"], np.nan),
        end_s=of_all(state.jobs["end_s"], np.nan),
        partition=of_all(state.jobs["partition"], -1),
        class_nodes=class_nodes,
        factor=of_all(state.factor[np.arange(len(accepted)), variant], np.nan),
        backfilled=of_all(state.jobs["backfilled"] > 0, False),
        reserved_start_s=of_all(state.jobs["reserved_start_s"], np.nan),
        utilisation=UtilisationSeries(times, *counts.T),
        spans=spans[np.lexsort((spans[:, 1], spans[:, 0]))],
    )
