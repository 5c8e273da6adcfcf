"""A folder in which a study seems to have run: tables, page, records and benchmarks of made-up results."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from fabricstudy.artifact.completed_study import CompletedStudy, load_completed_study
from fabricstudy.report.page import write_report
from fabricstudy.study.file import load_study
from fabricstudy.study.plan import Plan, plan
from fabricstudy.study.plan_file import write_plan
from fabricstudy.table.collect import collect
from fabricstudy.table.files import Tables, read_tables, write_tables

STUDY: dict[str, Any] = {
    "study": "made-up",
    "title": "Rings | and bars",
    "machine": {
        "kind": "dragonfly", "groups": 3, "routers_per_group": 2, "nodes_per_router": 2, "bandwidth": "1 GB/s",
    },
    "routing": {"kind": "minimal"},
    "jobs": [{"share": 1.0, "pattern": {"kind": "ring", "message": "1 kB"}}],
    "engine": "caminos",
    "sweep": {
        "alpha": {"of": "machine.bandwidth.global", "values": {0.5: "0.5 GB/s", 2: "2 GB/s"}},
        "routing": {"of": "routing.kind", "values": ["minimal", "valiant"]},
    },
    "seeds": 2,
    "claims": [
        {"id": "c1", "statement": "Valiant takes twice as long.", "source": "nobody", "parts": [
            {"statement": "ratio", "source_range": [1.9, 2.1], "measure": {
                "kind": "contrast", "metric": "runtime_ns", "of": {"routing": "valiant"},
                "against": {"routing": "minimal"}}}]},
    ],
}  # fmt: skip


def record(point_id: str, point: Any, number: int, version: str) -> dict[str, Any]:
    """A made-up result; Valiant takes twice as long."""
    time_ns = (1e6 + number / 3) * (2 if point.routing.kind == "valiant" else 1)
    job = {"job": 0, "ranks": 12, "nodes": 12, "messages": 24, "bytes": 24_000, "runtime_ns": time_ns,
           "bound_ns": 9e5, "bound_method": "paths", "hop_bytes": 3e5}  # fmt: skip
    return {"point_id": point_id, "engine": "caminos", "version": version, "status": "done", "reason": None,
            "cpu_s": 59.0, "wall_s": 2.0 + number, "memory_bytes": 10_000_000, "overhead_cpu_s": 1.0, "host": "there",
            "started": f"2026-01-01T00:00:0{number}+00:00", "fingerprint": "f", "seed": point.seed, "jobs": [job],
            "links": []}  # fmt: skip


def structure(machine_id: str) -> dict[str, Any]:
    """A made-up structure."""
    bisection = {"lower_Bps": 1e10, "upper_Bps": 1e10, "exact": True, "method": "by hand"}
    facts = {"kind": "dragonfly", "nodes": 12, "routers": 6, "cables": 6, "radix": 4, "diameter": 3, "mean_hops": 1.8}
    return {"machine_id": machine_id, **facts, "bisection": bisection}


@dataclass(frozen=True)
class Ran:
    """Where a study ran."""

    base: Path
    study: Path
    plan: Plan

    @property
    def shard(self) -> Path:
        return self.base / "results/made-up/simulate/caminos-all.jsonl"

    @property
    def structures(self) -> Path:
        return self.base / "results/made-up/structure/all.jsonl"

    @property
    def tables(self) -> Path:
        return self.base / "results/made-up/tables"

    def finished(self) -> CompletedStudy:
        return load_completed_study(self.study, self.base, [self.shard], [self.structures])

    def change(self, table: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
        """Write one table anew."""
        tables = read_tables(self.tables)
        changed: dict[str, Any] = {table: change(getattr(tables, table).copy())}
        write_tables(replace(tables, **changed), self.tables)


def run_in(base: Path, version: str = "1.0", **changes: Any) -> Ran:
    """Write everything that a run writes."""
    base.mkdir(parents=True, exist_ok=True)
    study = base / "a study.yaml"
    study.write_text(yaml.safe_dump({**STUDY, **changes}, sort_keys=False))
    loaded = load_study(study)
    ran = Ran(base, study, plan(loaded))
    records = [record(name, one.point, n, version) for n, (name, one) in enumerate(ran.plan.points.items())]
    structures = [structure(name) for name in ran.plan.machines]
    for path, rows in ((ran.shard, records), (ran.structures, structures)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    tables: Tables = collect(ran.plan, records, structures)
    write_plan(ran.plan, ran.tables.parent, lambda one: {})
    write_tables(tables, ran.tables)
    write_report(ran.plan, tables, study.read_bytes(), str(study), base / "reports/made-up")
    for stage, seconds, megabytes in (
        ("structure/all", 9, 300),
        ("table", 6, "NA"),
        ("report", 51, 200),
    ):
        path = base / f"benchmarks/made-up/{stage}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"s": seconds, "max_rss": megabytes}) + "\n")
    return ran


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A study that ran, for copies only."""
    return run_in(tmp_path_factory.mktemp("original"))


def copied(original: Ran, base: Path) -> Ran:
    shutil.copytree(original.base, base)
    return Ran(base, base / original.study.name, original.plan)


@pytest.fixture
def ran(original: Ran, tmp_path: Path) -> Ran:
    """A study that ran."""
    return copied(original, tmp_path / "old")


@pytest.fixture
def again(original: Ran, tmp_path: Path) -> Ran:
    """The same in another folder."""
    return copied(original, tmp_path / "new")


@pytest.fixture(scope="session")
def _other_version(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run_in(tmp_path_factory.mktemp("other"), version="2.0")


@pytest.fixture
def other(_other_version: Ran, tmp_path: Path) -> Ran:
    """The same by another version of the engine."""
    return copied(_other_version, tmp_path / "other")
