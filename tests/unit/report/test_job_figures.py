"""Figures of the jobs of one run: what they draw is what the schedule says of itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.schedules import SCHEDULE, coupled

from fabricstudy.report import job_figures
from fabricstudy.report.figure_style import InputFiles
from fabricstudy.report.figures import draw
from fabricstudy.report.job_figures import blocked_by_cables, busy_nodes, draw_runs
from fabricstudy.schedule.history import History, read_histories
from fabricstudy.schedule.stage import ScheduleRun, run_chunk
from fabricstudy.study.figures import JobsFigure
from fabricstudy.study.file import validate_study
from fabricstudy.study.model import Study
from fabricstudy.study.plan import Plan, plan
from fabricstudy.table.collect import collect
from fabricstudy.table.schedules import schedule_tables

# Tori of two and eight midplanes that want cables of each other, on a machine that is full.
FULL: dict[str, Any] = {
    **SCHEDULE,
    "partitions": "intrepid-torus",
    "trace": {
        "kind": "synthetic", "jobs": 400, "span": "2 days", "load": 1.1, "sizes": {512: 0.3, 1024: 0.5, 4096: 0.2},
        "runtime": {"median": "1 h", "longest": "12 h"},
    },
}  # fmt: skip


def study_of(**figure: Any) -> Study:
    figures = [{"id": "a", "title": "A", "schedule": "s", **figure}] if figure else []
    return validate_study({"study": "small", "schedules": {"s": FULL}, "figures": figures})


def histories_of(of: Plan, folder: Path, records: Sequence[dict[str, Any]] = ()) -> tuple[Path, ...]:
    """Do the runs of a study that its figures draw, and write their histories."""
    shard, jobs, history = (folder / name for name in ("s-all.jsonl", "s-all.parquet", "s-all.history.parquet"))
    run_chunk(list(of.runs.values()), "digest", records, shard, jobs, history, of.drawn_runs)
    return (history,)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> History:
    of = plan(study_of(kind="timeline"))
    runs = {run.run_id: run for run in of.runs.values()}
    (history,) = read_histories(histories_of(of, tmp_path_factory.mktemp("runs")), runs).values()
    return history


def test_a_history_is_read_as_it_was_written(done: History) -> None:
    made = ScheduleRun(done.planned, {}).history
    for name in ("submit_s", "start_s", "end_s", "class_nodes", "partition", "application", "takes", "ran"):
        np.testing.assert_array_equal(getattr(done, name), getattr(made, name))
    for name in ("time_s", "busy", "empty", "cables", "held", "scattered", "queue"):
        np.testing.assert_array_equal(getattr(done.utilisation, name), getattr(made.utilisation, name))


def test_busy_nodes_of_the_classes_add_up_to_those_of_the_kernel(done: History) -> None:
    size_axes = [int(one) for one in np.unique(done.class_nodes)]
    assert (
        np.sum([busy_nodes(done, size) for size in size_axes], axis=0).tolist()
        == (done.utilisation.busy * 512).tolist()
    )


def test_spans_without_cables_are_those_that_the_kernel_counts(done: History) -> None:
    instants = done.utilisation
    window = float(instants.time_s[0]), float(instants.time_s[-1])
    spans = list(blocked_by_cables(done, window))
    counted = (instants.cables[:-1] * np.diff(instants.time_s)).sum()
    assert counted > 0
    assert sum(end - start for start, end, _ in spans) == pytest.approx(counted)
    # Spans of one midplane lie apart.
    for midplane in range(done.partitions.machine_nodes // 512):
        own = sorted((start, end) for start, end, where in spans if where == midplane)
        assert all(before[1] < after[0] for before, after in pairwise(own))


@pytest.mark.parametrize(
    ("figure", "drawn"),
    [
        ({"kind": "timeline"}, True),
        ({"kind": "gantt", "from": "1 day", "to": "1.2 days"}, True),
        ({"kind": "gantt"}, False),
        ({"kind": "timeline", "from": "1 day", "to": "1.2 days"}, True),
        ({"kind": "timeline", "from": "100 days"}, False),
        ({"kind": "gantt", "from": "100 days"}, False),
        ({"kind": "ecdf", "hue": "class_nodes"}, True),
        ({"kind": "ecdf", "where": {"seed": 2}}, False),
    ],
)
def test_what_can_be_drawn_is_and_twice_the_same(
    figure: dict[str, Any], drawn: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(job_figures, "MAX_BOXES", 300)
    study = study_of(**figure)
    of = plan(study)
    tables = collect(of, [], [], {}, schedule_tables(of, {}))
    made = InputFiles(histories=histories_of(of, tmp_path))
    first, again = (draw(study.figures[0], tables, of, made) for _ in range(2))
    assert bool(first.svg) == drawn and first.svg == again.svg and first.pdf == again.pdf
    assert pd.isna(tables.schedules["utilisation"]).all()


def test_a_timeline_covers_its_window(done: History) -> None:
    """A window between two instants shows the state at the first one."""
    time_s = done.utilisation.time_s
    at = int(np.argmax(np.diff(time_s)))
    window = {"from": f"{time_s[at] + 1:.0f} s", "to": f"{time_s[at + 1] - 1:.0f} s"}
    (figure,) = study_of(kind="timeline", **window).figures
    assert isinstance(figure, JobsFigure)
    row: Any = SimpleNamespace()
    axes = draw_runs(figure, {"": [(row, done)]})[0].axes[0]
    low, high = axes.get_xlim()
    areas: list[Any] = [np.asarray(area.get_paths()[0].vertices) for area in axes.collections]
    assert low < high and [area[:, 0].min() for area in areas] == pytest.approx([low] * len(areas))
    assert max(area[:, 1].max() for area in areas) == done.partitions.machine_nodes


def test_a_run_that_was_not_done_says_why(tmp_path: Path) -> None:
    """Its slowdown rests on points, of which none has a record."""
    figure = {"id": "a", "title": "A", "schedule": "s", "kind": "timeline"}
    of = plan(validate_study({**coupled(), "figures": [figure]}))
    made = InputFiles(histories=histories_of(of, tmp_path))
    lines = [json.loads(line) for line in (tmp_path / "s-all.jsonl").read_text().splitlines()]
    drawn = draw(of.study.figures[0], collect(of, [], [], {}, schedule_tables(of, {"s": lines})), of, made)
    assert not drawn.svg and "has no record" in drawn.basis
