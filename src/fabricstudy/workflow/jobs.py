"""The jobs of the workflow as the Snakefile sees them: names, inputs, digests and resources, without the plan."""

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import BaseModel

from fabricstudy.core.files import atomic_text
from fabricstudy.study.file import parse_study_name, study_files
from fabricstudy.study.plan_file import PLAN_FILES, write_plan

from .forecast import job_cpu_s, work_cpu_s
from .pipeline import Pipeline, find_study, load_pipelines

FILE = "workflow.json"


class MachineJob(BaseModel):
    """Definition and structure of some machines."""

    machines: list[str]
    digest: str
    structure: str


class WorkloadJob(BaseModel):
    """Placement of some workloads on the machines of some chunks."""

    digest: str
    machines: list[str]


class SimulateJob(BaseModel):
    """Simulation of a batch, with the chunks that define its machines and workloads."""

    digest: str
    machines: list[str]
    workloads: list[str]
    processes: int
    attempts_MB: list[int]
    time_min: int
    cpu_s: float
    second_stage: bool = False
    engine: str = ""

    @property
    def priority(self) -> float:
        """Priority in Snakemake: the batch that takes longest first, and all after the jobs of other rules (0)."""
        return -1 / (1 + self.cpu_s)

    def memory_MB(self, attempt: int) -> int:
        """Return the memory to request; further attempts request that of the last one."""
        return self.attempts_MB[min(attempt, len(self.attempts_MB)) - 1]


class ScheduleJob(BaseModel):
    """Runs of a schedule, with the batches whose times determine the slowdown of their jobs."""

    digest: str
    batches: list[str]


class ReportJob(BaseModel):
    """The report, with the chunks of the workloads and runs that figures draw."""

    digest: str
    workloads: list[str]
    schedules: list[str]


class StudyJobs(BaseModel):
    """All jobs of a study, by the names of their files; texts are digests."""

    file: Path
    files: list[Path]
    """The files that the study names."""
    plan: str
    machines: dict[str, MachineJob]
    workloads: dict[str, WorkloadJob]
    batches: dict[str, SimulateJob]
    schedules: dict[str, ScheduleJob]
    analyses: dict[str, str]
    table: str
    report: ReportJob
    points: int
    point_ids: str
    identity: str
    allow_failed_points: bool
    extensions: str
    forecast_s: dict[str, float]
    """Predicted processor time of a job of each rule, on average."""
    cpu_s: float
    """Predicted processor time of all jobs, without the starts of processes."""

    def is_small(self, most_cpu_s: float) -> bool:
        """Return whether one process does all stages: of so many predicted seconds, and on one core."""
        return self.cpu_s <= most_cpu_s and all(batch.processes == 1 for batch in self.batches.values())

    @property
    def memory_MB(self) -> int:
        """Memory to request for all stages in one process."""
        return max([4000, *(batch.memory_MB(3) for batch in self.batches.values())])

    @property
    def time_min(self) -> int:
        """Minutes to request for all stages in one process."""
        return 60 + sum(batch.time_min for batch in self.batches.values())

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]


