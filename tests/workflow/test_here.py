"""A study in one process makes what Snakemake makes, and each continues what the other began."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fabricstudy.cli import main
from fabricstudy.workflow.forecast import job_counts
from fabricstudy.workflow.pipeline import load_pipelines

from .conftest import FIGURE, TINY, Workplace, processes_of, wait_until

pytestmark = pytest.mark.slow


def run(place: Workplace, *arguments: str, code: int = 0) -> str:
    """Run ``fabricstudy run`` in the folder; give what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "fabricstudy.cli", "run", "tiny.yaml", *arguments],
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


def test_snakemakes_refusals_are_told_in_our_words(workplace: Workplace) -> None:
    assert "'--cores'" in (said := run(workplace, "--corse", "2", code=2)) and said.count("\n") == 1
    run(workplace, "--until", "plan")
    (workplace.folder / ".snakemake/locks").mkdir(exist_ok=True)
    (workplace.folder / ".snakemake/locks/0.output.lock").write_text("results/tiny/tables/points.csv\n")
    said = run(workplace, code=1)
    assert "--unlock" in said and "LockException" not in said and "profile" not in said
    run(workplace, "--unlock")
    assert not list((workplace.folder / ".snakemake/locks").glob("*"))


@pytest.mark.parametrize("more", [(), ("--here",)])
def test_an_interrupted_run_ends_with_all_its_processes_and_goes_on(
    after_run: Workplace, more: tuple[str, ...]
) -> None:
    workplace = after_run
    for name in ("points", "tiny/simulate"):
        shutil.rmtree(workplace.folder / "results" / name)
    workplace.stand_in("sleep 2")
    command = [sys.executable, "-m", "fabricstudy.cli", "run", "tiny.yaml", *more]
    running = subprocess.Popen(
        command,
        cwd=workplace.folder,
        env=workplace.environment,
        text=True,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    wait_until(workplace.point_records)
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130 and "Interrupted" in said and "FAILED" not in said and "Traceback" not in said
    assert not processes_of("simulate", workplace.folder)
    kept = len(workplace.point_records())
    assert 0 < kept < 8
    workplace.stand_in()
    started = workplace.started
    run(workplace, *more)
    assert workplace.started == started + 8 - kept


def test_run_shows_a_line_a_job_and_where_a_failed_one_wrote(workplace: Workplace) -> None:
    said = run(workplace)
    (pipeline,) = load_pipelines(str(workplace.folder / "tiny.yaml")).values()
    assert sum(job_counts(pipeline).values()) == 7
    assert len(re.findall(r"^\[\d+/\d+\] ", said, re.M)) == 7 and "Reason: " not in said
    assert said.rstrip().endswith("reports/tiny/index.html")
    assert run(workplace).rstrip().endswith("reports/tiny/index.html")  # with nothing to do
    (workplace.folder / "results/tiny/tables/points.csv").unlink()
    (workplace.folder / "results/tiny/structure/all.jsonl").write_text("{}")
    said = run(workplace, code=1)
    assert "logs/tiny/workload/all.log" in said
