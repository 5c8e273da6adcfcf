"""Nodes without a topology."""

from __future__ import annotations

import numpy as np
import pytest

from fabricstudy.model import ConfigError
from fabricstudy.schedule import Backfill, Jobs, Order, Pool, simulate

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
        found = simulate(Pool(nodes, counts_only), jobs, Order.model_validate(order), Backfill.model_validate(backfill))
        columns = (jobs.submit_s, jobs.runtime_s, jobs.request_s, jobs.nodes)
        plain = [Job(*own) for own in zip(*(column.tolist() for column in columns), strict=True)]
        expected = run_on_nodes(plain, nodes, order, backfill, counts_only)
        assert found.start_s.tolist() == [expected[job][0] for job in range(size)], f"{seed=}"


@pytest.mark.parametrize("backfill", ["conservative", "drain"])
def test_what_needs_partitions_is_refused(backfill: str) -> None:
    jobs = Jobs.of([0], [1], [1], [1])
    with pytest.raises(ConfigError):
        simulate(Pool(4), jobs, Order.model_validate("fcfs"), Backfill.model_validate(backfill))
    assert Backfill.model_validate(backfill).needs_partitions


def test_idle_nodes_by_cause() -> None:
    """3 of 4 nodes run till 10 s; a job of 4 waits with one of 1 that is too long to go before it."""
    jobs = Jobs.of([0, 1, 2], [10, 5, 50], [10, 5, 50], [3, 4, 1])
    found = simulate(Pool(4), jobs, Order.model_validate("fcfs"), Backfill.model_validate("easy")).instants
    assert found.time_s.tolist() == [0, 1, 2, 10, 15, 65]
    assert found.busy.tolist() == [3, 3, 3, 4, 1, 0]
    assert found.empty.tolist() == [1, 0, 0, 0, 3, 4]
    assert found.scattered.tolist() == [0, 1, 0, 0, 0, 0] and found.held.tolist() == [0, 0, 1, 0, 0, 0]
