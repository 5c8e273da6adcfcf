"""A study in one process makes what Snakemake makes, and each continues what the other began."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fabricstudy.cli import main

from .conftest import FIGURE, TINY, Workplace

pytestmark = pytest.mark.slow


def run(place: Workplace, *arguments: str, code: int = 0) -> str:
    """Run ``fabricstudy run`` in the folder; give what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "fabricstudy.cli", "run", *arguments, "tiny.yaml"],
        cwd=place.folder, env=place.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == code, done.stdout
    return done.stdout


def files(folder: Path) -> set[str]:
    """Files of results, reports and logs; the caches have names by content."""
    found = (path for name in ("results/tiny", "reports", "logs") for path in (folder / name).rglob("*"))
    return {str(path.relative_to(folder)) for path in found if path.name != ".snakemake_timestamp"}


def test_snakemake_continues_a_run_in_one_process(workplace: Workplace, finished: Path) -> None:
    workplace.write_study(TINY + FIGURE)
    run(workplace, "--here")
    assert workplace.started == 8
    made, expected = files(workplace.folder), files(finished)
    assert made | {"logs/tiny/plan.log"} == expected  # the plan needs no job
    assert main(["compare", str(finished), str(workplace.folder)]) == 0

    assert "Nothing to be done" in workplace.run()
    # Snakemake compares the digests that were recorded.
    workplace.write_study(TINY.replace("seeds: 2", "seeds: 3"))
    workplace.run("--until", "table")
    assert workplace.started == 12 and len(workplace.table("points").splitlines()) == 13


def test_one_process_continues_a_run_of_snakemake(after_run: Workplace) -> None:
    before = {path: (after_run.folder / path).stat().st_mtime_ns for path in files(after_run.folder)}
    run(after_run, "--here")
    assert {path: (after_run.folder / path).stat().st_mtime_ns for path in before} == before
    after_run.write_study(TINY + FIGURE)  # newer with equal content
    run(after_run, "--here")
    assert {path: (after_run.folder / path).stat().st_mtime_ns for path in before} == before
    after_run.write_study((TINY + FIGURE).replace("seeds: 2", "seeds: 3"))
    (after_run.folder / "results/tiny/structure/all.jsonl").unlink()
    run(after_run, "--here")
    assert after_run.started == 12 and len(after_run.table("points").splitlines()) == 13
    assert "Nothing to be done" in after_run.run()


def test_a_lock_of_snakemake_is_respected(workplace: Workplace) -> None:
    (workplace.folder / ".snakemake/locks").mkdir(parents=True)
    (workplace.folder / ".snakemake/locks/0.output.lock").write_text("results/tiny/plan.parquet")
    run(workplace, "--here", code=2)
    assert not (workplace.folder / "results").exists()


def test_run_shows_a_line_a_job_and_where_a_failed_one_wrote(workplace: Workplace) -> None:
    said = run(workplace)
    assert len(re.findall(r"^\[\d+/\d+\] ", said, re.M)) == 7 and "Reason: " not in said
    assert said.rstrip().endswith("reports/tiny/index.html")
    assert run(workplace).rstrip().endswith("reports/tiny/index.html")  # with nothing to do
    (workplace.folder / "results/tiny/tables/points.csv").unlink()
    (workplace.folder / "results/tiny/structure/all.jsonl").write_text("{}")
    said = run(workplace, code=1)
    assert "logs/tiny/workload/all.log" in said
