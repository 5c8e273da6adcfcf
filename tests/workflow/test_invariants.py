"""What changes no result: how the work is divided, in which order it is done, and where; what the tables add up to."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from fabricstudy.core.columns import TABLES
from fabricstudy.core.store import point_store, read_checksummed
from fabricstudy.engine.batch import run_batch
from fabricstudy.engine.definitions import built
from fabricstudy.study.file import validate_study
from fabricstudy.study.plan import plan
from fabricstudy.table.collect import collect
from fabricstudy.table.files import read_tables
from fabricstudy.workflow.jobs import jobs_of, write_jobs
from fabricstudy.workflow.pipeline import Pipeline, load_pipelines
from fabricstudy.workflow.small import commands
from fabricstudy.workflow.stages import main

from ..engines.test_bounds import engines
from ..engines.test_sst import HEADER
from ..schedules import SCHEDULE

RING = {"kind": "ring", "message": "4 kB"}
STUDY: dict[str, Any] = {
    "study": "same",
    "title": "Größe µ, Δt",
    "machine": {
        "kind": "dragonfly", "groups": 3, "routers_per_group": 2, "nodes_per_router": 2, "bandwidth": "1 GB/s",
    },
    "routing": "minimal",
    "jobs": [
        {"name": "a", "share": 0.5, "pattern": RING, "allocation": "random"},
        {"name": "b", "share": 0.5, "pattern": {"kind": "all-to-all", "message": "4 kB"}, "mapping": "random"},
    ],
    "slowdown": True,
    "engine": "caminos",
    "sweep": {
        "routing": {"of": "routing.kind", "values": ["minimal", "valiant"]},
        "arrangement": {"of": "machine.arrangement", "values": ["absolute", "relative"]},
        "engine": {"of": "engine", "values": ["caminos", "analysis"]},
    },
    "seeds": 2,
    "link_loads": "main",
    "analyses": {
        "tori": {"kind": "topologies", "families": {"t": [{"kind": "torus", "shape": [4], "bandwidth": "1 GB/s"}]}},
    },
    "schedules": {
        "s": {
            **SCHEDULE, "sweep": {"order": {"of": "order", "values": ["fcfs", "wfp"]}}, "seeds": 2, "keep_jobs": "all",
        },
    },
}  # fmt: skip


Job = tuple[str, list[str]]


def in_order(jobs: list[Job], change: Callable[[list[Job]], None]) -> list[Job]:
    """Return the jobs with those of each rule in another order."""
    found: list[Job] = []
    for rule in dict.fromkeys(rule for rule, _ in jobs):
        of_rule = [job for job in jobs if job[0] == rule]
        change(of_rule)
        found += of_rule
    return found


def tables_after(folder: Path, batch_cpu_s: float, cores: int, change: Callable[[list[Job]], None]) -> dict[str, bytes]:
    """Do all jobs of the study but the report; return what its tables hold beside how and where it ran."""
    folder.mkdir()
    os.chdir(folder)
    Path("same.yaml").write_text(yaml.safe_dump(STUDY))
    pipeline = load_pipelines("same.yaml", batch_cpu_s=batch_cpu_s)["same"]
    jobs = jobs_of(pipeline)
    write_jobs(pipeline, jobs, Path("results/same"))
    for stage, arguments in in_order(list(commands(jobs, batch_cpu_s, Path("results/same"))), change):
        if stage != "report":
            main([stage, *arguments, *(["--cores", str(cores)] if stage == "simulate" else [])])
    found = {"batches": str(len(jobs.batches)).encode()}
    for name, frame in read_tables(Path("results/same/tables")).frames().items():
        of_run = [one.name for one in TABLES.get(name, ()) if not one.compared]
        out = io.BytesIO()
        frame.drop(columns=of_run).to_parquet(out)
        found[name] = out.getvalue()
    return found


def test_tables_are_the_same_however_the_work_is_divided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    whole = tables_after(tmp_path / "whole", 60.0, 1, lambda jobs: None)
    parts = tables_after(tmp_path / "parts", 0.01, 2, random.Random(1).shuffle)
    assert int(parts.pop("batches")) > 2 * int(whole.pop("batches"))
    assert len(pd.read_parquet(io.BytesIO(whole["points"]))) > 30 and {"claims", "analysis-tori"} <= set(whole)
    assert [name for name in whole if whole[name] != parts[name]] == []


PLANS = """\
import sys
from pathlib import Path
from fabricstudy.workflow.jobs import jobs_of, write_jobs
from fabricstudy.workflow.pipeline import load_pipelines

