"""Statistics of offered traffic, against queueing theory and hand counts."""

from collections.abc import Container
from dataclasses import replace
from itertools import pairwise
from math import sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import linregress, t

from fabricstudy.engine import offered_traffic
from fabricstudy.engine.failures import EngineFailure
from fabricstudy.engine.offered_traffic import DOUBLINGS_OF_SEARCH, OfferedRuns, check_moves, search_saturation
from fabricstudy.engine.steady_state import (
    Growth,
    SteadyRun,
    growth,
    half_width,
    jain_index,
    joined_batches,
    percentile,
    state_of,
    statistics,
    trend,
)


def md1_queue(load: float, messages: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Arrivals, and ends of service, at a queue with Poisson arrivals and unit service.

    Service k ends k + 1 after the latest time at which the queue was empty.
    """
    due = np.cumsum(np.random.default_rng(seed).exponential(1 / load, messages))
    order = np.arange(messages)
    return due, np.maximum.accumulate(due - order) + order + 1


def md1_latency(load: float, messages: int, seed: int) -> np.ndarray:
    due, end = md1_queue(load, messages, seed)
    latency: np.ndarray = end - due
    return latency


def run_of(latency: np.ndarray, batches: int = 20) -> SteadyRun:
    """A run of one node in which a message of 1 ns has these latencies."""
    parts = np.array_split(latency, batches)
    measured = np.array([len(part) for part in parts])
    values, counts = np.unique(latency, return_counts=True)
    return SteadyRun(
        window_ns=2.0 * len(latency), message_ns=1.0, node_created=np.array([len(latency)]),
        node_arrived=np.array([len(latency)]), measured=measured, latency_sum_ns=np.array([p.sum() for p in parts]),
        created=measured, arrived=measured, histogram=(values, counts), max_ns=float(latency.max()),
    )  # fmt: skip


def test_intervals_cover_the_mean_of_an_md1_queue() -> None:
    """The mean wait is load / (2 (1 - load)) services (Pollaczek and Khinchine); 95 % of the intervals hold it."""
    load = 0.7
    expected = load / (2 * (1 - load)) + 1
    rows = [statistics(run_of(md1_latency(load, 40_000, seed)), np.ones(1)) for seed in range(40)]
    held = sum(row["latency_low_ns"] <= expected <= row["latency_high_ns"] for row in rows)
    assert 33 <= held <= 40
    assert np.mean([row["latency_mean_ns"] for row in rows]) == pytest.approx(expected, rel=0.01)


def test_percentiles_of_an_md1_queue() -> None:
    """P(W <= t) = (1 - rho) sum (rho (k - t))^k exp(-rho (k - t)) / k!, for k up to t (Erlang 1909)."""
    from math import exp, factorial

    load = 0.5
    row = statistics(run_of(md1_latency(load, 400_000, 1)), np.ones(1))
    for name, share in (("latency_p90_ns", 0.9), ("latency_p99_ns", 0.99)):
        t = row[name] - 1
        terms = ((load * (k - t)) ** k * exp(-load * (k - t)) / factorial(k) for k in range(int(t) + 1))
        assert (1 - load) * sum(terms) == pytest.approx(share, abs=0.002)
    assert row["latency_p999_ns"] is not None


def test_a_percentile_needs_a_hundred_messages_above_it() -> None:
    few = np.arange(1.0, 5001.0)
    row = statistics(run_of(few), np.ones(1))
    assert row["latency_p90_ns"] == 4500 and row["latency_p99_ns"] is None


@pytest.mark.parametrize(
    ("ends", "state"),
    [((50, 55), "steady"), ((2000, 2000), "undecided"), ((100, 6000), "saturated"), ((50, 300), "undecided")],
)
def test_backlogs_at_both_ends_of_the_window(ends: tuple[int, int], state: str) -> None:
    """Of 20,000 messages of 72 nodes; queues of the mean m have the variance m (1 + m)."""
    run = replace(run_of(CALM, 40), outer_backlog=ends, node_created=np.full(72, 278))
    assert state_of(run) == state
    grown, deviation = growth(run), sqrt(sum(72 * (m / 72) * (1 + m / 72) for m in ends))
    assert grown.mean == pytest.approx((ends[1] - ends[0]) / 20_000)
    assert grown.high - grown.mean == pytest.approx(1.994 * deviation / 20_000, rel=1e-3)


CALM = np.random.default_rng(1).uniform(1, 2, 20_000)


def with_backlog(first: float, second: float, noise: float = 0.0) -> SteadyRun:
    """Of 20,000 messages; the backlog grows linearly by so many in each half, and alternates by `noise`."""
    ends = np.concatenate([np.linspace(0, first, 21), first + np.linspace(0, second, 21)[1:]]) + 3000
    return replace(run_of(CALM, 40), mean_backlog=(ends[1:] + ends[:-1]) / 2 + noise * np.tile([1, -1], 20))


def queue_run(load: float, messages: int, seed: int) -> SteadyRun:
    """A run of the M/D/1 queue in batches of equal time."""
    due, end = md1_queue(load, messages, seed)
    ends = np.linspace(0, due[-1], 41)
    batch = np.minimum((due / due[-1] * 40).astype(int), 39)
    created, sums = np.bincount(batch), np.bincount(batch, weights=end - due).astype(np.float64)
    waiting = [np.maximum(0, np.minimum(end, high) - np.maximum(due, low)).sum() for low, high in pairwise(ends)]
    return replace(
        run_of(end - due),
        created=created,
        measured=created,
        latency_sum_ns=sums,
        mean_backlog=np.array(waiting) / ends[1],
    )


def test_states() -> None:
    assert state_of(run_of(CALM)) == "steady"
    assert state_of(replace(run_of(CALM), lost=1)) == "saturated"
    assert state_of(run_of(CALM + np.linspace(0, 5, len(CALM)))) == "unsteady"
    assert state_of(run_of(np.concatenate([CALM[:5000] + 1, CALM[5000:]]))) == "unsteady"


@pytest.mark.parametrize(
    ("first", "second", "noise", "state"),
    [
        # 10,000 messages were created in the second half.
        (0, 150, 0, "saturated"),
        (0, 90, 0, "steady"),
        (0, 110, 0, "saturated"),
        (0, 110, 20, "undecided"),
        (0, 90, 20, "undecided"),
        (0, 300, 20, "saturated"),
        (0, 0, 20, "steady"),
        (2000, 0, 0, "steady"),
        (2000, 90, 0, "steady"),
        (-2000, 110, 0, "saturated"),
    ],
)
def test_a_load_is_sustained_if_the_backlog_grows_by_one_percent_of_the_second_half(
    first: float, second: float, noise: float, state: str
) -> None:
    run = with_backlog(first, second, noise)
    assert state_of(run) == state
    assert growth(run).low <= second / 10_000 <= growth(run).high


class _Filling(OfferedRuns):
    """Runs of a network whose backlog approaches a limit exponentially, and grows by a share of the messages beside it.

    Batches create 500 messages each; the window is as long as the warm-up.
    """

    def __init__(self, fills: float, in_batches: float, grows: float, bound: float) -> None:
        self._fills, self._in_batches, self._grows, self.bound = fills, in_batches, grows, bound
        self.finished = []

    def _simulate(self, load: float, factor: int) -> SteadyRun:
        ends = 40 * factor + factor * np.arange(41.0)
        backlog = self._fills * (1 - np.exp(-ends / self._in_batches)) + 500 * self._grows * ends
        created = np.full(40, 500 * factor)
        noise = np.random.default_rng(factor).normal(0, 30, 40)
        mean_backlog = (backlog[1:] + backlog[:-1]) / 2 + noise
        return replace(run_of(CALM, 40), created=created, measured=created, mean_backlog=mean_backlog)


@pytest.mark.parametrize(
    ("fills", "in_batches", "grows", "bound", "state", "runs"),
    [
        (0, 1, 0, 1, "steady", 1),
        (5000, 30, 0, 1, "steady", 2),
        (20_000, 60, 0, 1, "steady", 3),
        # A growth that lasts, and the same that a closed form proves.
        (0, 1, 0.05, 1, "saturated", 2),
        (0, 1, 0.05, 0.8, "saturated", 1),
        (0, 1, 0.4, 1, "saturated", 1),
        (20_000, 60, 0.15, 1, "saturated", 2),
        # It still fills after three doublings.
        (200_000, 1000, 0, 1, "saturated", 1),
    ],
)
def test_a_network_that_still_fills_is_not_saturated(
    fills: float, in_batches: float, grows: float, bound: float, state: str, runs: int
) -> None:
    of = _Filling(fills, in_batches, grows, bound)
    run = of.at(0.9)
    assert (state_of(run), len(of.finished)) == (state, runs)


def test_the_growth_of_arrivals_in_batches_has_the_interval_of_their_mean() -> None:
    """SST and CODES count no backlog. Of the two shares, the mean is 0.98, and 1 % is t = 12.706 times sqrt(2) / 2."""
    run = replace(run_of(CALM, batches=2), measured=np.array([9700, 9900]))
    assert growth(run) == pytest.approx((0.02, 0.02 - 12.706 * 0.01, 0.02 + 12.706 * 0.01), rel=1e-3)


@pytest.mark.parametrize("seed", [1, 2, 3, 5])
def test_the_trend_of_values_is_that_of_least_squares(seed: int) -> None:
    """Residuals of correlation r, with its bias, are as good as n (1 - r) / (1 + r) independent ones."""
    steps, values = np.arange(40.0), np.random.default_rng(seed).normal(size=40)
    values[1:] += 0.2 * values[:-1]
    fitted = linregress(steps, values)
    residuals = values - fitted.intercept - fitted.slope * steps
    correlation = residuals[1:] @ residuals[:-1] / (residuals @ residuals)
    correlation = max(0.0, correlation + (2 + 4 * correlation) / 40)
    assert correlation < 0.3
    freedom = 40 * (1 - correlation) / (1 + correlation) - 2
    width = fitted.stderr * np.sqrt(38 / freedom) * t.ppf(0.975, freedom)
    assert trend(values) == pytest.approx((fitted.slope, width))


def test_the_trend_of_few_values_is_their_mean_difference() -> None:
    assert trend(np.array([0.0, 1.0, 4.0])) == pytest.approx((2.0, 12.706 * 1.5**0.5), rel=1e-4)


@pytest.mark.parametrize("memory", [0.0, 0.3, 0.6, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("number", [8, 20])
def test_the_interval_of_a_trend_covers_it(memory: float, number: int) -> None:
    """Autoregressive values of order 1 about a line, from independent ones to a random walk."""
    rng, held = np.random.default_rng(4), 0
    for shock in rng.normal(size=(300, 200 + number)):
        values = lfilter([1.0], [1.0, -memory], shock)[-number:] + 0.7 * np.arange(number)
        slope, width = trend(values)
        held += abs(slope - 0.7) <= width
    assert held >= 265


def test_the_interval_of_the_growth_covers_that_of_an_md1_queue() -> None:
    """A queue at a load above 1 keeps 1 - 1 / load of its messages; below 1 it keeps none."""
    for load, states in ((0.7, {"steady", "unsteady"}), (1.08, {"saturated"})):
        runs = [queue_run(load, 20_000, seed) for seed in range(20)]
        expected = max(0.0, 1 - 1 / load)
        assert sum(growth(run).low <= expected <= growth(run).high for run in runs) >= 17
        assert {state_of(run) for run in runs} <= states


def test_a_run_in_which_nothing_arrives_is_a_deadlock() -> None:
    run = replace(run_of(CALM), backlog=(10, 500, 900))
    check_moves(run)
    stuck = replace(run, arrived=np.where(np.arange(20) < 10, 1000, 0))
    with pytest.raises(EngineFailure):
        check_moves(stuck)
    check_moves(replace(stuck, backlog=(0, 0, 0)))


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


@pytest.mark.parametrize("doubt", [0.0, 0.015])
@pytest.mark.parametrize(
    ("capacity", "bound", "carried", "runs"),
    [(0.5, 0.51, 1, 3), (0.36, 0.51, 1.1, 7), (0.36, 0.51, 0.8, 6), (1, 1, 1, 1), (0.51, 0.5, 1, 2), (0.2, 0.9, 2, 11)],
)
def test_the_search_for_the_saturation_load_needs_few_runs(
    monkeypatch: pytest.MonkeyPatch, capacity: float, bound: float, carried: float, runs: int, doubt: float
) -> None:
    """A network that carries `capacity`, and beyond it this times `carried`; runs close to it are undecided."""
    tried: list[float] = []

    def at(load: float, states: Container[str], doublings: int) -> SimpleNamespace:
        assert "undecided" not in states and doublings == DOUBLINGS_OF_SEARCH
        tried.append(load)
        arrived = load if load <= capacity else min(load, capacity * carried)
        created = np.full(8, 1000)
        return SimpleNamespace(
            load=load, node_arrived=np.array([arrived]), node_created=np.array([load]), created=created,
            created_load=None,
        )  # fmt: skip

    def judged(run: SimpleNamespace) -> str:
        if abs(run.load - capacity) < doubt:
            return "undecided"
        return "saturated" if run.load > capacity else "steady"

    def grown(run: SimpleNamespace) -> Growth:
        mean = 0.02 if run.load > capacity else 0.0
        return Growth(mean, mean - 0.015, mean + 0.015)

    monkeypatch.setattr(offered_traffic, "state_of", judged)
    monkeypatch.setattr(offered_traffic, "growth", grown)
    run, found = search_saturation(SimpleNamespace(at=at), 0.02, bound)  # type: ignore[arg-type]
    load = found["saturation_load"]
    assert load == run.load and len(tried) <= runs  # type: ignore[attr-defined]
    assert min(capacity, bound) - 0.02 * bound <= load <= min(capacity, bound)
    assert found["saturation_low"] == pytest.approx(load * (1 - 0.015))
    assert load <= min(capacity, bound) <= found["saturation_high"] <= bound
    assert found["saturation_high"] in {*tried, bound}
