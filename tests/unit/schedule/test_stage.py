"""The stage: from points to factors, from runs to files, whatever happens in between."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from tests.schedules import SCHEDULE, coupled

from fabricstudy.core.columns import DONE, NOT_RUN
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.store import point_store
from fabricstudy.engine.batch import run_batch
from fabricstudy.engine.definitions import built
from fabricstudy.schedule.stage import run_chunk
from fabricstudy.study.file import validate_study
from fabricstudy.study.plan import Plan, plan
from fabricstudy.study.plan_file import write_plan
from fabricstudy.table.schedules import schedule_tables
from fabricstudy.workflow.pipeline import Pipeline


def simulated(of: Plan, folder: Path) -> list[dict[str, Any]]:
    """Run the points of a study, and give their records."""
    pipeline = Pipeline(Path("study.yaml"), of)
    for name, batch in pipeline.batches.items():
        run_batch(
            batch,
            point_store(folder),
            lambda one: built(one.point.machine),
            folder / f"{name}.jsonl",
            folder / f"{name}.p",
        )
    return [json.loads(line) for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]


def tables_of(of: Plan, records: list[dict[str, Any]], folder: Path) -> dict[str, pd.DataFrame]:
    """Do all runs of a study with one schedule called s, and collect their tables."""
    shard = folder / "s-all.jsonl"
    run_chunk(list(of.runs.values()), "digest", records, shard, shard.with_suffix(".parquet"), folder / "s.h")
    lines = [json.loads(line) for line in shard.read_text().splitlines()]
    return schedule_tables(of, {"s": lines}, [shard.with_suffix(".parquet")])


def test_ratios_of_the_studys_own_points_slow_its_jobs(tmp_path: Path) -> None:
    """Neighbours on a line need its links as they do those of a ring; opposite halves need twice the time."""
    of = plan(validate_study(coupled()))
    jobs = tables_of(of, simulated(of, tmp_path / "results"), tmp_path)["scheduled_jobs"]
    on_mesh = jobs[jobs["class_nodes"] == 1024].groupby("application")["factor"].unique()
    assert {name: list(found) for name, found in on_mesh.items()} == {"local": [1.0], "global": [1 + 0.5 * (2 - 1)]}
    assert set(jobs.loc[jobs["class_nodes"] == 1024, "factor_source"]) == {"expected load"}
    assert set(jobs.loc[jobs["class_nodes"] == 512, "factor_source"]) == {"none"}


@pytest.mark.parametrize("broken", ["failed", "missing"])
def test_a_point_without_a_time_leaves_rows_that_are_not_run(tmp_path: Path, broken: str) -> None:
    of = plan(validate_study(coupled()))
    records = simulated(of, tmp_path / "results")
    records = (
        records[1:] if broken == "missing" else [{**records[0], "status": "failed", "reason": "it fell"}, *records[1:]]
    )
    tables = tables_of(of, records, tmp_path)
    (row,) = tables["schedules"].to_dict("records")
    assert row["status"] == NOT_RUN and ("it fell" in row["reason"]) == (broken == "failed")
    assert tables["size_classes"].empty and tables["scheduled_jobs"].empty
    assert pd.isna(row["utilisation"])


def test_every_run_is_a_row_under_each_of_its_labels(tmp_path: Path) -> None:
    sweep = {
        "network": {"of": "partitions", "values": {"torus": "intrepid-torus", "mesh": "intrepid-mesh"}},
        "same": {"of": "order", "values": {"a": "fcfs", "b": {"kind": "fcfs"}}},
    }
    of = plan(validate_study({"study": "small", "schedules": {"s": {**SCHEDULE, "sweep": sweep, "seeds": 2}}}))
    tables = tables_of(of, [], tmp_path)
    rows = tables["schedules"]
    assert len(rows) == 8 and set(rows["status"]) == {DONE}
    pairs = rows.pivot(index=["network", "seed"], columns="same", values="wait_mean_s")
    assert (pairs["a"] == pairs["b"]).all()
    # Jobs of the first seed only, once for each label.
    jobs = tables["scheduled_jobs"]
    assert set(jobs["seed"]) == {1} and len(jobs) == 4 * 50
    lists = tables["partition_lists"].set_index(["network", "class_nodes"])["concurrent_max"]
    assert (lists["torus", 1024], lists["mesh", 1024]) == (20, 40)


def test_damage_in_the_jobs_of_runs_is_detected(tmp_path: Path) -> None:
    of = plan(validate_study({"study": "small", "schedules": {"s": SCHEDULE}}))
    tables_of(of, [], tmp_path)
    jobs = tmp_path / "s-all.parquet"
    data = bytearray(jobs.read_bytes())
    data[200] ^= 4
    jobs.write_bytes(data)
    with pytest.raises(FabricstudyError) as damaged:
        schedule_tables(of, {"s": []}, [jobs])
    assert damaged.value.code == "results-damaged"


def test_killed_and_run_again_the_bytes_are_the_same(tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(yaml.safe_dump({"study": "small", "schedules": {"s": {**SCHEDULE, "seeds": 300}}}))
    of = Pipeline(study, plan(validate_study(yaml.safe_load(study.read_text()), study)), 1e6)
    (chunk,) = of.run_chunks.values()
    write_plan(of.plan, tmp_path, lambda one: {})

    def command(folder: str) -> list[str]:
        out = tmp_path / folder
        return [
            sys.executable, "-m", "fabricstudy.workflow.stages", "schedule", "--study", str(study), "--name",
            chunk.name, "--plan", str(tmp_path), "--batch-cpu-s", "1e6", "--out", f"{out}/a.jsonl",
            "--jobs", f"{out}/a.parquet", "--histories", f"{out}/a.history.parquet",
        ]  # fmt: skip

    subprocess.run(command("whole"), check=True, capture_output=True)
    killed = subprocess.Popen(command("again"), stdout=subprocess.DEVNULL)
    while not list((tmp_path / "again").glob(".*")):
        assert killed.poll() is None
        time.sleep(0.005)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert not (tmp_path / "again/a.jsonl").exists()
    subprocess.run(command("again"), check=True, capture_output=True)
    for name in ("a.jsonl", "a.parquet", "a.history.parquet"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
