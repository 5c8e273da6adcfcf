"""No cached result is stale, and none is thrown away that still holds.

Each test changes one file in a copy of the project, or of a study that was finished before. Then the study is run
again as the workflow does it, and once more in an empty folder: the tables of both have to be the same.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from _pytest.mark import ParameterSet

from fabricstudy.engine.registry import engine_named

from .table import ALL, BESIDE, CAMINOS, FLOW, MUTATIONS, PACKET, Mutation

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
STUDY = Path(__file__).with_name("study")

OF_RUN = ["cpu_s", "wall_s", "overhead_cpu_s", "memory_bytes", "host", "started"]
"""Columns that differ from run to run."""


@dataclass(frozen=True)
class Workshop:
    """A copy of our code, a finished run of the study, and the process that runs it again."""

    folder: Path
    forks: subprocess.Popen[str]

    @property
    def package(self) -> Path:
        """The copy of our code."""
        return self.folder / "src" / "fabricstudy"

    @property
    def finished(self) -> Path:
        """Folder of the study, run with the code as it is."""
        return self.folder / "finished"

    def ask(self, **asked: object) -> dict[str, Any]:
        """Have the study run; see `tests.mutations.forks.answer`."""
        assert self.forks.stdin is not None and self.forks.stdout is not None
        paths = {name: str(value) if isinstance(value, Path) else value for name, value in asked.items()}
        print(json.dumps(paths), file=self.forks.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self.forks.stdout.readline())
        for part in (answer, answer.get("again") or {}, answer.get("fresh") or {}):
            assert "error" not in part, part["error"]
        print(f"{answer['cpu_s']:.2f} s of processor time")
        return answer

    @contextlib.contextmanager
    def with_change(self, mutation: Mutation, *studies: Path) -> Iterator[None]:
        """Change a file of ours, and put it back with its date, by which numba and Python know it; or of studies."""
        if mutation.file.startswith(BESIDE):
            for study in studies:
                _change(study / mutation.file, mutation)
            yield
            return
        path = self.package / mutation.file
        text, stat = path.read_text(), path.stat()
        try:
            _change(path, mutation)
            yield
        finally:
            path.write_text(text)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def _change(path: Path, mutation: Mutation) -> None:
    text = path.read_text()
    assert text.count(mutation.old) == 1, f"{mutation.file} does not have this once: {mutation.old}"
    path.write_text(text.replace(mutation.old, mutation.new))


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    """Copy the project, run the study, and wait for work."""
    for engine in (CAMINOS, FLOW, PACKET):
        probe = engine_named(engine).probe()
        if not probe.found:
            pytest.skip(f"{engine}: {probe.reason}")
    folder = tmp_path_factory.mktemp("mutations")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("*.egg-info"))
    for name in ("engines", "workflow", "envs"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(STUDY, folder / "finished")
    command = [sys.executable, "-m", "tests.mutations.forks"]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as forks:
        place = Workshop(folder, forks)
        assert set(place.ask(empty=place.finished, writes=True)["fresh"]["due"]) == set(ALL)
        yield place
        assert forks.stdin is not None
        forks.stdin.close()


def tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Read all tables of the study, without what differs from run to run."""
    paths = sorted((folder / "results/small/tables").glob("*.parquet"))
    return {path.stem: pd.read_parquet(path).drop(columns=OF_RUN, errors="ignore") for path in paths}


def differing(one: Path, other: Path) -> dict[str, list[str]]:
    """Return the columns of each table that differ between two runs of the study."""
    ours, theirs = tables(one), tables(other)
    found = {name: ["the whole table"] for name in ours.keys() ^ theirs.keys()}
    for name in ours.keys() & theirs.keys():
        left, right = ours[name], theirs[name]
        if list(left) != list(right) or len(left) != len(right):
            found[name] = ["rows or columns"]
        elif not left.equals(right):
            found[name] = [str(column) for column in left if not left[column].equals(right[column])]
    return found


