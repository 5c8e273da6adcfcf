"""The artifact of a paper: packed, unpacked in a fresh folder, run again from what is in it, and compared."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from fabricstudy import cli
from fabricstudy.table.files import write_table
from tests.schedules import SCHEDULE

from .conftest import BIN, FIGURE, ROOT, TINY, Workplace, keep_compiled, processes_of, unpack, wait_until

# One process packs, unpacks and runs it for all of these tests.
pytestmark = pytest.mark.slow

STRANGE = """deep folder/$(touch pwned) it's a"b;touch pwned.yaml"""
"""A name that no shell and no Makefile could do with."""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory, caminos: str) -> Path:
    """Folder of an artifact that was unpacked, and run again in its subfolder ``rerun`` as its Makefile does."""
    workplace = Workplace(tmp_path_factory.mktemp("here"), caminos)
    workplace.write_study(TINY + FIGURE + yaml.safe_dump({"schedules": {"queue": SCHEDULE}}), STRANGE)
    kill_while_scheduling(workplace)
    workplace.run("artifact", "--cores", "1", "--profile", str(ROOT / "profiles/shared"), study=STRANGE)
    assert not list(workplace.folder.rglob("pwned"))
    there = tmp_path_factory.mktemp("there")
    with tarfile.open(workplace.folder / "artifact/tiny.tar.gz") as archive:
        unpack(archive, there)
    folder = there / "tiny-artifact"
    keep_compiled(folder / "code/src/fabricstudy")
    reproduce(folder, caminos)
    return folder


def kill_while_scheduling(workplace: Workplace) -> None:
    """Start a run and kill it, Snakemake first, while it does the runs of a schedule."""
    snakemake = workplace.start("artifact", "--cores", "1", study=STRANGE)
    wait_until(lambda: processes_of("schedule", workplace.folder))
    snakemake.kill()
    snakemake.wait()
    for pid in processes_of("schedule", workplace.folder):
        os.kill(pid, signal.SIGKILL)
    assert not list((workplace.folder / "results/tiny/schedule").glob("*.jsonl"))