(study,) = load_pipelines(sys.argv[1]).values()
write_jobs(study, jobs_of(study), Path(sys.argv[2]))
"""
ELSEWHERE = {
    "PYTHONHASHSEED": "4242", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TZ": "Pacific/Kiritimati",
}  # fmt: skip


def planned(study: Path, folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    """Plan in a process of its own, started in `folder`; return the files that it wrote."""
    folder.mkdir()
    names = ("LC_ALL", "LANG", "TZ", "PYTHONHASHSEED", "PYTHONUTF8")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    command = [sys.executable, "-c", PLANS, os.path.relpath(study, folder), "plan"]
    done = subprocess.run(command, cwd=folder, env=kept | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    files: dict[str, Any] = {path.name: path.read_bytes() for path in (folder / "plan").iterdir()}
    files["workflow.json"] = {**json.loads(files["workflow.json"]), "file": None}
    return files


def test_the_plan_is_the_same_in_another_place_tongue_and_time(tmp_path: Path) -> None:
    locales = subprocess.run(["locale", "-a"], capture_output=True, text=True).stdout.split()
    turkish = {"LC_ALL": "tr_TR.utf8", "PYTHONUTF8": "0"} if "tr_TR.utf8" in locales else {}
    study = tmp_path / "same.yaml"
    study.write_text(yaml.safe_dump(STUDY, allow_unicode=True), encoding="utf-8")
    here = planned(study, tmp_path / "here", {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"})
    (tmp_path / "a folder").mkdir()
    there = planned(study, tmp_path / "a folder/there", ELSEWHERE | turkish)
    assert [name for name in here if here[name] != there[name]] == [] and len(here) == 4


MESSAGE = 16_000
FIXED: dict[str, tuple[dict[str, Any], str]] = {
    "torus": ({"kind": "torus", "shape": [4, 2, 2]}, "dimension-order"),
    "hyperx": ({"kind": "hyperx", "shape": [4, 4]}, "minimal"),
    "fat-tree": ({"kind": "fat-tree", "radix": 4}, "d-mod-k"),
    "dragonfly": ({"kind": "dragonfly", "groups": 3, "routers_per_group": 2, "nodes_per_router": 2}, "minimal"),
}
"""No packet takes more hops than it has to; in larger dragonflies some do, to take one global link only."""


@pytest.mark.parametrize("engine", engines("caminos", "flow", "packet", "analysis", "sst", "codes"))
def test_links_carry_the_bytes_times_hops_of_the_jobs(engine: str, tmp_path: Path) -> None:
    """Links and hops are those between routers: the way between a node and its router is none. SST adds headers."""
    values = {name: {"machine": {**machine, "bandwidth": "1 GB/s"}, "routing": routing}
              for name, (machine, routing) in FIXED.items()}  # fmt: skip
    machine, routing = FIXED["torus"]
    written: dict[str, Any] = {
        "study": "carried",
        "machine": {**machine, "bandwidth": "1 GB/s"},
        "routing": routing,
        "engine": engine,
    }
    jobs = [{**job, "pattern": {**job["pattern"], "message": f"{MESSAGE} B"}} for job in STUDY["jobs"]]
    # Flow refuses jobs that share links.
    written["jobs"] = jobs[1:] if engine == "flow" else jobs
    of = plan(validate_study({**written, "sweep": {"family": {"set": values}}}))
    records = []
    for name, batch in Pipeline(Path("study.yaml"), of).batches.items():
        files = tmp_path / f"{name}.jsonl", tmp_path / f"{name}.links.parquet"
        run_batch(batch, point_store(tmp_path), lambda one: built(one.point.machine), *files)
        records += [record for _, record in read_checksummed(files[0]) if record]
    tables = collect(of, records, [])
    done = tables.points.query("status == 'done'")["family"]
    assert len(done) >= 2 or engine == "codes", list(tables.points["reason"])
    links = tables.links.assign(bytes=tables.links["load_mean_bytes"] * tables.links["links"])
    carried, sent = links.groupby("family")["bytes"].sum(), tables.jobs.groupby("family")["hop_bytes"].sum()
    least, most = (size / MESSAGE for size in (HEADER if engine == "sst" else (0, 0)))
    for family in done:
        assert (1 + least) * (1 - 1e-9) <= carried[family] / sent[family] <= (1 + most) * (1 + 1e-9), family