def records(folder: Path) -> dict[str, dict[str, Any]]:
    """Read the records of all points."""
    paths = (folder / "results/points").glob("*/*/record.json")
    return {path.parent.name: json.loads(path.read_text()) for path in paths}


def simulated_in_vain(before: Path, after: Path, reads: tuple[str, ...]) -> list[str]:
    """Return the points that were simulated again though their simulator got the same as before.

    Those of engines whose reader has changed do not count, nor what we compute ourselves.
    """
    old, new = records(before), records(after)
    return [
        f"{name} on {new[name]['engine']}"
        for name in sorted(old.keys() & new.keys())
        if new[name]["engine"] not in (*reads, "analysis")
        # The time that it took tells one simulation from another.
        and new[name]["overhead_cpu_s"] != old[name]["overhead_cpu_s"]
        and all(new[name].get(part) == old[name].get(part) for part in ("input", "runs"))
    ]


@pytest.fixture
def copies(workshop: Workshop, tmp_path: Path) -> tuple[Path, Path]:
    """A copy of the finished run, and a folder with the study alone."""
    again, fresh = tmp_path / "again", tmp_path / "fresh"
    shutil.copytree(workshop.finished, again)
    shutil.copytree(STUDY, fresh)
    return again, fresh


def parameters(is_run: bool) -> list[ParameterSet]:
    """Return the mutations with which the study is run, or those of which digests are compared."""
    return [pytest.param(one, id=one.name) for one in MUTATIONS if (one.due is None) == is_run]


def test_all_points_of_the_study_are_simulated(workshop: Workshop) -> None:
    """So that a mutation can change their numbers."""
    found = records(workshop.finished).values()
    assert {record["status"] for record in found} == {"done"}
    assert {record["engine"] for record in found} == {CAMINOS, FLOW, PACKET, "analysis"}
    assert any("simulated" in record["sharing"] for record in found)


def test_without_a_change_nothing_is_done_again(workshop: Workshop, copies: tuple[Path, Path]) -> None:
    again, fresh = copies
    assert workshop.ask(finished=again)["again"]["due"] == []
    workshop.ask(empty=fresh)
    assert differing(workshop.finished, fresh) == {}


@pytest.mark.parametrize("mutation", parameters(is_run=True))
def test_what_was_stored_is_what_would_be_computed(
    mutation: Mutation, workshop: Workshop, copies: tuple[Path, Path]
) -> None:
    again, fresh = copies
    with workshop.with_change(mutation, again, fresh):
        answer = workshop.ask(finished=again, empty=fresh, module=mutation.module)
    if answer["fresh"] is None:
        assert not mutation.numbers and not answer["again"]["due"]
        return
    assert differing(again, fresh) == {}, f"stale; done again: {answer['again']['due']}"
    assert simulated_in_vain(workshop.finished, again, mutation.reads) == []
    assert bool(differing(workshop.finished, fresh)) >= mutation.numbers, "the mutation changes no number"


@pytest.fixture(scope="module")
def due(workshop: Workshop) -> dict[str, set[str]]:
    """Rules of which a job is due after each mutation that is not run."""
    known = [one for one in MUTATIONS if one.due is not None]
    for one in known:
        assert (workshop.package / one.file).read_text().count(one.old) == 1, f"{one.file} has not once: {one.old}"
    changes = [(str(workshop.package / one.file), one.old, one.new) for one in known]
    answer = workshop.ask(finished=workshop.finished, changes=changes)
    return {one.name: set(rules) for one, rules in zip(known, answer["due"], strict=True)}


@pytest.mark.parametrize("mutation", parameters(is_run=False))
def test_what_has_to_be_done_again(mutation: Mutation, due: dict[str, set[str]]) -> None:
    assert due[mutation.name] == set(mutation.due or ())


def test_each_package_has_a_mutation() -> None:
    packages = {path.parent for path in (ROOT / "src/fabricstudy").rglob("__init__.py")}
    mutated = {(ROOT / "src/fabricstudy" / one.file).parent for one in MUTATIONS if not one.file.startswith(BESIDE)}
    assert sorted(str(path.relative_to(ROOT)) for path in packages - mutated) == []
