"""What a run shows: counts, the time left, and the logs of failed jobs."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from fabricstudy.core.phrasing import duration
from fabricstudy.workflow import display


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(display, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def test_time_left_is_that_of_the_jobs_by_their_mean_over_those_at_a_time(clock: SimpleNamespace) -> None:
    said = io.StringIO()
    run = display.RunDisplay(said)
    run.plan({"simulate": 6, "table": 1, "all": 1, "total": 8})
    for job in (1, 2):
        run.start(job, "simulate", f"batch {job}")
    clock.now = 100.0
    run.finish(1)
    run.start(3, "simulate", "batch 3")
    run.finish(2)
    clock.now = 140.0
    # Four simulations of 100 s and a table of 3 s, less the 40 s of the running one; two at a time.
    assert run.time_left() == f"about {duration((4 * 100 + display.OTHER_S - 40) / 2)} left"
    assert run.done == 2 and said.getvalue().count("\n") == 2


def test_a_forecast_counts_until_jobs_have_ended_and_a_late_job_still_takes_a_part(clock: SimpleNamespace) -> None:
    run = display.RunDisplay(io.StringIO(), lambda: {"workload": 200.0, "table": 7.0})
    run.plan({"workload": 2, "table": 1})
    assert run.time_left() == f"about {duration(2 * 200 + 7)} left"
    run.start(1, "workload", "placing")
    clock.now = 150.0
    assert run.time_left() == f"about {duration(2 * 200 + 7 - 150)} left"
    clock.now = 400.0
    assert run.time_left() == f"about {duration(200 + 7 + display.LATE * 400)} left"
    run.finish(1)
    assert run.time_left() == f"about {duration(400 + 7)} left"
