"""What a run shows: counts, the time left, and the logs of failed jobs."""

from __future__ import annotations

import io
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from fabricstudy.core.phrasing import duration
from fabricstudy.workflow import display
from fabricstudy.workflow.here import Task, _run, checksums, record_path, write_record


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


def task(name: str, module: str, *inputs: str) -> Task:
    return Task("table", name, name, module, [], list(inputs), [f"out/{name}"], ["digest"])


def test_what_needs_a_failed_job_is_left_and_the_rest_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "breaks.py").write_text("def main(arguments): raise RuntimeError('no such luck')\n")
    (tmp_path / "works.py").write_text("def main(arguments): print('done')\n")
    said = io.StringIO()
    every = [task("a", "breaks"), task("b", "works", "out/a"), task("c", "works", "out/b"), task("d", "works")]
    assert _run(every, display.RunDisplay(said)) == [False, False, False, True]
    assert "logs/a.log" in said.getvalue() and "no such luck" in said.getvalue()
    assert "RuntimeError" in Path("logs/a.log").read_text() and Path("logs/d.log").read_text() == "done\n"
    assert not Path("logs/b.log").exists()


def test_a_task_is_current_with_its_record_and_dates_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").touch()
    done = task("a", "works", "in")
    output = Path("out/a")
    output.parent.mkdir()
    output.touch()
    assert not done.is_current()
    write_record(output, done.record)
    assert done.is_current()
    assert not Task("table", "a", "a", "works", [], ["in"], ["out/a"], ["other digest"]).is_current()
    assert not Task("table", "a", "a", "works", [], ["in", "new"], ["out/a"], ["digest"]).is_current()
    future_ns = output.stat().st_mtime_ns + 10**9

    os.utime("in", ns=(future_ns, future_ns))
    assert not done.is_current()
    assert Task("table", "a", "a", "works", [], ["in"], ["out/a"], ["digest"], undated="in").is_current()
    write_record(output, done.record | {"input_checksums": checksums(["in"])})
    assert done.is_current()  # newer with equal content
    Path("in").write_text("other")
    os.utime("in", ns=(future_ns, future_ns))
    assert not done.is_current()


def test_records_have_the_paths_of_snakemake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oracle is Snakemake's own class."""
    from snakemake.persistence.file import FilePersistence

    monkeypatch.chdir(tmp_path)
    theirs = SimpleNamespace(_max_len=None, _fetch_max_len=lambda subject: 255)
    for output in ("results/a/tables/points.csv", "results/" + "long/" * 100 + "points.csv"):
        expected = FilePersistence._record_path(theirs, ".snakemake/metadata", output)
        assert str(record_path(Path(output))) == expected
