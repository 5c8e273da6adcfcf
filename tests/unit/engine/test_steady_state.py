"""Statistics of offered traffic, against queueing theory and hand counts."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from fabricstudy.engine import offered_traffic
from fabricstudy.engine.offered_traffic import search_saturation
from fabricstudy.engine.steady_state import (
    SteadyRun,
    half_width,
    jain_index,
    joined_batches,
    percentile,
    state_of,
    statistics,
)


def md1_queue(load: float, messages: int, seed: int) -> np.ndarray:
    """Waiting times of a queue with Poisson arrivals and unit service, by Lindley's recursion."""
    gaps = np.random.default_rng(seed).exponential(1 / load, messages)
    waits, wait = np.empty(messages), 0.0
    for number, gap in enumerate(gaps):
        waits[number] = wait
        wait = max(0.0, wait + 1 - gap)
    return waits


def run_of(latency: np.ndarray, batches: int = 20, growth: int = 0) -> SteadyRun:
    """A run of one node in which a message of 1 ns has these latencies."""
    parts = np.array_split(latency, batches)
    measured = np.array([len(part) for part in parts])
    values, counts = np.unique(latency, return_counts=True)
    return SteadyRun(
        window_ns=2.0 * len(latency), message_ns=1.0, node_created=np.array([len(latency) + growth]),
        node_arrived=np.array([len(latency)]), measured=measured, latency_sum_ns=np.array([p.sum() for p in parts]),
        created=measured, arrived=measured, backlog=(0, 0, growth), histogram=(values, counts),
        max_ns=float(latency.max()),
    )  # fmt: skip


def test_intervals_cover_the_mean_of_an_md1_queue() -> None:
    """The mean wait is load / (2 (1 - load)) services (Pollaczek and Khinchine); 95 % of the intervals hold it."""
    load = 0.7
    expected = load / (2 * (1 - load)) + 1
    rows = [statistics(run_of(md1_queue(load, 40_000, seed) + 1), np.ones(1)) for seed in range(40)]
    held = sum(row["latency_low_ns"] <= expected <= row["latency_high_ns"] for row in rows)
    assert 33 <= held <= 40
    assert np.mean([row["latency_mean_ns"] for row in rows]) == pytest.approx(expected, rel=0.01)


def test_percentiles_of_an_md1_queue() -> None:
    """P(W <= t) = (1 - rho) sum (rho (k - t))^k exp(-rho (k - t)) / k!, for k up to t (Erlang 1909)."""
    from math import exp, factorial

    load = 0.5
    waits = md1_queue(load, 400_000, 1)
    row = statistics(run_of(waits + 1), np.ones(1))
    for name, share in (("latency_p90_ns", 0.9), ("latency_p99_ns", 0.99)):
        t = row[name] - 1
        terms = ((load * (k - t)) ** k * exp(-load * (k - t)) / factorial(k) for k in range(int(t) + 1))
        assert (1 - load) * sum(terms) == pytest.approx(share, abs=0.002)
    assert row["latency_p999_ns"] is not None


def test_a_percentile_needs_a_hundred_messages_above_it() -> None:
    few = np.arange(1.0, 5001.0)
    row = statistics(run_of(few), np.ones(1))
    assert row["latency_p90_ns"] == 4500 and row["latency_p99_ns"] is None


def test_states() -> None:
    calm = np.random.default_rng(1).uniform(1, 2, 20_000)
    assert state_of(run_of(calm)) == "steady"
    assert state_of(run_of(calm, growth=1000)) == "saturated"
    assert state_of(run_of(calm + np.linspace(0, 5, len(calm)))) == "unsteady"
    assert state_of(run_of(np.concatenate([calm[:5000] + 1, calm[5000:]]))) == "unsteady"


@pytest.mark.parametrize(
    ("backlog", "state"),
    [
        # Of 20,000 messages, 10,000 were created in the second half.
        ((0, 0, 150), "saturated"),
        ((0, 0, 90), "steady"),
        ((0, 0, 110), "saturated"),
        ((0, 2000, 2000), "steady"),
        ((0, 2000, 2090), "steady"),
        ((2000, 0, 110), "saturated"),
    ],
)
def test_a_load_is_sustained_if_the_backlog_grows_by_one_percent_of_the_second_half(
    backlog: tuple[int, int, int], state: str
) -> None:
    run = run_of(np.random.default_rng(1).uniform(1, 2, 20_000))
    assert state_of(replace(run, backlog=backlog)) == state


def test_correlated_batches_are_joined() -> None:
    walk = np.cumsum(np.random.default_rng(3).normal(size=64))
    assert len(joined_batches(walk + 100, np.ones(64, dtype=np.int64))) < 64
    alternating = np.array([1.0, 2.0] * 10)
    assert len(joined_batches(alternating, np.ones(20, dtype=np.int64))) == 20


def test_the_worst_node_counts_by_its_own_share() -> None:
    run = run_of(np.full(1000, 3.0))
    two = SteadyRun(**{**vars(run), "node_created": np.array([1000, 500]), "node_arrived": np.array([900, 500])})
    row = statistics(two, np.array([1.0, 0.5]))
    assert row["accepted_min"] == pytest.approx(0.45)
    assert row["accepted_load"] == pytest.approx((0.45 + 0.25) / 2)


def test_hand_counts() -> None:
    assert half_width(np.array([1.0, 3.0])) == pytest.approx(12.706, rel=1e-4)
    assert jain_index(np.array([3.0, 1.0])) == pytest.approx(16 / 20)
    assert percentile((np.array([1.0, 2.0]), np.array([900, 100])), 0.9) == 1.0


@pytest.mark.parametrize(
    ("capacity", "bound", "carried", "runs"),
    [(0.5, 0.51, 1, 3), (0.36, 0.51, 1.1, 7), (0.36, 0.51, 0.8, 6), (1, 1, 1, 1), (0.51, 0.5, 1, 2), (0.2, 0.9, 2, 11)],
)
def test_the_search_for_the_saturation_load_needs_few_runs(
    monkeypatch: pytest.MonkeyPatch, capacity: float, bound: float, carried: float, runs: int
) -> None:
    """A network that carries `capacity`, and beyond it this times `carried`."""
    tried: list[float] = []

    def at(load: float) -> SimpleNamespace:
        tried.append(load)
        arrived = load if load <= capacity else min(load, capacity * carried)
        return SimpleNamespace(load=load, node_arrived=np.array([arrived]), node_created=np.array([load]))

    monkeypatch.setattr(offered_traffic, "state_of", lambda run: "saturated" if run.load > capacity else "steady")
    load, run = search_saturation(SimpleNamespace(at=at), 0.02, bound)  # type: ignore[arg-type]
    assert load == run.load and len(tried) <= runs  # type: ignore[attr-defined]
    assert min(capacity, bound) - 0.02 * bound <= load <= min(capacity, bound)
