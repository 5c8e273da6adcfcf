"""The jobs of all stages of a study, for one process: as jobs of Snakemake, they would mostly start Python."""

from collections.abc import Iterator
from pathlib import Path

from .jobs import StudyJobs
from .snakefile import REPORTS


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
    analyses = [f"{base}/tables/analysis-{analysis}.parquet" for analysis in jobs.analyses]
    for analysis, table in zip(jobs.analyses, analyses, strict=True):
        yield "analysis", ["--study", str(jobs.file), "--name", analysis, "--out", table]
    shards = [f"{base}/simulate/{batch}.jsonl" for batch in jobs.batches]
    links = [f"{base}/simulate/{batch}.links.parquet" for batch in jobs.batches]
    first = [f"{base}/simulate/{name}.jsonl" for name, batch in jobs.batches.items() if not batch.second_stage]
    needed = f"{base}/needed.json"
    for stage in (False, True):
        if stage and len(first) < len(shards):
            inputs = ["--structures", *structures, "--points", *first, "--analyses", *analyses]
            yield "needed", [*study, *inputs, "--out", needed]
        for (batch, job), shard, link in zip(jobs.batches.items(), shards, links, strict=True):
            if job.second_stage == stage:
                files = ["--needed", *([needed] * stage), "--results", "results", "--links", link, "--out", shard]
                yield "simulate", [*study, *machines, "--workloads", *workloads, "--name", batch, *files]
    schedules = [f"{base}/schedule/{runs}" for runs in jobs.schedules]
    for runs, stem in zip(jobs.schedules, schedules, strict=True):
        files = ["--jobs", f"{stem}.parquet", "--histories", f"{stem}.history.parquet", "--out", f"{stem}.jsonl"]
        points = ["--points", *shards, "--batch-cpu-s", str(batch_cpu_s)]
        yield "schedule", [*study, *points, "--name", runs, *files]
    yield "table", [
        *study, "--points", *shards, "--link-loads", *links, "--structures", *structures, "--analyses", *analyses,
        "--schedules", *(f"{stem}.jsonl" for stem in schedules), "--out", f"{base}/tables",
    ]  # fmt: skip
    drawn = [f"{base}/schedule/{runs}.history.parquet" for runs in jobs.report.schedules]
    yield "report", [
        *study, "--tables", f"{base}/tables", "--machines", *folders, "--workloads", *workloads,
        "--drawn", *drawn, "--out", str(base.parents[1] / REPORTS / base.name),
    ]  # fmt: skip
