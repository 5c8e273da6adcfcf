"""How far a study is: counts and estimates from records in a real store."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fabricstudy import cli
from fabricstudy.commands.status import show
from fabricstudy.core.store import point_store
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.validity import fingerprint
from fabricstudy.study.file import load_study
from fabricstudy.study.plan import plan
from fabricstudy.workflow.pipeline import Pipeline
from fabricstudy.workflow.progress import PACE_S, Progress

STUDY = """\
study: a-study-with-a-name-that-is-rather-long
machine: {kind: dragonfly, groups: 3, routers_per_group: 2, nodes_per_router: 2, bandwidth: 1 GB/s}
routing: {kind: minimal}
jobs: [{share: 1.0, pattern: {kind: all-to-all, message: 16 kB}}]
engine: caminos
sweep: {alpha: {of: machine.bandwidth.global, values: {1: 1 GB/s, 2: 2 GB/s}}}
seeds: 5
"""


class Sample:
    """A study of ten points of one predicted cost, and its store."""

    def __init__(self, folder: Path, study: str = STUDY) -> None:
        self.file = folder / "study.yaml"
        self.file.write_text(study)
        self.pipeline = Pipeline(self.file, plan(load_study(self.file)))
        self.ids = list(self.pipeline.plan.points)
        self.results = folder / "results"
        (self.cost_s,) = {
            engine_named("caminos").predict_cpu_s(point.point) for point in self.pipeline.plan.points.values()
        }

    def end(self, number: int, ago_s: float = 0.0, wall_s: float = 8.0, has_links: bool = False, **facts: Any) -> None:
        """Store a point that ended so many seconds ago."""
        started = datetime.now(UTC) - timedelta(seconds=ago_s + wall_s)
        record = {
            "point_id": self.ids[number], "engine": "caminos", "status": "done",
            "fingerprint": str(fingerprint(self.pipeline.plan.points[self.ids[number]].point)),
            "started": started.isoformat(timespec="seconds"), "wall_s": wall_s, "cpu_s": 3 * self.cost_s,
            "overhead_cpu_s": 0.0,
        }  # fmt: skip
        store = point_store(self.results)
        with store.lock(self.ids[number]), store.workspace(self.ids[number]) as folder:
            if has_links:
                (folder / "links.npy").write_text("bytes of each link")
            store.keep(folder, record | facts)


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return Sample(tmp_path)


def test_nothing_yet(sample: Sample) -> None:
    found = Progress(sample.pipeline, sample.results).poll()
    assert (found["points"], found["done"], found["failed"], found["left"]) == (10, 0, 0, 10)
    assert found["left_cpu_s"] == pytest.approx(10 * sample.cost_s, abs=0.1) and found["left_s"] is None


def test_the_prediction_is_corrected_by_what_was_measured(sample: Sample) -> None:
    sample.end(0)
    sample.end(1)
    found = Progress(sample.pipeline, sample.results).poll()
    assert (found["done"], found["left"]) == (2, 8)
    assert found["left_cpu_s"] == pytest.approx(8 * 3 * sample.cost_s, abs=0.1)


def test_the_pace_counts_the_cores_in_use_whoever_uses_them(sample: Sample) -> None:
    # In the last 100 seconds four cores ended two points each: two are left, which is a quarter of that.
    for number in range(8):
        sample.end(number, ago_s=50 * (number % 2), wall_s=50)
    assert Progress(sample.pipeline, sample.results).poll()["left_s"] == pytest.approx(25, abs=2)


def test_what_ended_long_ago_is_no_pace(sample: Sample) -> None:
    sample.end(0, ago_s=2 * PACE_S)
    assert Progress(sample.pipeline, sample.results).poll()["left_s"] is None
    sample.end(1, ago_s=1, wall_s=3 * PACE_S)
    # A third of a point in a quarter of an hour.
    assert Progress(sample.pipeline, sample.results).poll()["left_s"] == pytest.approx(8 * 3 * PACE_S, rel=0.02)


def test_failures_are_counted_by_kind_and_a_repeated_look_sees_what_changed(sample: Sample) -> None:
    progress = Progress(sample.pipeline, sample.results)
    sample.end(0, status="timeout")
    sample.end(1, status="failed")
    sample.end(2, status="failed")
    found = progress.poll()
    assert (found["failed"], found["failures"], found["left"]) == (3, {"failed": 2, "timeout": 1}, 7)
    sample.end(1)
    sample.end(3)
    found = progress.poll()
    assert (found["done"], found["failures"], found["left"]) == (2, {"failed": 1, "timeout": 1}, 6)


def test_points_of_a_missing_engine_are_told_and_not_waited_for(
    sample: Sample, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample.end(0)
    monkeypatch.setenv("FABRICSTUDY_CAMINOS", str(tmp_path / "nowhere"))
    found = Progress(sample.pipeline, sample.results).poll()
    assert (found["done"], found["left"], found["unavailable"], found["left_cpu_s"]) == (1, 9, 9, 0.0)
    monkeypatch.chdir(sample.results.parent)
    cli.main(["status", str(sample.file), "--watch"])
    assert "9 left\n9 of them need caminos, not found here" in capsys.readouterr().out


def test_points_of_older_code_and_half_written_ones_are_left(sample: Sample) -> None:
    sample.end(0, fingerprint="older")
    store = point_store(sample.results)
    with store.lock(sample.ids[1]), store.workspace(sample.ids[1]):
        found = Progress(sample.pipeline, sample.results).poll()
    assert (found["done"], found["left"]) == (0, 10)


def test_points_of_older_code_whose_input_may_be_the_same_are_unchecked_for_plan_and_status(
    sample: Sample, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    point = sample.pipeline.plan.points[sample.ids[0]].point
    older = f"{'0' * 12}-{str(fingerprint(point)).split('-', 1)[1]}"
    sample.end(0, fingerprint=older, input="of then")
    sample.end(1)
    found = Progress(sample.pipeline, sample.results).poll()
    assert (found["done"], found["unchecked"], found["left"]) == (1, 1, 8)
    monkeypatch.chdir(sample.results.parent)
    cli.main(["plan", str(sample.file), "--json"])
    planned = json.loads(capsys.readouterr().out)
    assert (planned["cached"], planned["unchecked"], planned["new"]) == (1, 1, 8)


def test_a_point_whose_links_are_gone_is_left_as_the_next_run_makes_it_again(sample: Sample) -> None:
    sample.end(0, has_links=True)
    sample.end(1)
    assert Progress(sample.pipeline, sample.results).poll()["left"] == 8
    next(sample.results.glob("points/*/*/links.npy")).unlink()
    assert Progress(sample.pipeline, sample.results).poll()["left"] == 9


def test_a_combination_is_decided_once_no_point_of_it_is_left(tmp_path: Path) -> None:
    sample = Sample(tmp_path, STUDY.replace("seeds: 5", "seeds: {from: 2, to: 5, until: 2 %}"))
    progress = Progress(sample.pipeline, sample.results)
    of_first = [number for number, (_, one) in enumerate(sample.pipeline.plan.points.items())
                if one.point.machine == next(iter(sample.pipeline.plan.points.values())).point.machine]  # fmt: skip
    for number in of_first[:-1]:
        sample.end(number)
    assert (progress.poll()["decided"], progress.poll()["combinations"]) == (0, 2)
    sample.end(of_first[-1])
    assert progress.poll()["decided"] == 1


def test_a_record_is_read_once(sample: Sample) -> None:
    progress = Progress(sample.pipeline, sample.results)
    sample.end(0)
    assert progress.poll()["done"] == 1
    # Not a thing that happens: it shows that the next look does not open the record.
    (point_store(sample.results).folder(sample.ids[0]) / "record.json").write_text("unreadable")
    assert progress.poll()["done"] == 1


def test_watching_shows_what_changes_in_a_terminal_and_ends_with_the_study(sample: Sample) -> None:
    for number in range(8):
        sample.end(number)
    terminal, inside = pty.openpty()
    code = "import sys; from fabricstudy import cli; from fabricstudy.commands import status\n"
    code += "status.WATCH_S, status.WATCH_SHARE = 0.1, 1.0; sys.exit(cli.main())"
    arguments = ["status", str(sample.file), "--results", str(sample.results), "--watch"]
    watch = subprocess.Popen([sys.executable, "-c", code, *arguments], stdin=inside, stdout=inside, stderr=inside)
    os.close(inside)
    try:
        read_until(terminal, "8 of 10 points done")
        sample.end(8)
        read_until(terminal, "9 of 10 points done")
        sample.end(9, status="timeout")
        said = read_until(terminal, "1 failed (1 timeout)")
        assert watch.wait(30) == 0
    finally:
        watch.kill()
        watch.wait()
        os.close(terminal)
    assert "100 %" in said


def read_until(terminal: int, words: str, seconds: float = 60.0) -> str:
    """Read what a terminal shows until words stand in it."""
    said, deadline = "", time.monotonic() + seconds
    while words not in said:
        assert time.monotonic() < deadline, said
        said += os.read(terminal, 4096).decode()
    return said


def test_the_lines_fit_80_columns(sample: Sample, capsys: pytest.CaptureFixture[str]) -> None:
    for number, status in enumerate(["done", "done", "failed", "timeout", "out-of-memory", "unsupported"]):
        sample.end(number, status=status)
    found = Progress(sample.pipeline, sample.results).poll() | {"left_cpu_s": 4e6, "left_s": 3.2e6}
    show(found)
    said = capsys.readouterr().out
    assert all(len(line) <= 80 for line in said.splitlines())
    for words in (
        "] 60 %",
        "2 of 10 points done",
        "4 failed (1 failed, 1 timeout, 1 out-of-memory, 1 unsupported)",
        "46 days",
        "37 days",
    ):
        assert words in said
