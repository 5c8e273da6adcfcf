"""``fabricstudy run``: refusals, interrupts, and what it prints."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

from fabricstudy.workflow.forecast import job_counts
from fabricstudy.workflow.pipeline import load_pipelines

from .conftest import Workplace, processes_of, wait_until

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "fabricstudy.cli", "run", "tiny.yaml"]
EACH = ("--config", "small_cpu_s=0")
"""With a job for each stage."""


def run(place: Workplace, *arguments: str, code: int = 0) -> str:
    """Run ``fabricstudy run`` in the folder; give what it printed."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=place.folder, env=place.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == code, done.stdout
    return done.stdout


def test_snakemakes_refusals_are_told_in_our_words(workplace: Workplace) -> None:
    assert "'--cores'" in (said := run(workplace, "--corse", "2", code=2)) and said.count("\n") == 1
    run(workplace, "--until", "plan", *EACH)
    (workplace.folder / ".snakemake/locks").mkdir(exist_ok=True)
    (workplace.folder / ".snakemake/locks/0.output.lock").write_text("results/tiny/tables/points.csv\n")
    said = run(workplace, code=1)
    assert "--unlock" in said and "LockException" not in said and "profile" not in said
    run(workplace, "--unlock")
    assert not list((workplace.folder / ".snakemake/locks").glob("*"))


@pytest.mark.parametrize("more", [(), EACH])
def test_an_interrupted_run_ends_with_all_its_processes_and_goes_on(
    after_run: Workplace, more: tuple[str, ...]
) -> None:
    workplace = after_run
    for name in ("points", "tiny/simulate"):
        shutil.rmtree(workplace.folder / "results" / name)
    workplace.stand_in("sleep 2")
    command = [*COMMAND, *more]
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
    assert not [*processes_of("simulate", workplace.folder), *processes_of("small", workplace.folder)]
    kept = len(workplace.point_records())
    assert 0 < kept < 8
    workplace.stand_in()
    started = workplace.started
    run(workplace, *more)
    assert workplace.started == started + 8 - kept


def test_run_shows_a_line_a_job_and_where_a_failed_one_wrote(workplace: Workplace) -> None:
    said = run(workplace, *EACH)
    (pipeline,) = load_pipelines(str(workplace.folder / "tiny.yaml")).values()
    assert sum(job_counts(pipeline).values()) == 7
    assert len(re.findall(r"^\[\d+/\d+\] ", said, re.M)) == 7 and "Reason: " not in said
    assert said.rstrip().endswith("reports/tiny/index.html")
    assert run(workplace, *EACH).rstrip().endswith("reports/tiny/index.html")  # with nothing to do
    (workplace.folder / "results/tiny/tables/points.csv").unlink()
    (workplace.folder / "results/tiny/structure/all.jsonl").write_text("{}")
    said = run(workplace, *EACH, code=1)
    assert "logs/tiny/workload/all.log" in said


def test_two_runs_in_one_folder_do_the_work_once(workplace: Workplace) -> None:
    """The second one says that it may not, and claims no point."""
    workplace.stand_in("sleep 1")
    with subprocess.Popen(
        COMMAND, cwd=workplace.folder, env=workplace.environment, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as first:  # fmt: skip
        wait_until(workplace.point_records)
        said = run(workplace, code=1)
        assert "new" not in said and "tiny: 8 of 8" not in said and said.strip()
        told, _ = first.communicate(timeout=120)
    assert first.returncode == 0 and "8 of 8 points done (8 new" in told
    assert workplace.started == 8


def test_a_small_study_is_one_job_that_continues_a_run_with_a_job_for_each(after_run: Workplace) -> None:
    said = run(after_run, "--dry-run")
    assert "small_tiny" in said and "simulate" not in said.replace("simulate/", "")
    assert run(after_run).rstrip().endswith("reports/tiny/index.html")
    assert after_run.started == 8
    assert "[1/1]" not in run(after_run)
