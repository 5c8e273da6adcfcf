"""The stage `report` reads what earlier rules declare: it plans, builds, places, simulates and schedules nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.schedules import SCHEDULE
from tests.unit.table.test_link_loads import STUDY

from fabricstudy.workflow.jobs import jobs_of, write_jobs
from fabricstudy.workflow.pipeline import load_pipelines
from fabricstudy.workflow.small import commands
from fabricstudy.workflow.stages import main

FIGURES: list[dict[str, Any]] = [
    {"id": "machine", "kind": "machine", "title": "M", "load": "bytes", "columns": "routing"},
    {"id": "timeline", "kind": "timeline", "title": "T", "schedule": "s"},
    {"id": "gantt", "kind": "gantt", "title": "G", "schedule": "s", "columns": "order"},
    {"id": "waits", "kind": "ecdf", "title": "W", "schedule": "s", "hue": ["order", "class_nodes"]},
]
SWEPT = {**SCHEDULE, "sweep": {"order": {"of": "order", "values": ["fcfs", "wfp"]}}, "seeds": 2, "keep_jobs": "none"}
DRAWN: dict[str, Any] = {**STUDY, "study": "drawn", "figures": FIGURES, "schedules": {"s": SWEPT}}

# What does the work of other stages raises here, or cannot be imported.
ALONE = """\
import sys
for name in ("schedule.kernel", "schedule.stage"):
    sys.modules[f"fabricstudy.{name}"] = None

import subprocess
import fabricstudy.schedule.simulate, fabricstudy.study.plan, fabricstudy.workload.placing
from fabricstudy.machine.base import Topology

def refused(*_, **__):
    raise AssertionError("the work of another stage")

fabricstudy.schedule.simulate.simulate = fabricstudy.study.plan.plan = refused
fabricstudy.workload.placing._allocate = subprocess.Popen = refused
for kind in Topology.FAMILY.members.values():
    kind.build = refused

from fabricstudy.workflow.stages import main
main(["report", *sys.argv[1:]])
"""


def test_report_does_the_work_of_no_other_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("drawn.yaml").write_text(yaml.safe_dump(DRAWN))
    pipeline = load_pipelines("drawn.yaml")["drawn"]
    jobs = jobs_of(pipeline)
    write_jobs(pipeline, jobs, Path("results/drawn"))
    *others, (_, arguments) = commands(jobs, 60.0, Path("results/drawn"))
    for stage, of_stage in others:
        main([stage, *of_stage])
    done = subprocess.run([sys.executable, "-c", ALONE, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pictures = {path.stem for path in Path("reports/drawn/figures").glob("*.svg")}
    assert pictures == {str(figure["id"]) for figure in FIGURES}
