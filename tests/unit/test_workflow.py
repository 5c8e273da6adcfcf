"""What the Snakefile asks of us: settings, names of files, and what has gone from the stores."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake.settings.types import RerunTrigger

from fabricstudy.cli import main
from fabricstudy.core.errors import ConfigError, FabricstudyError
from fabricstudy.core.store import checksummed_line
from fabricstudy.engine.registry import engines
from fabricstudy.workflow.jobs import StudyJobs, load_studies, read_jobs, renew_plans, write_jobs
from fabricstudy.workflow.pipeline import load_pipelines
from fabricstudy.workflow.snakefile import (
    WILDCARDS,
    Inputs,
    check_cores,
    check_points,
    check_timestamps,
    check_triggers,
    lock_studies,
    settings,
    summary_lines,
    unlock,
)

STUDY = """\
study: small
machine: {kind: dragonfly, groups: 3, routers_per_group: 2, nodes_per_router: 2, bandwidth: 1 GB/s}
routing: {kind: minimal}
jobs: [{share: 1.0, pattern: {kind: all-to-all, message: 16 kB}}]
engine: analysis
sweep: {alpha: {of: machine.bandwidth.global, values: {1: 1 GB/s, 2: 2 GB/s}}}
"""


@pytest.mark.parametrize(
    ("config", "code", "path"),
    [
        ({"studie": "small.yaml"}, "unknown-key", "studie"),
        ({"study": None}, "missing-key", "study"),
        ({"study": ""}, "missing-key", "study"),
        ({"study": True}, "wrong-type", "study"),
        ({"batch_cpu_s": "abc"}, "wrong-type", "batch_cpu_s"),
        ({"batch_cpu_s": True}, "wrong-type", "batch_cpu_s"),
        ({"batch_cpu_s": 0}, "out-of-range", "batch_cpu_s"),
        ({"batch_cpu_s": -1}, "out-of-range", "batch_cpu_s"),
        ({"batch_cpu_s": float("nan")}, "wrong-type", "batch_cpu_s"),
        ({"batch_cpu_s": float("inf")}, "wrong-type", "batch_cpu_s"),
        ({"envmodules": 3}, "wrong-type", "envmodules"),
        ({"study": "mine", "machine": "mira", "title": "Mine"}, "usage", None),
    ],
)
def test_config_is_checked(config: dict[str, Any], code: str, path: str | None) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(config)
    assert (caught.value.code, caught.value.path) == (code, path)


def test_config_is_taken_as_it_is_written() -> None:
    found = settings({"study": 2024, "batch_cpu_s": 600, "envmodules": "codes/1", "container": "image.sif"})
    assert (found.study, found.batch_cpu_s, found.envmodules) == ("2024", 600, ("codes/1",))
    assert settings({}).study == "quick" and settings({"envmodules": ["a/1", "b/2"]}).envmodules == ("a/1", "b/2")


@pytest.mark.parametrize("engine", [*engines(), "booksim2", "ns-3"])
def test_file_names_of_any_engine_fit_the_rules(engine: str) -> None:
    assert re.fullmatch(WILDCARDS["batch"], f"{engine}-all") and re.fullmatch(WILDCARDS["batch"], f"{engine}-0110")


@pytest.mark.parametrize("cores", [0, -1])
def test_cores_on_which_nothing_runs_are_refused(cores: int) -> None:
    check_cores(None)
    check_cores(1)
    with pytest.raises(ConfigError) as caught:
        check_cores(cores)
    assert (caught.value.code, caught.value.path, caught.value.value) == ("out-of-range", "--cores", cores)


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, StudyJobs]:
    """A study of two machines, with one batch of two points, and all files that a run leaves."""
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(STUDY)
    studies = load_studies("small.yaml", 60.0)
    for name in Inputs(studies).reports("small"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    return studies


def test_progress_names_what_a_batch_simulates(study: dict[str, StudyJobs]) -> None:
    (jobs,) = study.values()
    inputs = Inputs(study)
    for stage, wildcard, names in (("simulate", "batch", jobs.batches), ("structure", "chunk", jobs.machines)):
        of_names = [SimpleNamespace(**{"study": "small", wildcard: name}) for name in names]
        assert list(map(inputs.number(stage, wildcard), of_names)) == list(range(1, len(names) + 1))
        assert {inputs.count(stage)(one) for one in of_names} == {len(names)}
    assert [batch.engine for batch in jobs.batches.values()] == [name.rpartition("-")[0] for name in jobs.batches]


def test_a_file_of_tomorrow_is_refused(study: dict[str, StudyJobs]) -> None:
    check_timestamps(study)
    for one in ("results/small/tables/jobs.parquet", "small.yaml"):
        os.utime(one, (time.time() + 86_400,) * 2)
        with pytest.raises(ConfigError) as caught:
            check_timestamps(study)
        assert caught.value.code == "file-unreadable" and caught.value.file == one
        os.utime(one)


def test_a_job_of_a_cluster_takes_its_jobs_from_the_plan_and_does_not_plan(study: dict[str, StudyJobs]) -> None:
    results = Path("results")
    (pipeline,) = load_pipelines("small.yaml").values()
    assert load_studies("small.yaml", 60.0, results) == study  # the plan is incomplete: made again
    write_jobs(pipeline, study["small"], results / "small")
    Path("small.yaml").write_text(STUDY.replace("2: 2 GB/s", "3: 3 GB/s"))
    assert load_studies("small.yaml", 60.0, results) == study
    assert load_studies("small.yaml", 60.0) != study


def test_a_plan_is_rewritten_where_it_is_that_of_another_state_and_keeps_its_date(study: dict[str, StudyJobs]) -> None:
    results, plan = Path("results"), Path("results/small/plan.parquet")
    (pipeline,) = load_pipelines("small.yaml").values()
    write_jobs(pipeline, study["small"], results / "small")
    written, date = plan.read_bytes(), plan.stat().st_mtime_ns
    renew_plans(study, 60.0, results)
    assert plan.read_bytes() == written
    Path("small.yaml").write_text(STUDY.replace("2: 2 GB/s", "3: 3 GB/s"))
    changed = load_studies("small.yaml", 60.0)
    renew_plans(changed, 60.0, results)
    assert plan.read_bytes() != written and plan.stat().st_mtime_ns == date
    # So is one that this version cannot read; where there is none its rule makes it.
    (results / "small/workflow.json").write_text("{}")
    renew_plans(changed, 60.0, results)
    assert read_jobs(results / "small") == changed["small"] and plan.stat().st_mtime_ns == date
    (results / "small/workflow.json").unlink()
    renew_plans(changed, 60.0, results)
    assert not (results / "small/workflow.json").exists()


def test_only_reports_that_are_there_are_told(study: dict[str, StudyJobs]) -> None:
    assert summary_lines(study, time.time())[1:] == ["The report: reports/small/index.html"]
    Path("reports/small/index.html").unlink()
    assert len(summary_lines(study, time.time())) == 1


def test_a_run_tells_how_many_points_are_new(study: dict[str, StudyJobs]) -> None:
    now = time.time()
    records = [("done", now - 60), ("done", now), ("unsupported", now + 9), ("timeout", now - 1e6), ("skipped", now)]
    lines = [
        checksummed_line(
            {
                "point_id": f"p{number}",
                "started": datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds"),
                "reason": '"status": "x"',
                "status": status,
                "engine": "sst",
            }
        )
        for number, (status, at) in enumerate(records)
    ]
    shard = Path("results/small/simulate/analysis-all.jsonl")
    shard.write_text("".join(f"{line}\n" for line in lines))
    # The study has two points: five records let one shard show every status.
    told = "small: 2 of 2 points done, 1 timeout, 1 unsupported, 1 skipped (2 new, 2 cached)"
    allowed = {"small": study["small"].model_copy(update={"allow_failed_points": True})}
    skipped = 'small: 1 point skipped without sst: "status": "x"'
    assert summary_lines(study, now) == [told, skipped, "The report: reports/small/index.html"]
    check_points(allowed)
    # Each simulation is counted once, by the first of the studies that share its point.
    shutil.copytree("results/small", "results/its-twin")
    again = told.replace("small", "its-twin").replace("(2 new, 2 cached)", "(0 new, 4 cached)")
    twins = {**study, "its-twin": study["small"]}
    assert summary_lines(twins, now)[:4:2] == [told, again]
    shard.unlink()
    check_points(study)
    assert summary_lines(study, now)[0] == "small: 0 of 2 points done (0 new, 0 cached)"


@pytest.mark.parametrize(("statuses", "ran"), [
    (["skipped"], False), (["skipped", "unsupported"], False), (["skipped", "done"], True),
    (["unsupported", "done"], True), ([], True),
])  # fmt: skip
def test_a_study_of_which_nothing_could_be_simulated_is_an_error(
    study: dict[str, StudyJobs], statuses: list[str], ran: bool
) -> None:
    shard = Path("results/small/simulate/analysis-all.jsonl")
    shard.write_text("".join(record_line(name) for name in statuses))
    if ran:
        return check_points(study)
    with pytest.raises(FabricstudyError) as refusal:
        check_points(study)
    assert refusal.value.code == "engine-missing"


def record_line(status: str) -> str:
    record = {"point_id": "p0", "status": status, "engine": "sst", "reason": "x", "started": "2026-01-01T00:00:00"}
    return checksummed_line(record) + "\n"


@pytest.mark.parametrize("status", ["failed", "timeout", "out-of-memory", "damaged"])
def test_a_run_with_points_that_failed_is_an_error_unless_the_study_allows_it(
    study: dict[str, StudyJobs], status: str
) -> None:
    shard = Path("results/small/simulate/analysis-all.jsonl")
    line = record_line("done").replace("done", "dome") if status == "damaged" else record_line(status)
    shard.write_text(record_line("done") + line)
    with pytest.raises(FabricstudyError) as refusal:
        check_points(study)
    assert refusal.value.code == "points-failed"
    check_points({"small": study["small"].model_copy(update={"allow_failed_points": True})})
    assert f", 1 {status} " in summary_lines(study, time.time() + 60)[0]


def test_reasons_to_make_a_file_again_are_not_left_out() -> None:
    check_triggers(RerunTrigger.all())
    for left_out in (RerunTrigger.MTIME, RerunTrigger.PARAMS, RerunTrigger.INPUT):
        with pytest.raises(ConfigError) as caught:
            check_triggers(RerunTrigger.all() - {left_out})
        assert (caught.value.code, caught.value.path) == ("usage", "--rerun-triggers")


def test_two_runs_of_a_study_do_not_work_in_one_folder(study: dict[str, StudyJobs]) -> None:
    """Locks end with their process, so that a killed run leaves none."""
    locked = lock_studies(study)
    code = "from fabricstudy.workflow.snakefile import lock_studies; lock_studies(['{}'])"
    ended = [subprocess.run([sys.executable, "-c", code.format(name)]).returncode for name in ("small", "other")]
    assert ended == [1, 0]
    with pytest.raises(FabricstudyError):
        lock_studies(study)
    unlock(locked)
    unlock(lock_studies(study))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stage_that_is_asked_to_end_does_so_without_a_traceback(number: int) -> None:
    ask = f"os.kill(os.getpid(), {int(number)})"
    code = f"import os; from fabricstudy.workflow import stages; stages._end_when_asked(); {ask}"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (128 + number, "")


def test_a_forecast_has_every_stage_and_counts_what_it_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stages are those of the jobs; placing on a busy machine, analyses and figures cost more."""
    monkeypatch.chdir(tmp_path)
    runtime = "{median: 1 h, longest: 8 h}"
    trace = f"{{kind: synthetic, jobs: 50000, span: 10 days, sizes: {{1: 1}}, runtime: {runtime}}}"
    slurm = STUDY.replace("kB}}]", f"kB}}, allocation: {{kind: slurm, trace: {trace}}}}}]")
    analysis = STUDY + "analyses: {a: {kind: candidates, nodes: 60, radix: 12, families: [xgft]}}\n"
    machine, sweep = STUDY.splitlines()[1], STUDY.splitlines()[-1]
    torus, shuffled = (
        STUDY.replace(machine, f"machine: {{{kind}, bandwidth: 1 GB/s}}").replace(sweep, "")
        for kind in (
            "kind: torus, shape: [64, 64, 2]",
            "kind: jellyfish, routers: 8192, degree: 6, nodes_per_router: 1",
        )
    )
    studies = {"plain": STUDY, "slurm": slurm, "analysis": analysis, "torus": torus, "shuffled": shuffled}
    stages: dict[str, dict[str, float]] = {}
    for name, text in studies.items():
        Path("small.yaml").write_text(text)
        assert main(["plan", "small.yaml", "--json"]) == 0
        stages[name] = json.loads(capsys.readouterr().out)["stages_cpu_s"]
        jobs = load_studies("small.yaml", 60)["small"]
        assert jobs.forecast_s.keys() == stages[name].keys() | {"small_small"} and min(jobs.forecast_s.values()) > 0
        rules = {"plan", "machine", "structure", "workload", "simulate", "table", "report"}
        assert stages[name].keys() - {"analysis"} == rules and ("analysis" in stages[name]) == (name == "analysis")
    assert stages["slurm"]["workload"] > 5 * stages["plain"]["workload"]
    assert stages["slurm"]["machine"] == stages["plain"]["machine"]
    # Distances of a grid are sums over its dimensions; elsewhere they are searched.
    assert stages["torus"]["structure"] < 2 * stages["plain"]["structure"] < stages["shuffled"]["structure"]
