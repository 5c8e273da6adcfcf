"""Each job of the workflow, alone in a folder that has its declared inputs only, writes what it wrote in the run."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from fabricstudy.core.columns import TABLES
from fabricstudy.core.store import STORES
from tests.schedules import SCHEDULE

from ..forked import run_small, run_snakemake
from .conftest import BIN, ROOT
from .test_extensions import COUNT, SHIFT

pytestmark = pytest.mark.slow

PRICES = "item,value\ncurrency,EUR\nyear,2026\nrouter,900\nport,250\nport_W,12\nelectrical,0.5\nelectrical_m,0.4\n"
FILES = {
    "own/shift.py": SHIFT,
    "count.py": COUNT,
    "prices.csv": PRICES + "optical,2.5\noptical_m,0.1\n",
    "cores.txt": "1\n0\n",
    "traces/pair.goal": "num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 0\n}\nrank 1 {\nl1: recv 8b from 0 tag 0\n}\n",
}
MESH = {"kind": "mesh", "shape": [4, 2], "bandwidth": "1 GB/s"}
STUDY: dict[str, Any] = {
    "study": "alone",
    "extensions": ["own/shift.py", "count.py"],
    "machine": MESH,
    "routing": "minimal",
    "jobs": [
        {"name": "traced", "nodes": 2, "allocation": "random", "mapping": {"kind": "file", "file": "cores.txt"},
         "pattern": {"kind": "trace", "file": "traces/pair.goal"}},
        {"name": "shifted", "nodes": 4, "pattern": {"kind": "shift", "message": "20 kB"}},
    ],
    "engine": "packet",
    "seeds": {"from": 2, "to": 3, "until": "0.01 %"},
    "link_loads": "main",
    "analyses": {
        "bill": {"kind": "cost", "prices": {"kind": "file", "file": "prices.csv"}, "machines": {"mesh": MESH}},
        "squares": {"kind": "count"},
    },
    "schedules": {"queue": {**SCHEDULE, "keep_jobs": "none"}},
    "figures": [
        {"id": "machine", "kind": "machine", "title": "M", "load": "bytes"},
        {"id": "gantt", "kind": "gantt", "title": "G", "schedule": "queue"},
    ],
}  # fmt: skip
VOLATILE = {one.name for columns in TABLES.values() for one in columns if not one.compared} | {"sha256"}
RULES = (
    "plan", "machine", "structure", "workload", "simulate", "needed", "schedule", "analysis", "table", "report", "pack",
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """A study that has run, in a folder that has another name since, and the summary of its jobs by Snakemake."""

    folder: Path
    rows: list[dict[str, str]]

    def job(self, rule: str) -> tuple[str, set[str], set[str]]:
        """Return command, inputs and outputs of the last job of a rule."""
        command = next(row["shellcmd"] for row in reversed(self.rows) if row["rule"] == rule)
        rows = [row for row in self.rows if row["shellcmd"] == command]
        return command, set(rows[0]["input-file(s)"].split(",")), {row["output_file"] for row in rows}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("run") / "made"
    for name, text in {**FILES, "alone.yaml": yaml.safe_dump(STUDY)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run_small("alone.yaml") == 0
    (folder / "artifact").mkdir()
    (folder / "artifact/alone.tar.gz").touch()
    arguments = ["--snakefile", str(ROOT / "Snakefile"), "--config", "study=alone.yaml", "small_cpu_s=0"]
    # What was made without Snakemake becomes known to it.
    for flags in (["--cores", "1", "--touch", "--forceall"], ["--detailed-summary"]):
        code, said = run_snakemake([*arguments, *flags, "--", "reports", "artifact"], folder, os.environ)
        assert code == 0, said
    table = io.StringIO(said[said.index("output_file\t") :])
    return Run(folder.rename(folder.parent / "kept"), list(csv.DictReader(table, delimiter="\t")))


@pytest.mark.parametrize("rule", RULES)
def test_a_job_reads_what_its_rule_declares(run: Run, rule: str, tmp_path: Path) -> None:
    command, inputs, outputs = run.job(rule)
    for name in inputs:
        kept = run.folder / name
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if kept.is_dir():
            shutil.copytree(kept, tmp_path / name)
        elif kept.exists():  # not the benchmarks, which only Snakemake writes
            shutil.copy(kept, tmp_path / name)
    for name in (*outputs, *re.findall(r"logs/\S+", command)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}", PYTHONPROFILEIMPORTTIME="1")
    done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, "".join(path.read_text() for path in (tmp_path / "logs").rglob("*.log"))
    if rule == "simulate":  # a job of points knows nothing of claims, figures and schedules
        log = (tmp_path / "logs/alone/simulate/second-packet-all.log").read_text()
        loaded = set(re.findall(r"\| +fabricstudy\.([\w.]+)$", log, re.M))
        needless = ("study", "table", "report", "schedule", "machine.fabric", "commands")
        assert len(loaded) > 50 and not {name for name in loaded if name.startswith(needless)}
    for name in outputs:
        if rule != "pack":
            assert content(tmp_path / name) == content(run.folder / name), name
    undeclared = files_in(tmp_path) - files_in(tmp_path, *inputs, *outputs)
    assert not {
        name for name in undeclared if not name.startswith(("logs/", *(f"results/{store}" for store in STORES)))
    }
    if rule == "pack":
        with tarfile.open(tmp_path / "artifact/alone.tar.gz") as archive:
            packed = {name.partition("/")[2] for name in archive.getnames()}
        left_out = files_in(run.folder, "results/alone", "reports") - packed
        of_workflow = ("workflow.json", "needed.json", ".links.parquet", ".snakemake_timestamp")
        assert all(name.endswith(of_workflow) for name in left_out)


def files_in(base: Path, *names: str) -> set[str]:
    """Return the files of a folder, those with one of the names or below it."""
    files = (path.relative_to(base).as_posix() for path in base.rglob("*") if path.is_file())
    return {file for file in files if not names or file.startswith(names)}


def content(path: Path) -> object:
    """Return what a file says, without times and places of the run."""
    if path.is_dir():
        return {child.name: content(child) for child in path.glob("[!.]*")}
    if path.suffix == ".parquet":
        frame = pd.read_parquet(path)
        return frame.drop(columns=VOLATILE & {*frame}).to_json()
    if path.suffix == ".jsonl":
        return [steady(json.loads(line)) for line in path.read_text().splitlines()]
    return path.read_bytes()


def steady(value: object) -> object:
    if isinstance(value, dict):
        return {key: steady(part) for key, part in value.items() if key not in VOLATILE}
    return [steady(part) for part in value] if isinstance(value, list) else value
