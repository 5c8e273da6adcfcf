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
from fabricstudy.engine.batch import run_batch
from fabricstudy.engine.stores import Stores
from fabricstudy.files import atomic_text
from fabricstudy.machine.stage import has_machine, keep_machine
from fabricstudy.pipeline import Pipeline, pipelines
from fabricstudy.store import Record, sealed
from fabricstudy.structure.stage import has_structure, keep_structure
from fabricstudy.table.__main__ import main as make_tables
from fabricstudy.table.store import read_tables
from fabricstudy.workflow import forget_what_is_gone

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
    def pipeline(self) -> Pipeline:
        return pipelines(str(self.folder / "two.yaml"))["two"]

    def simulate(self) -> None:
        """Do what the rules `structure` and `simulate` do."""
        pipeline = self.pipeline
        with atomic_text(self.results / "all.jsonl") as out:
            for name, config in pipeline.plan.machines.items():
                keep_machine(self.results, name, config)
                out.write(json.dumps(keep_structure(self.results, name)) + "\n")
        for name, batch in pipeline.batches.items():
            run_batch(batch, Stores(self.results), self.results / f"{name}.jsonl")

    def tables(self) -> dict[str, pd.DataFrame]:
        """Do what the rule `table` does; leave out what differs from run to run."""
        shards = [str(self.results / f"{name}.jsonl") for name in self.pipeline.batches]
        out = self.folder / "tables"
        files = ["--structures", str(self.results / "all.jsonl"), "--results", str(self.results), "--out", str(out)]
        make_tables(["--study", str(self.folder / "two.yaml"), "--shards", *shards, *files])
        return {
            name: one.drop(columns=FROM_RUN_TO_RUN, errors="ignore") for name, one in read_tables(out).frames().items()
        }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, dict[str, pd.DataFrame]]:
    place = Place(tmp_path_factory.mktemp("whole"))
    (place.folder / "two.yaml").write_text(STUDY)
    place.results.mkdir()
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
        file.write_text(sealed(record))


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


def twice_as_fast(place: Place) -> None:
    file = place.one("machines/*/*/machine.npz")
    with np.load(file) as stored:
        content = dict(stored)
    facts = json.loads(str(content["facts"]))
    (name, bandwidth_Bps, *rest), *_ = facts["classes"]
    facts["classes"] = [[name, 2 * bandwidth_Bps, *rest]]
    np.savez_compressed(file, **content | {"facts": np.array(json.dumps(facts))})


def changed_byte(pattern: str) -> Damage:
    def damage(place: Place) -> None:
        file = place.one(pattern)
        content = file.read_bytes()
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))

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
    "machine cut": cut("machines/*/*/machine.npz", 300),
    "machine twice as fast": twice_as_fast,
    "machine with a changed byte": changed_byte("machines/*/*/machine.npz"),
    "half of the cut with a changed byte": changed_byte("structures/*/*/cut_side.npy"),
    "structure edited": structure_edited,
    "half of the cut of another length": lambda place: np.save(
        place.one("structures/*/*/cut_side.npy"), np.zeros(2, bool)
    ),
}
"""What no point lacks; machines and structures are made again in silence: it takes milliseconds."""


@pytest.mark.parametrize(
    ("damage", "told", "lost"),
    [
        *(pytest.param(*one, True, id=name) for name, one in OF_POINTS.items()),
        *(pytest.param(one, 0, False, id=name) for name, one in OF_OTHERS.items()),
    ],
)
def test_what_was_damaged_is_told_and_made_again(
    place: Place,
    whole: tuple[Place, dict[str, pd.DataFrame]],
    capsys: pytest.CaptureFixture[str],
    damage: Damage,
    told: int,
    lost: bool,
) -> None:
    ids, study = {folder.name for folder in place.points}, str(place.folder / "two.yaml")
    mark = place.results / "two/simulate/caminos-all.stored"
    mark.parent.mkdir(parents=True)
    mark.touch()
    damage(place)
    for command in (["status", study], ["plan", study], *(["point", one, "--study", study] for one in ids)):
        assert cli.main([*command, "--results", str(place.results), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)
    # Snakemake runs the batch again, also where arrays alone have changed.
    assert forget_what_is_gone(place.pipeline, place.results) == ([mark] if lost else [])
    place.simulate()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == told and {line.partition(":")[0] for line in lines} <= ids
    for name, frame in place.tables().items():
        pd.testing.assert_frame_equal(frame, whole[1][name])
    store = Stores(place.results).points
    assert all(store.record(one) and store.damage(one) is None for one in ids)
    (machine,) = place.pipeline.plan.machines
    assert has_machine(place.results, machine) and has_structure(place.results, machine)


@pytest.mark.parametrize("damage", [pytest.param(one, id=name) for name, (one, _) in OF_POINTS.items()])
def test_tables_believe_nothing_that_was_damaged(
    place: Place, whole: tuple[Place, dict[str, pd.DataFrame]], damage: Damage
) -> None:
    """Also if it happens after the simulations, when the tables are made."""
    folders = place.points
    damage(place)
    tables = place.tables()
    for (_, row), folder in zip(tables["points"].sort_values("point_id").iterrows(), folders, strict=True):
        assert row["status"] == "done" or (row["status"] == "damaged" and str(folder) in row["reason"])
    done = tables["points"].query("status == 'done'")["point_id"]
    for name in ("points", "jobs", "links", "link_loads"):
        after, before = (frame[frame["point_id"].isin(done)] for frame in (tables[name], whole[1][name]))
        # Without a row a column has no type.
        pd.testing.assert_frame_equal(
            after.reset_index(drop=True), before.reset_index(drop=True), check_dtype=len(done) > 0
        )


def test_a_damaged_line_of_a_batch_is_a_row(place: Place) -> None:
    """The line is no longer known to be of the point."""
    (file, *_) = [one for one in place.results.glob("caminos-*.jsonl") if one.read_text()]
    first, *others = file.read_text().splitlines(keepends=True)
    file.write_text(first.replace('"runtime_ns": ', '"runtime_ns": 1') + "".join(others))
    points = place.tables()["points"]
    assert sorted(points["status"]) == ["damaged", "done"]
    assert f"{file}, line 1" in points.query("status == 'damaged'")["reason"].item()
