"""Rails on CAMINOS: forwarding against its closed form, marks, and what is recorded of operations."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.core.store import Record
from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.outcome import OPERATIONS, recorded_rows
from fabricstudy.engine.point import PlannedPoint, machine_id, point_id
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder
from fabricstudy.report.figures import draw
from fabricstudy.study.file import load_study
from fabricstudy.study.plan import plan
from fabricstudy.table.collect import collect

from ..machines import point_on

EXTENSIONS = ["domain_all_to_all"]

pytestmark = pytest.mark.skipif(not Engine(Caminos).probe().found, reason="CAMINOS is not built")

MACHINE = {
    "kind": "rails", "domains": 2, "accelerators": 2, "spine": "none", "latency": "0 ns",
    "bandwidth": {"scale_up": "450 GB/s", "rail": "50 GB/s"},
}  # fmt: skip
PATTERN = {"kind": "domain-all-to-all", "domains": 2, "accelerators": 2, "message": "1 MB"}


def record_of(folder: Path, engine: str = "caminos", **pattern: Any) -> Record:
    network = {"router_latency": "0 ns", "packet": "4 kB", "buffer": "256 kB"}
    jobs = [{"share": 1.0, "pattern": PATTERN | pattern}]
    this = point_on(MACHINE, "minimal", engine=engine, network=network, jobs=jobs)
    planned = PlannedPoint(point_id(this), machine_id(this.machine), this)
    found: Record = simulate_in_folder(planned, folder, Limits())["record"]
    return found


def test_forwarding_in_rounds_takes_the_time_of_both_legs(tmp_path: Path) -> None:
    """1 MB through the domain at 450 GB/s, then 2 MB on the rail at 50 GB/s."""
    record = record_of(tmp_path)
    assert record["status"] == "done", record["reason"]
    (job,) = record["jobs"]
    assert job["runtime_ns"] == pytest.approx(1e6 / 450 + 2e6 / 50, rel=0.01)
    assert job["runtime_ns"] >= max(job["critical_path_ns"], job["bound_ns"]) and job["bound_ns"] >= 0.99 * 2e6 / 50
    assert job["exposed_ns"] + job["bubble_ns"] == pytest.approx(job["runtime_ns"])
    marks = {row["mark"]: row for row in job["marks"]}
    assert marks["forward"]["exposed_ns"] == pytest.approx(1e6 / 450, rel=0.02)
    assert (marks["between"]["bytes"], marks["domain"]["bytes"], marks["forward"]["bytes"]) == (8e6, 4e6, 4e6)
    assert marks["forward"]["end_ns"] <= marks["between"]["start_ns"] + 1


def test_operations_are_recorded(tmp_path: Path) -> None:
    record_of(tmp_path, order="posted")
    rows = recorded_rows(tmp_path / OPERATIONS)
    # Each of 4 ranks sends and gets one message in its domain, one to forward, and two on its rail.
    assert (
        np.unique(list(zip(rows["rank"], rows["kind"], strict=True)), axis=0, return_counts=True)[1].tolist() == [4] * 8
    )
    assert all(end > start >= 0 for start, end in zip(rows["start_ns"], rows["end_ns"], strict=True))


@pytest.mark.parametrize(("engine", "reason"), [("sst", "one bandwidth"), ("codes", "model")])
def test_other_engines_refuse(tmp_path: Path, engine: str, reason: str) -> None:
    jobs = [{"share": 1.0, "pattern": {"kind": "all-to-all", "message": "1 kB"}}]
    from fabricstudy.engine.attempt import check_supported
    from fabricstudy.engine.process import NotDone
    from fabricstudy.engine.registry import engine_named

    this = point_on(MACHINE, "minimal", engine=engine, jobs=jobs)
    with pytest.raises(NotDone, match=reason):
        check_supported(this, engine_named(engine), this.machine.build())


def test_a_gantt_chart_asks_for_the_operations_of_its_points(tmp_path: Path) -> None:
    shutil.copy(CONFIGS / "extensions/domain_all_to_all.py", tmp_path)
    (tmp_path / "s.yaml").write_text(
        f"""study: s
extensions: [domain_all_to_all.py]
machine: {MACHINE}
routing: minimal
jobs: [{{name: app, share: 1.0, pattern: {PATTERN}}}]
engine: caminos
sweep: {{order: {{of: jobs.0.pattern.order, values: [posted, rounds]}}}}
figures: [{{id: ranks, kind: gantt, title: Ranks, where: {{order: rounds}}}}]
"""
    )
    planned = plan(load_study(tmp_path / "s.yaml"))
    (point_id,) = planned.drawn_points
    assert {row.point_id for row in planned.rows if row.labels["order"] == "rounds"} == {point_id}
    record = simulate_in_folder(planned.points[point_id], tmp_path / "run", Limits())["record"]
    of_batch = {"point_id": point_id, "operations": recorded_rows(tmp_path / "run" / OPERATIONS)}
    tables = collect(planned, [record | of_batch], [])
    assert tables.marks["mark"].tolist() == ["domain", "forward", "between", "(unmarked)"]
    assert len(tables.operations) == 32 and tables.operations["end_ns"].max() <= tables.jobs["runtime_ns"].max()
    drawn = draw(planned.study.figures[0], tables, planned)
    assert drawn.svg and "4 ranks" in drawn.alt
