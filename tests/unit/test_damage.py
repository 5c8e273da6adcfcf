"""What was changed in the stores after it was written is told and made again, and concerns nothing else."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fabricstudy import cli
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.store import Record, checksummed_line, point_store
from fabricstudy.table.files import read_tables
from fabricstudy.workflow.jobs import jobs_of, write_jobs
from fabricstudy.workflow.pipeline import load_pipelines
from fabricstudy.workflow.progress import Progress
from fabricstudy.workflow.snakefile import count_points
from fabricstudy.workflow.stages import main as stage

STUDY = """\
study: two
machine: {kind: torus, shape: [8], bandwidth: 1 GB/s}
routing: dimension-order
jobs: [{share: 1.0, pattern: {kind: ring, message: 8 kB}}]
engine: caminos
sweep: {msg: {of: jobs.0.pattern.message, values: [8 kB, 16 kB]}}
link_loads: [main]
"""
FROM_RUN_TO_RUN = ["host", "started", "cpu_s", "wall_s", "memory_bytes", "overhead_cpu_s"]


@dataclass(frozen=True)
class Place:
    """A study of two points that were simulated, and its stores."""

    folder: Path

    @property
    def results(self) -> Path:
        return self.folder / "results"

    @property
    def points(self) -> tuple[Path, Path]:
        first, second = sorted(self.results.glob("points/*/p????????????"))
        return first, second

    def one(self, pattern: str) -> Path:
        (found,) = self.results.glob(pattern)
        return found

    @property
    def study(self) -> str:
        return str(self.folder / "two.yaml")

    def stage(self, name: str, out: str, *more: object) -> None:
        """Do what the rule of this name does."""
        stage([name, "--study", self.study, "--plan", str(self.made), "--out", str(self.made / out), *map(str, more)])

    @property
    def made(self) -> Path:
        return self.results / "two"

    def simulate(self) -> None:
        """Do what the rules up to `simulate` do."""
        pipeline = load_pipelines(self.study)["two"]
        write_jobs(pipeline, jobs_of(pipeline), self.made)
        (machine_id,) = pipeline.plan.machines
        machines, results = ("--machines", self.made / "machine/all"), ("--results", self.results)
        structures = ("--structures", self.made / "structure/all.jsonl")
        self.stage("machine", "machine/all", "--ids", machine_id)
        self.stage("structure", "structure/all.jsonl", *machines, "--ids", machine_id, *results)
        self.stage("workload", "workload/all.parquet", *machines, *structures, "--name", "all")
        self.simulate_alone()

    def simulate_alone(self) -> None:
        """Do what the rule `simulate` does."""
        self.stage(
            "simulate", "simulate/caminos-all.jsonl", "--machines", self.made / "machine/all",
            "--structures", self.made / "structure/all.jsonl", "--workloads", self.made / "workload/all.parquet",
            "--name", "caminos-all", "--results", self.results,
            "--links", self.made / "simulate/caminos-all.links.parquet",
        )  # fmt: skip

    def tables(self) -> dict[str, pd.DataFrame]:
        """Do what the rule `table` does; leave out what differs from run to run."""
        batch = self.made / "simulate/caminos-all"
        out = self.folder / "tables"
        files = ["--points", f"{batch}.jsonl", "--link-loads", f"{batch}.links.parquet"]
        files += ["--structures", str(self.made / "structure/all.jsonl")]
        stage(["table", "--study", self.study, "--plan", str(self.made), *files, "--out", str(out)])
        return {
            name: one.drop(columns=FROM_RUN_TO_RUN, errors="ignore") for name, one in read_tables(out).frames().items()
        }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, dict[str, pd.DataFrame]]:
    place = Place(tmp_path_factory.mktemp("whole"))
    (place.folder / "two.yaml").write_text(STUDY)
    place.simulate()
    return place, place.tables()


@pytest.fixture
def place(whole: tuple[Place, dict[str, pd.DataFrame]], tmp_path: Path) -> Place:
    shutil.copytree(whole[0].folder, tmp_path, dirs_exist_ok=True)
    return Place(tmp_path)


Damage = Callable[[Place], object]


def edited(change: Callable[[Record], object]) -> Damage:
    def damage(place: Place) -> None:
        file = place.points[0] / "record.json"
        record = json.loads(file.read_text())
        change(record)
        file.write_text(json.dumps(record))

    return damage


def job(**facts: Any) -> Damage:
    return edited(lambda record: record["jobs"][0].update(facts))


def facts(**of_record: Any) -> Damage:
    return edited(lambda record: record.update(of_record))


def written(text: str) -> Damage:
    return lambda place: (place.points[0] / "record.json").write_text(text)


def links(*values: Any) -> Damage:
    return lambda place: np.save(place.points[0] / "links.npy", np.array(values), allow_pickle=True)


def swapped(name: str) -> Damage:
    def damage(place: Place) -> None:
        one, other = (folder / name for folder in place.points)
        kept = one.with_name("kept")
        one.rename(kept)
        other.rename(one)
        kept.rename(other)

    return damage


def swapped_with_ids(place: Place) -> None:
    """Each record says that it is the other one, and its digest is right."""
    files = [folder / "record.json" for folder in place.points]
    one, other = (json.loads(file.read_text()) for file in files)
    one["point_id"], other["point_id"] = other["point_id"], one["point_id"]
    for file, record in zip(files, (other, one), strict=True):
        del record["sha256"]
        file.write_text(checksummed_line(record))


def folders_swapped(place: Place) -> None:
    one, other = place.points
    kept = one.with_name("kept")
    one.rename(kept)
    other.rename(one)
    kept.rename(other)


def replaced_by(make: Callable[[Path], object], name: str = "") -> Damage:
    """Put something else where a file or folder of a point was."""

    def damage(place: Place) -> None:
        at = place.points[0] / name
        shutil.rmtree(at) if at.is_dir() else at.unlink()
        make(at)

    return damage


def changed_byte(pattern: str, at: int | None = None) -> Damage:
    def damage(place: Place) -> None:
        file = place.one(pattern)
        content = bytearray(file.read_bytes())
        content[len(content) // 3 if at is None else at] ^= 1
        file.write_bytes(content)

    return damage


def shelf_a_file(place: Place) -> None:
    shelf = place.points[0].parent
    shutil.rmtree(shelf)
    shelf.touch()


def structure_edited(place: Place) -> None:
    file = place.one("structures/*/*/record.json")
    record = json.loads(file.read_text())
    record["bisection"]["upper_Bps"] *= 3
    file.write_text(json.dumps(record | {"diameter": 99}))


def cut(pattern: str, size: int) -> Damage:
    return lambda place: os.truncate(place.one(pattern), size)


def cut_links(size: int) -> Damage:
    return lambda place: os.truncate(place.points[0] / "links.npy", size)


def pickled() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([{}], dtype=object), allow_pickle=True)
    return stream.getvalue()


OF_POINTS: dict[str, tuple[Damage, int]] = {
    "time halved": (edited(lambda record: record["jobs"][0].update(runtime_ns=record["jobs"][0]["runtime_ns"] / 2)), 1),
    "time negative": (job(runtime_ns=-5), 1),
    "time a text": (job(runtime_ns="abc"), 1),
    "time not a number": (job(runtime_ns=float("nan")), 1),
    "time missing": (edited(lambda record: record["jobs"][0].pop("runtime_ns")), 1),
    "jobs empty": (facts(jobs=[]), 1),
    "jobs null": (facts(jobs=None), 1),
    "status unknown": (facts(status="weird"), 1),
    "fingerprint emptied": (facts(fingerprint=""), 1),
    "start no date": (facts(started="yesterday"), 1),
    "processor time negative": (facts(cpu_s=-1e9), 1),
    "processor time null": (facts(cpu_s=None), 1),
    "another point": (edited(lambda record: record["physics"].update(seed=2)), 1),
    "records swapped with ids": (swapped_with_ids, 2),
    "records swapped": (swapped("record.json"), 2),
    "folders swapped": (folders_swapped, 2),
    "links swapped": (swapped("links.npy"), 2),
    "links cut": (cut_links(140), 1),
    "links empty": (cut_links(0), 1),
    "links of another length": (links(*np.zeros(3)), 1),
    "links not numbers": (links(*np.full(16, np.nan)), 1),
    "links reversed": (lambda place: np.save(place.points[0] / "links.npy", np.arange(16.0)), 1),
    "links pickled": (replaced_by(lambda file: file.write_bytes(pickled()), "links.npy"), 1),
    "links gone": (replaced_by(lambda file: None, "links.npy"), 1),
    "links a folder": (replaced_by(Path.mkdir, "links.npy"), 1),
    "record empty": (written(""), 1),
    "record cut": (lambda place: os.truncate(place.points[0] / "record.json", 300), 1),
    "record a list": (written("[]"), 1),
    "record of another program": (written('{"point_id": "p0", "status": "done"}'), 1),
    "record nested without end": (written("[" * 100_000), 1),
    "record a folder": (replaced_by(Path.mkdir, "record.json"), 1),
    "record gone": (replaced_by(lambda file: None, "record.json"), 1),
    "folder a file": (replaced_by(Path.touch), 1),
    "folder gone": (replaced_by(lambda folder: None), 0),
    "shelf a file": (shelf_a_file, 0),
}
"""What happens to points, and how many of them are told and simulated again."""

OF_OTHERS: dict[str, Damage] = {
    "lock left behind": lambda place: place.points[0].with_suffix(".lock").touch(),
    "structure edited": structure_edited,
}
"""What no point lacks."""


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        *(pytest.param(*one, id=name) for name, one in OF_POINTS.items()),
        *(pytest.param(one, 0, id=name) for name, one in OF_OTHERS.items()),
    ],
)
def test_what_was_damaged_in_a_cache_is_told_and_made_again(
    place: Place,
    whole: tuple[Place, dict[str, pd.DataFrame]],
    capsys: pytest.CaptureFixture[str],
    damage: Damage,
    told: int,
) -> None:
    ids = {folder.name for folder in place.points}
    damage(place)
    commands = (
        ["status", place.study],
        ["plan", place.study],
        *(["point", one, "--study", place.study] for one in ids),
    )
    for command in commands:
        assert cli.main([*command, "--results", str(place.results), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)
    # Tables rest on what the batches wrote: what becomes of a cache concerns the next simulation.
    for name, frame in place.tables().items():
        pd.testing.assert_frame_equal(frame, whole[1][name])
    place.simulate()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == told and {line.partition(":")[0] for line in lines} <= ids
    for name, frame in place.tables().items():
        pd.testing.assert_frame_equal(frame, whole[1][name])
    store = point_store(place.results)
    assert all(store.record(one) and store.damage(one) is None for one in ids)


@pytest.mark.parametrize("file", ["links.parquet", "nodes.parquet", "machines.json"])
def test_a_damaged_definition_of_machines_is_told(place: Place, file: str) -> None:
    shutil.rmtree(place.results / "points")
    changed_byte(f"two/machine/all/{file}")(place)
    with pytest.raises(FabricstudyError, match=f"{file}.*remove it and run") as caught:
        place.simulate_alone()
    assert caught.value.code == "results-damaged"


@pytest.mark.parametrize("file", ["structure/all.jsonl", "workload/all.parquet", "plan.parquet"])
def test_a_damaged_output_of_a_rule_is_told(place: Place, file: str) -> None:
    shutil.rmtree(place.results / "points")
    # In the first column: not each byte of a Parquet file has a meaning.
    changed_byte(f"two/{file}", 60)(place)
    with pytest.raises(FabricstudyError, match=r"remove (it|the file) and run") as caught:
        place.simulate_alone()
    assert caught.value.code == "results-damaged"


def test_a_damaged_line_of_a_batch_is_a_row(place: Place) -> None:
    """The line is no longer known to be of the point."""
    file = place.made / "simulate/caminos-all.jsonl"
    first, *others = file.read_text().splitlines(keepends=True)
    file.write_text(first.replace('"runtime_ns": ', '"runtime_ns": 1') + "".join(others))
    points = place.tables()["points"]
    assert sorted(points["status"]) == ["damaged", "done"]
    assert f"{file}, line 1" in points.query("status == 'damaged'")["reason"].item()
    pipeline = load_pipelines(place.study)["two"]
    status = Progress(pipeline, place.results).poll()
    assert (status["done"], status["failures"], status["left"]) == (1, {"damaged": 1}, 0)
    # The cache may be damaged, too: what tables are made of counts.
    file.write_text(first + "".join(others))
    facts(status="failed")(place)
    status = Progress(pipeline, place.results).poll()
    assert (status["done"], status["failed"], status["left"]) == (2, 0, 0)


def test_a_run_and_its_status_agree_on_a_damaged_record_beside_complete_tables(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place.points[0] / "record.json").write_text("{")
    pipeline = load_pipelines(place.study)["two"]
    status = Progress(pipeline, place.results).poll()
    monkeypatch.chdir(place.folder)
    (line,) = count_points("two", jobs_of(pipeline), 0.0, set())
    assert (status["done"], status["left"]) == (2, 0) and "2 of 2 points done" in line


def test_points_without_a_record_are_no_rows_of_tables(place: Place) -> None:
    """Records of another study of the same name would make tables without numbers."""
    file = place.made / "simulate/caminos-all.jsonl"
    file.write_text(file.read_text().splitlines(keepends=True)[0])
    before = {path: path.read_bytes() for path in (place.folder / "tables").iterdir()}
    with pytest.raises(FabricstudyError) as caught:
        place.tables()
    assert before and caught.value.code == "study-changed"
    assert {path: path.read_bytes() for path in before} == before
