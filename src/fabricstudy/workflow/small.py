"""All stages of a small study in one process: as jobs of their own, they would mostly start Python."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path

from fabricstudy.core.errors import FabricstudyError

from .jobs import StudyJobs, jobs_of, load_studies, read_jobs, write_jobs
from .pipeline import BATCH_CPU_S, load_pipelines
from .snakefile import REPORTS, RESULTS, Inputs, lock_studies, unlock

_MODULES = {"table": "fabricstudy.table.__main__", "report": "fabricstudy.report.__main__"}


def make_study(args: argparse.Namespace) -> None:
    """Do all stages of a small study in one process."""
    (pipeline,) = load_pipelines(str(args.study), batch_cpu_s=args.batch_cpu_s).values()
    jobs = jobs_of(pipeline)
    write_jobs(pipeline, jobs, args.out)
    for stage, arguments in commands(jobs, args.batch_cpu_s, args.out):
        run_stage(stage, arguments)


def make_tables_and_report(name: str) -> None:
    """Make the tables and the report of a study that has run. Raises FabricstudyError if it has not."""
    ((study, jobs),) = load_studies(name, BATCH_CPU_S).items()
    known = read_jobs(RESULTS / study)
    inputs = Inputs({study: jobs})
    needed = [*inputs.machines(study), *inputs.workloads(study), *inputs.simulations(study)]
    missing = [RESULTS / study] if known is None else [path for path in needed if not Path(path).exists()]
    if known is not None and known.identity != jobs.identity:
        problem = f"{RESULTS / study}: the results are those of another study '{study}', or before a change of it"
        raise FabricstudyError(f"{problem}; run this study first", "study-changed")
    if missing:
        raise FabricstudyError(f"{missing[0]}: not there, the study is not done; run it first", "file-not-found")
    locked = lock_studies([study])
    try:
        for stage, arguments in commands(jobs, BATCH_CPU_S, RESULTS / study):
            if stage in _MODULES:
                with redirect_stdout(sys.stderr):
                    run_stage(stage, arguments)
    finally:
        unlock(locked)


def run_stage(stage: str, arguments: list[str]) -> None:
    """Do one job of a stage, as its rule does."""
    module = _MODULES.get(stage)
    main = import_module(module or "fabricstudy.workflow.stages").main
    main(arguments if module else [stage, *arguments])


def commands(jobs: StudyJobs, batch_cpu_s: float, base: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield stage and arguments of each job of a study after its plan, in an order in which they can run.

    `base` is the folder of its results.
    """
    study = ["--study", str(jobs.file), "--plan", str(base)]
    folders = [f"{base}/machine/{chunk}" for chunk in jobs.machines]
    structures = [f"{base}/structure/{chunk}.jsonl" for chunk in jobs.machines]
    workloads = [f"{base}/workload/{chunk}.parquet" for chunk in jobs.workloads]
    for folder, structure, machine in zip(folders, structures, jobs.machines.values(), strict=True):
        ids = ["--ids", *machine.machines]
        yield "machine", [*study, *ids, "--out", folder]
        yield "structure", [*study, *ids, "--machines", folder, "--results", "results", "--out", structure]
    machines = ["--machines", *folders, "--structures", *structures]
    for chunk, workload in zip(jobs.workloads, workloads, strict=True):
        yield "workload", [*study, *machines, "--name", chunk, "--out", workload]
    shards = [f"{base}/simulate/{batch}.jsonl" for batch in jobs.batches]
    links = [f"{base}/simulate/{batch}.links.parquet" for batch in jobs.batches]
    first = [f"{base}/simulate/{name}.jsonl" for name, batch in jobs.batches.items() if not batch.second_stage]
    needed = f"{base}/needed.json"
    for stage in (False, True):
        if stage and len(first) < len(shards):
            yield "needed", [*study, "--structures", *structures, "--points", *first, "--out", needed]
        for (batch, job), shard, link in zip(jobs.batches.items(), shards, links, strict=True):
            if job.second_stage == stage:
                files = ["--needed", *([needed] * stage), "--results", "results", "--links", link, "--out", shard]
                yield "simulate", [*study, *machines, "--workloads", *workloads, "--name", batch, *files]
    schedules = [f"{base}/schedule/{runs}" for runs in jobs.schedules]
    for runs, stem in zip(jobs.schedules, schedules, strict=True):
        files = ["--jobs", f"{stem}.parquet", "--histories", f"{stem}.history.parquet", "--out", f"{stem}.jsonl"]
        points = ["--points", *shards, "--batch-cpu-s", str(batch_cpu_s)]
        yield "schedule", [*study, *points, "--name", runs, *files]
    analyses = [f"{base}/tables/analysis-{analysis}.parquet" for analysis in jobs.analyses]
    for analysis, table in zip(jobs.analyses, analyses, strict=True):
        yield "analysis", ["--study", str(jobs.file), "--name", analysis, "--out", table]
    yield "table", [
        *study, "--shards", *shards, "--links", *links, "--structures", *structures, "--analyses", *analyses,
        "--schedules", *(f"{stem}.jsonl" for stem in schedules), "--out", f"{base}/tables",
    ]  # fmt: skip
    drawn = [f"{base}/schedule/{runs}.history.parquet" for runs in jobs.report.schedules]
    yield "report", [
        *study, "--tables", f"{base}/tables", "--machines", *folders, "--workloads", *workloads,
        "--histories", *drawn, "--out", str(base.parents[1] / REPORTS / base.name),
    ]  # fmt: skip