def reproduce(folder: Path, caminos: str) -> None:
    """Do what ``make reproduce`` does, with the environment of this test in place of a new one."""
    said = make(folder, "--dry-run", "reproduce")
    (command,) = (line for line in said.splitlines() if "snakemake" in line)
    environment = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}", PYTHONPATH=str(folder / "code/src"))
    environment["FABRICSTUDY_CAMINOS"] = caminos
    (folder / "rerun").mkdir()
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def make(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["make", "--no-print-directory", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def compare(folder: Path, *arguments: str, new: str = "rerun") -> subprocess.CompletedProcess[str]:
    """Do what ``make compare`` does, with the code of the artifact."""
    environment = dict(os.environ, PYTHONPATH=str(folder / "code/src"))
    command = [sys.executable, "-m", "fabricstudy.cli", "compare", ".", new, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_what_was_run_again_agrees_value_by_value(unpacked: Path) -> None:
    done = compare(unpacked, "--csv", "values.csv")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "They agree" in done.stdout and "in both" in done.stdout and " c1 " in done.stdout
    values = pd.read_csv(unpacked / "values.csv")
    runtimes = values[values["column"] == "runtime_ns"]
    assert len(runtimes) == 8 and (runtimes["old"] == runtimes["new"]).all() and values["agrees"].all()
    # It was simulated again, not copied.
    started = [
        pd.read_parquet(unpacked / place / "results/tiny/tables/points.parquet")["started"] for place in (".", "rerun")
    ]
    assert started[0].max() < started[1].min()


def test_another_folder_gives_equal_tables(unpacked: Path, finished: Path) -> None:
    """Run on one core, under another name of the file."""
    for name in ("jobs", "links", "machines", "claims", "interference"):
        one, other = (folder / f"results/tiny/tables/{name}.csv" for folder in (unpacked, finished))
        assert one.read_text() == other.read_text()


def test_schedules_are_packed_and_come_out_the_same_after_a_kill_and_elsewhere(unpacked: Path) -> None:
    """The first run was killed while it did them, the second was not."""
    listed = (unpacked / "SHA256SUMS").read_text()
    for name, rows in ("size_classes", 2), ("scheduled_jobs", 50):
        path = f"results/tiny/tables/{name}.parquet"
        assert f"  {path}\n" in listed
        one, other = (pd.read_parquet(unpacked / place / path) for place in (".", "rerun"))
        assert len(one) == rows
        pd.testing.assert_frame_equal(one, other)


def test_an_altered_value_is_found_and_named(
    unpacked: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With our own code: that the artifact's works is seen in the others."""
    monkeypatch.chdir(unpacked)
    tables = unpacked / "rerun/results/tiny/tables"
    jobs = pd.read_parquet(tables / "jobs.parquet")
    kept = jobs.copy()
    jobs["runtime_ns"] += np.where(jobs.index == 3, 1, 0)
    write_table(jobs, tables / "jobs.parquet", as_text=False)
    try:
        assert cli.main(["compare", ".", "rerun"]) == 1
        said = capsys.readouterr().out
        assert "They do not agree: 1 of" in said
        assert "jobs.runtime_ns at main, alpha 1, routing valiant, seed 2, engine caminos" in said
        assert f"{kept['runtime_ns'][3]} -> {jobs['runtime_ns'][3]}" in said
        cli.main(["compare", ".", "rerun", "--json"])
        found = json.loads(capsys.readouterr().out)
        assert [value["column"] for value in found["tables"]["jobs"]["differing"]] == ["runtime_ns"]
    finally:
        write_table(kept, tables / "jobs.parquet", as_text=False)


def test_a_tampered_file_is_found(unpacked: Path) -> None:
    assert "as they were packed" in make(unpacked, "check")
    path = unpacked / "results/tiny/tables/jobs.csv"
    kept = path.read_bytes()
    path.write_bytes(kept.replace(b"1", b"2", 1))
    try:
        done = compare(unpacked)
        assert done.returncode == 1
        assert done.stderr == (f"fabricstudy: {path}: not as packed (SHA-256 differs); unpack the archive again\n")
        assert subprocess.run(["make", "check"], cwd=unpacked, capture_output=True).returncode != 0
    finally:
        path.write_bytes(kept)


def test_the_archive_is_complete(unpacked: Path) -> None:
    listed = {line.split("  ", 1)[1] for line in (unpacked / "SHA256SUMS").read_text().splitlines()}
    for path in (
        *("README.md", "APPENDIX.md", "Makefile", "ro-crate-metadata.json", "study/tiny.yaml"),
        *("code/Snakefile", "code/requirements.lock", "code/engines/caminos/Cargo.lock", "code/Makefile"),
        *("reports/tiny/index.html", "reports/tiny/figures/time.svg", "reports/tiny/figures/time.pdf"),
        *("results/tiny/tables/points.parquet", "results/tiny/tables/points.csv", "benchmarks/tiny/table.jsonl"),
    ):
        assert path in listed and (unpacked / path).is_file(), path
    records = [
        json.loads(line)
        for shard in (unpacked / "results/tiny/simulate").glob("*.jsonl")
        for line in shard.read_text().splitlines()
    ]
    points = pd.read_parquet(unpacked / "results/tiny/tables/points.parquet")
    assert {record["point_id"] for record in records} == set(points["point_id"])
    assert not list(unpacked.rglob("pwned"))


def test_nothing_tells_where_it_was_made(unpacked: Path) -> None:
    """No file that was packed holds a folder of those in which tests run."""
    packed = [unpacked / line.split("  ", 1)[1] for line in (unpacked / "SHA256SUMS").read_text().splitlines()]
    above = str(unpacked.parents[1]).encode()
    assert len(packed) > 300 and not [path for path in packed if above in path.read_bytes()]


def test_the_appendix_states_what_was_measured(unpacked: Path) -> None:
    text = (unpacked / "APPENDIX.md").read_text()
    claims = pd.read_parquet(unpacked / "results/tiny/tables/claims.parquet")
    assert f"| at most 1 | at most 1 | {claims['measured'][0]:.4g} " in text
    assert f" | {claims['verdict'][0]} |" in text
    assert "`time`: Time against ratio" in text and "| T3 simulate | places jobs, simulates 8 points" in text
    (version,) = pd.read_parquet(unpacked / "results/tiny/tables/points.parquet")["version"].unique()
    assert f"| engine caminos | {version} |" in text
