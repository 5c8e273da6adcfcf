"""Nodes without a topology."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fabricstudy.core.model import ConfigError
from fabricstudy.schedule import Backfill, Jobs, NodePool, Order, simulate_schedule
from fabricstudy.schedule.result import ScheduleResult

from .reference import Job, run_on_nodes

CASES = 60


@pytest.mark.parametrize("backfill", ["none", "easy"])
@pytest.mark.parametrize("order", ["fcfs", "wfp"])
@pytest.mark.parametrize("counts_only", [False, True])
def test_starts_are_those_of_the_reference(order: str, backfill: str, counts_only: bool) -> None:
    for seed in range(CASES):
        rng = np.random.default_rng([seed, 17])
        size, nodes = int(rng.integers(1, 30)), 8
        runtime = rng.integers(1, 12, size).astype(float)
        request = np.maximum(runtime + rng.choice([0, 1, 5, -2], size), 1)
        jobs = Jobs.of(rng.integers(0, 30, size), runtime, request, rng.integers(1, nodes + 1, size))
        found = simulate_schedule(
            NodePool(nodes, counts_only), jobs, Order.model_validate(order), Backfill.model_validate(backfill)
        )
        columns = (jobs.submit_s, jobs.runtime_s, jobs.request_s, jobs.nodes)
        plain = [Job(*own) for own in zip(*(column.tolist() for column in columns), strict=True)]
        expected = run_on_nodes(plain, nodes, order, backfill, counts_only)
        assert outcome(found) == [(expected[job][0], set(expected[job][1])) for job in range(size)], f"{seed=}"


def outcome(found: ScheduleResult) -> list[tuple[float, set[int]]]:
    """Start and nodes of each job."""
    nodes = [
        {node for first, last in found.nodes_of(job) for node in range(first, last + 1)}
        for job in range(len(found.start_s))
    ]
    return list(zip(found.start_s.tolist(), nodes, strict=True))


def conservative(jobs: Jobs, nodes: int) -> list[tuple[float, set[int]]]:
    """Conservative backfilling from its definition (Mu'alem and Feitelson 2001), one second after the other.

    At each second in which a job ends or comes or a slot begins, each waiting job, in order of arrival, gives up its
    slot if a job has ended, and takes the earliest second from which enough nodes are free for its request. A job that
    overruns its request counts as ended in this plan; if it is in the way when a slot begins, the slot is lost.
    """
    submit, run, request = (column.astype(int).tolist() for column in (jobs.submit_s, jobs.runtime_s, jobs.request_s))
    wanted = jobs.nodes.tolist()
    starts: dict[int, tuple[int, set[int]]] = {}
    slots: dict[int, int] = {}
    running: set[int] = set()
    for now in range(max(submit) + sum(run) + sum(request) + 1):
        ended = {job for job in running if starts[job][0] + run[job] == now}
        if not (ended or now in submit or now in slots.values()):
            continue
        running -= ended
        waiting = [job for job in range(len(submit)) if submit[job] <= now and job not in starts]
        for job in waiting:
            if ended or job not in slots:
                slots.pop(job, None)
                planned = [(starts[other][0], other) for other in running]
                planned += [(slot, other) for other, slot in slots.items()]

                def used(second: int, planned: list[tuple[int, int]] = planned) -> int:
                    return sum(wanted[other] for begin, other in planned if begin <= second < begin + request[other])

                slots[job] = next(
                    begin for begin in itertools.count(now)
                    if all(used(second) + wanted[job] <= nodes for second in range(begin, begin + request[job]))
                )  # fmt: skip
        for job in [job for job in waiting if slots[job] == now]:
            del slots[job]
            free = sorted(set(range(nodes)).difference(*(starts[other][1] for other in running)))
            if len(free) >= wanted[job]:
                starts[job] = now, set(free[: wanted[job]])
                running.add(job)
    return [starts[job] for job in range(len(submit))]


@pytest.mark.parametrize("overruns", [False, True])
def test_conservative_backfilling_is_that_of_its_definition(overruns: bool) -> None:
    for seed in range(CASES):
        rng = np.random.default_rng([seed, 19])
        size, nodes = int(rng.integers(1, 30)), 8
        runtime = rng.integers(1, 12, size).astype(float)
        request = np.maximum(runtime + rng.choice([0, 1, 5, -2 if overruns else 9], size), 1)
        jobs = Jobs.of(rng.integers(0, 30, size), runtime, request, rng.integers(1, nodes + 1, size))
        found = simulate_schedule(
            NodePool(nodes), jobs, Order.model_validate("wfp"), Backfill.model_validate("conservative")
        )
        assert outcome(found) == conservative(jobs, nodes), f"{seed=}"
        assert overruns or (found.start_s <= found.reserved_start_s).all()


def test_conservative_backfilling_keeps_a_slot_that_easy_gives_away() -> None:
    """On 3 nodes, 2 busy till 10 s: A (2 nodes) waits till then, B (3 nodes) till 20 s; C (1 node, 30 s) would delay B.

    EASY promises A alone, and C needs neither of its nodes, so C starts at once; B then waits for C.
    """
    jobs = Jobs.of([0, 1, 2, 3], [10, 10, 10, 30], [10, 10, 10, 30], [2, 2, 3, 1])
    starts = {
        rule: simulate_schedule(
            NodePool(3), jobs, Order.model_validate("fcfs"), Backfill.model_validate(rule)
        ).start_s.tolist()
        for rule in ("easy", "conservative")
    }
    assert starts == {"easy": [0, 10, 33, 3], "conservative": [0, 10, 20, 30]}


def test_what_needs_partitions_is_refused() -> None:
    jobs = Jobs.of([0], [1], [1], [1])
    with pytest.raises(ConfigError):
        simulate_schedule(NodePool(4), jobs, Order.model_validate("fcfs"), Backfill.model_validate("drain"))


def test_idle_nodes_by_cause() -> None:
    """3 of 4 nodes run till 10 s; a job of 4 waits with one of 1 that is too long to go before it."""
    jobs = Jobs.of([0, 1, 2], [10, 5, 50], [10, 5, 50], [3, 4, 1])
    found = simulate_schedule(
        NodePool(4), jobs, Order.model_validate("fcfs"), Backfill.model_validate("easy")
    ).utilisation
    assert found.time_s.tolist() == [0, 1, 2, 10, 15, 65]
    assert found.busy.tolist() == [3, 3, 3, 4, 1, 0]
    assert found.empty.tolist() == [1, 0, 0, 0, 3, 4]
    assert found.scattered.tolist() == [0, 1, 0, 0, 0, 0] and found.held.tolist() == [0, 0, 1, 0, 0, 0]