def jobs_of(pipeline: Pipeline) -> StudyJobs:
    machines = {
        name: MachineJob(
            machines=[f"m{key}" for key in chunk.keys],
            digest=pipeline.machine_digest("machine", name),
            structure=pipeline.machine_digest("structure", name),
        )
        for name, chunk in pipeline.machine_chunks.items()
    }
    machine_chunk = {machine_id: name for name, job in machines.items() for machine_id in job.machines}
    workload_chunk = {item.workload_id: name for name, chunk in pipeline.workload_chunks.items() for item in chunk}
    return StudyJobs(
        file=pipeline.file,
        files=study_files(pipeline.file)[1:],
        plan=pipeline.plan_digest,
        machines=machines,
        workloads={
            name: WorkloadJob(
                digest=pipeline.workload_digest(name),
                machines=sorted({machine_chunk[workload.planned.machine_id] for workload in chunk}),
            )
            for name, chunk in pipeline.workload_chunks.items()
        },
        batches={
            name: SimulateJob(
                digest=pipeline.batch_digest(name),
                machines=sorted({machine_chunk[point.machine_id] for point in batch.points}),
                workloads=sorted(
                    {workload_chunk[id_] for point in batch.points for id_ in pipeline.workloads_of[point.point_id]}
                ),
                processes=batch.processes,
                attempts_MB=[batch.memory_MB(attempt) for attempt in (1, 2, 3)],
                time_min=batch.time_min(1),
                cpu_s=batch.cpu_s,
                second_stage=batch.second_stage,
                engine=batch.engine,
            )
            for name, batch in pipeline.batches.items()
        },
        schedules={
            name: ScheduleJob(
                digest=chunk.digest, batches=sorted({pipeline.batch_of_point[point] for point in chunk.points})
            )
            for name, chunk in pipeline.run_chunks.items()
        },
        analyses={name: pipeline.analysis_digest(name) for name in pipeline.plan.study.analyses},
        table=pipeline.code("table"),
        report=ReportJob(
            digest=pipeline.code("report"),
            workloads=list(pipeline.workload_chunks) if pipeline.plan.draws_machines else [],
            schedules=[name for name, chunk in pipeline.run_chunks.items() if chunk.drawn],
        ),
        points=len(pipeline.plan.points),
        point_ids=digest_of_ids(pipeline.plan.points),
        identity=pipeline.identity,
        allow_failed_points=pipeline.plan.study.allow_failed_points,
        extensions=pipeline.plan.study.extension_package,
        forecast_s=job_cpu_s(pipeline),
        cpu_s=work_cpu_s(pipeline),
    )


def forecast_of(studies: Iterable[StudyJobs]) -> dict[str, float]:
    """Return the predicted time of a job of each rule, the longest of several studies."""
    found: dict[str, float] = {}
    for study in studies:
        found |= {rule: max(seconds, found.get(rule, 0.0)) for rule, seconds in study.forecast_s.items()}
    return found


def digest_of_ids(ids: Iterable[str]) -> str:
    return hashlib.sha256(" ".join(sorted(ids)).encode()).hexdigest()[:16]


def read_jobs(folder: Path) -> StudyJobs | None:
    """Return the jobs of the plan in a folder; None if it is missing or incomplete."""
    try:
        written = StudyJobs.model_validate_json((folder / FILE).read_bytes())
    except (OSError, ValueError):
        return None
    return written if all((folder / name).is_file() for name in PLAN_FILES) else None


def write_jobs(pipeline: Pipeline, jobs: StudyJobs, folder: Path) -> None:
    """Write the plan of a study and its jobs."""
    workloads = [
        {"workload_id": item.workload_id, "point_id": item.planned.point_id, "job": item.job, "chunk": name}
        for name, chunk in pipeline.workload_chunks.items()
        for item in chunk
    ]
    write_plan(pipeline.plan, folder, pipeline.columns_of, workloads)
    with atomic_text(folder / FILE) as out:
        out.write(jobs.model_dump_json(indent=1))


def renew_plans(studies: Mapping[str, StudyJobs], batch_cpu_s: float, results: Path) -> None:
    """Rewrite existing plans that are out of date; their dates stay, so that digests decide which jobs run."""
    for name, jobs in studies.items():
        files = [results / name / file for file in (*PLAN_FILES, FILE)]
        # That of another version may be unreadable.
        if not all(file.is_file() for file in files) or read_jobs(results / name) == jobs:
            continue
        dates = [(path.stat().st_atime_ns, path.stat().st_mtime_ns) for path in files]
        write_jobs(load_pipelines(str(jobs.file), batch_cpu_s=batch_cpu_s)[name], jobs, results / name)
        for path, ns in zip(files, dates, strict=True):
            os.utime(path, ns=ns)


def load_studies(names: str, batch_cpu_s: float, results: Path | None = None) -> dict[str, StudyJobs]:
    """Return the jobs of studies, whose names or paths are separated by commas.

    Plans in `results` are read, not made again: each job on a cluster reads the Snakefile, too. Raises ConfigError if a
    study cannot be found or is wrong, or two have the same name.
    """
    if results is not None:
        files = [find_study(name.strip()) for name in names.split(",")]
        written = {name: read_jobs(results / name) for name in map(parse_study_name, files)}
        valid = {name: jobs for name, jobs in written.items() if jobs is not None}
        if len(valid) == len(written):
            return valid
    planned = load_pipelines(names, batch_cpu_s=batch_cpu_s)
    return {name: jobs_of(pipeline) for name, pipeline in planned.items()}
