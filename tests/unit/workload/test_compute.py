"""What ranks compute: when, how long, and drawn from what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from fabricstudy.engine.point import point_id
from fabricstudy.study.mix import Mix
from fabricstudy.workload.job import Compute, Job, computing
from fabricstudy.workload.messages import Computing, PlacedJob, WorkloadError, repeat_background

from ...machines import baseline_point, job_of, line
from .conftest import make_point, place_point

RING = {"kind": "ring", "message": "1 kB", "iterations": 3}


def rows(compute: Any, messages: list[tuple[int, int, int, int]], iterations: int = 1, seed: int = 0) -> Computing:
    config = Compute.model_validate(compute)
    return computing(config, job_of([0], messages).messages, iterations, np.random.default_rng(seed))


def pairs(found: Computing) -> list[tuple[int, int]]:
    return list(zip(found.phase.tolist(), found.rank.tolist(), strict=True))


# Two iterations of two phases; rank 2 has nothing in the first phase of each, rank 3 in none.
TWICE = [(0, 0, 1, 9), (1, 1, 2, 9), (1, 0, 1, 9), (2, 0, 1, 9), (3, 1, 2, 9), (3, 0, 1, 9)]


def test_before_each_phase_computes_who_has_a_message_in_it() -> None:
    found = rows({"time": "20 us", "before": "phase"}, TWICE, 2)
    assert pairs(found) == [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]
    assert set(found.before_ns) == {20_000.0} and not found.overlapped_ns.any()
    assert found.total_ns_per_rank(4).tolist() == [80_000.0, 80_000.0, 40_000.0, 0.0]


def test_before_each_iteration_it_is_the_first_phase_of_the_rank() -> None:
    found = rows("20 us", TWICE, 2)
    assert pairs(found) == [(0, 0), (0, 1), (1, 2), (2, 0), (2, 1), (3, 2)]
    with pytest.raises(WorkloadError):
        rows("20 us", TWICE, 3)


def test_overlap_divides_the_time() -> None:
    found = rows({"time": "20 us", "overlap": 0.25}, TWICE, 2)
    assert set(found.before_ns) == {15_000.0} and set(found.overlapped_ns) == {5_000.0}
    assert found.first_ns == 15_000.0


@pytest.mark.parametrize("spread", [0.1, 1.0, 2.0])
def test_the_spread_is_the_standard_deviation_over_the_mean(spread: float) -> None:
    messages = [(phase, 0, 1, 9) for phase in range(20_000)]
    found = rows({"time": "1 us", "before": "phase", "spread": spread, "overlap": 0.5}, messages)
    time_ns = found.before_ns + found.overlapped_ns
    # Five standard errors of the mean; that of the deviation is larger where the tail is long.
    assert time_ns.mean() == pytest.approx(1000, rel=5 * spread / 200)
    assert time_ns.std() == pytest.approx(1000 * spread, rel=0.06)
    assert np.allclose(found.before_ns, found.overlapped_ns) and time_ns.min() >= 0
    if spread == 1:
        # The exponential distribution: its median is the mean times the logarithm of 2.
        assert np.median(time_ns) == pytest.approx(1000 * np.log(2), rel=0.04)


def job(**more: Any) -> dict[str, Any]:
    return {"nodes": 4, "pattern": RING, **more}


def test_a_job_draws_for_itself_and_draws_the_same_alone() -> None:
    drawn = {"time": "20 us", "spread": 0.3}
    point = make_point(job(), job(compute=drawn), job(compute=drawn))
    none, first, second = place_point(point)
    assert none.computing is None and first.computing is not None and second.computing is not None
    assert not np.array_equal(first.computing.before_ns, second.computing.before_ns)
    held, *_, again = place_point(baseline_point(point, 2))
    assert held.computing is None and again.computing is not None
    assert np.array_equal(again.computing.before_ns, second.computing.before_ns)
    # Messages and nodes are what they were.
    plain = place_point(make_point(job(), job(), job()))[2]
    assert np.array_equal(plain.messages.destination, second.messages.destination)
    assert np.array_equal(plain.node_of_rank, second.node_of_rank)


def test_a_job_without_it_is_the_point_that_it_was() -> None:
    """The id of this point by the code before there was compute."""
    assert point_id(make_point(job())) == point_id(make_point(job(compute=None))) == "pdac902763fa8"
    assert point_id(make_point(job(compute="20 us"))) == point_id(make_point(job(compute={"time": "0.02 ms"})))


@pytest.mark.parametrize(
    ("compute", "path"),
    [(20, ("compute", "time")), ({"time": "20 us", "overlap": 1.5}, ("compute", "overlap")), ({}, ("compute", "time"))],
)
def test_what_is_no_computation_is_refused(compute: Any, path: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError) as refusal:
        Job.model_validate(job(compute=compute))
    assert refusal.value.errors()[0]["loc"] == path


def test_a_silent_job_does_not_compute() -> None:
    with pytest.raises(ValidationError) as refusal:
        Job.model_validate({"share": 1, "pattern": "idle", "compute": "20 us"})
    assert refusal.value.errors()[0]["ctx"]["error"].keys == ("compute",)


def test_in_the_background_it_computes_in_each_round() -> None:
    messages = [(0, 0, 1, 1000), (1, 1, 0, 1000)]
    plain = job_of([0, 1], messages)
    own = Computing(np.array([0, 1]), np.array([0, 1]), np.array([5.0, 6.0]), np.array([0.0, 7.0]))
    # Three rounds: one more than fill 2 us at 1 GB/s.
    whole = repeat_background(PlacedJob("app", plain.node_of_rank, plain.messages, 1999.0, own), line([1e9]))
    assert whole.computing is not None
    assert pairs(whole.computing) == [(0, 0), (1, 1), (2, 0), (3, 1), (4, 0), (5, 1)]
    assert whole.computing.before_ns.tolist() == [5.0, 6.0] * 3
    assert whole.computing.overlapped_ns.tolist() == [0.0, 7.0] * 3


def test_a_mix_hands_it_on() -> None:
    mix = Mix.model_validate({"count": 1, "shares": [1.0], "patterns": {"ring": RING}, "compute": "20 us"})
    assert [drawn["compute"] for drawn in mix.workloads["w01"]] == ["20 us"]
