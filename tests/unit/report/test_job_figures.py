"""Figures of the jobs of one run: what they draw is what the schedule says of itself."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.schedules import SCHEDULE

from fabricstudy.report import job_figures
from fabricstudy.report.figures import draw
from fabricstudy.report.job_figures import blocked_by_cables, busy_nodes
from fabricstudy.schedule.stage import ScheduleRun, run_planned_schedule
from fabricstudy.study.file import validate_study
from fabricstudy.study.model import Study
from fabricstudy.study.plan import plan
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


@pytest.fixture(scope="module")
def done() -> ScheduleRun:
    (run,) = plan(study_of()).runs.values()
    return run_planned_schedule(run, {})


def test_busy_nodes_of_the_classes_add_up_to_those_of_the_kernel(done: ScheduleRun) -> None:
    sizes = [int(one) for one in np.unique(done.result.class_nodes)]
    assert sum(busy_nodes(done, size) for size in sizes).tolist() == (done.result.instants.busy * 512).tolist()


def test_spans_without_cables_are_those_that_the_kernel_counts(done: ScheduleRun) -> None:
    instants = done.result.instants
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
        ({"kind": "ecdf", "hue": "class_nodes"}, True),
        ({"kind": "ecdf", "where": {"seed": 2}}, False),
    ],
)
def test_what_can_be_drawn_is_and_twice_the_same(
    figure: dict[str, Any], drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_figures, "MAX_BOXES", 300)
    study = study_of(**figure)
    of = plan(study)
    tables = collect(of, [], [], {}, schedule_tables(of, {}))
    first, again = (draw(study.figures[0], tables, of) for _ in range(2))
    assert bool(first.svg) == drawn and first.svg == again.svg and first.pdf == again.pdf
    assert pd.isna(tables.schedules["utilisation"]).all()
