"""What a cluster is asked for, for one batch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabricstudy.engine.batch import OWN_MEMORY_MB, Batch
from fabricstudy.engine.settings import Limits


def batch(cpu_s: float, **limits: str) -> Batch:
    return Batch("caminos-all", "caminos", (), cpu_s, Limits.model_validate(limits))


@pytest.mark.parametrize(("attempt", "memory_MB", "time_min"), [(1, 2000, 36), (2, 3500, 72), (3, 5000, 108)])
def test_each_attempt_asks_for_more(attempt: int, memory_MB: int, time_min: int) -> None:
    # Three times ten minutes, a minute for a simulation that hangs, five to start.
    asked = batch(600.0, time="1 min", memory="500 MB")
    assert (asked.memory_MB(attempt), asked.time_min(attempt)) == (memory_MB, time_min)


def test_a_first_attempt_asks_for_the_predicted_memory() -> None:
    small = replace(batch(60.0, memory="1 GB"), memory_bytes=22e6)
    assert [small.memory_MB(attempt) for attempt in (1, 2)] == [44 + OWN_MEMORY_MB, 1000 + 2 * OWN_MEMORY_MB]
    assert replace(small, memory_bytes=700e6).memory_MB(1) == batch(60.0, memory="1 GB").memory_MB(1)


def test_time_follows_the_prediction_and_memory_the_limit() -> None:
    small, large = batch(60.0, memory="1 GB"), batch(6000.0, memory="4 GB")
    assert large.time_min(1) - small.time_min(1) == 3 * (6000 - 60) / 60
    assert large.memory_MB(1) - small.memory_MB(1) == 3000
