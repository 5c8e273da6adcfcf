"""The jobs of planned studies, for the Snakefile and the command line."""

import hashlib
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.core.chunks import Chunk, divide_in_at_most
from fabricstudy.core.errors import ConfigError, suggestion
from fabricstudy.core.kinds import code_of
from fabricstudy.core.model import Number
from fabricstudy.core.source import code_digest
from fabricstudy.engine.batch import Batch, make_batches
from fabricstudy.engine.point import PlannedPoint
from fabricstudy.engine.registry import engine_of
from fabricstudy.engine.validity import fingerprint
from fabricstudy.schedule.run import PlannedRun
from fabricstudy.study.file import load_study, similar_file
from fabricstudy.study.plan import Plan, plan, study_identity
from fabricstudy.workload.definitions import WorkloadIds
from fabricstudy.workload.mapping.base import max_partners_estimate

BATCH_CPU_S = 60.0
_LOG = logging.getLogger(__name__)
Seconds = Annotated[Number, Field(gt=0)]
# Analysing a machine takes seconds.
MACHINES_PER_CHUNK = 4
MAX_MACHINE_CHUNKS = 20

SNAKEMAKE_CPU_S, JOB_CPU_S = 2.0, 0.04
"""Processor time of Snakemake's own process, and for each job: 0, 8 and 133 jobs took 2.1, 2.4 and 7.2 s."""
MIN_RUN_CHUNK_CPU_S = 10.0
MIN_RUN_CHUNKS = 4
MAX_RUN_CHUNKS = 100

WORKLOAD_CPU_S = 0.003
"""Time of a workload of a few ranks."""
MESSAGE_CPU_S = 3e-7
MAX_WORKLOAD_CHUNKS = 100


@dataclass(frozen=True)
class Workload:
    """A job (by its position) with its nodes and ranks, in the first point that has it."""

    workload_id: str
    planned: PlannedPoint
    job: int

    @property
    def key(self) -> str:
        """Hexadecimal digits by which workloads are divided into chunks; those of one machine stay together."""
        return self.planned.machine_id[1:] + self.workload_id[1:]

    @property
    def cpu_s(self) -> float:
        """Predicted processor time."""
        point = self.planned.point
        job = point.jobs[self.job]
        ranks = job.rank_count(point.machine.nodes, point.machine.cores_per_node)
        allocating_s = job.allocation.predicted_cpu_s / len(point.jobs)
        messages_s = MESSAGE_CPU_S * job.pattern.traffic_messages(ranks)
        mapping_s = job.mapping.predict_cpu_s(ranks, max_partners_estimate(job.pattern, ranks))
        return WORKLOAD_CPU_S + allocating_s + messages_s + mapping_s


@dataclass(frozen=True)
class RunChunk:
    """Runs of one schedule that one job of Snakemake simulates."""

    name: str
    runs: tuple[PlannedRun, ...]
    drawn: frozenset[str] = frozenset()
    """Ids of the runs whose jobs a figure draws over time."""

    @property
    def points(self) -> set[str]:
        return {point for run in self.runs for point in run.points}

    @property
    def cpu_s(self) -> float:
        """Predicted processor time."""
        return sum(run.predicted_cpu_s for run in self.runs)

    @cached_property
    def digest(self) -> str:
        """Digest of the runs, of the points that they need, and of their code."""
        ids = [f"{run.key} {run.keeps_jobs} {run.run_id in self.drawn}" for run in self.runs]
        return _digest([*ids, code_of("schedule", [planned.run for planned in self.runs])])


@dataclass(frozen=True)
class Pipeline:
    """A planned study, divided into the jobs of the workflow."""

    file: Path
    plan: Plan
    batch_cpu_s: float = BATCH_CPU_S

    @property
    def name(self) -> str:
        return self.plan.study.study

    @cached_property
    def batches(self) -> dict[str, Batch]:
        batches = make_batches(
            self.plan.points.values(), self.plan.study.limits, self.batch_cpu_s, self.plan.second_stage
        )
        return {batch.name: batch for batch in batches}

    @cached_property
    def machine_chunks(self) -> dict[str, Chunk]:
        keys = [machine_id[1:] for machine_id in self.plan.machines]
        chunks = divide_in_at_most(keys, [1.0] * len(keys), MACHINES_PER_CHUNK, MAX_MACHINE_CHUNKS)
        return {chunk.name: chunk for chunk in chunks}

    @cached_property
    def workloads_of(self) -> dict[str, tuple[str, ...]]:
        """Ids of the workloads of each point, by its id."""
        ids = WorkloadIds()
        return {name: ids.of(planned.point) for name, planned in self.plan.points.items()}

    @cached_property
    def workloads(self) -> dict[str, Workload]:
        workloads: dict[str, Workload] = {}
        for name, planned in self.plan.points.items():
            for job, identity in enumerate(self.workloads_of[name]):
                if identity not in workloads:
                    workloads[identity] = Workload(identity, planned, job)
        return workloads

    @cached_property
    def workload_chunks(self) -> dict[str, tuple[Workload, ...]]:
        by_key = {workload.key: workload for workload in self.workloads.values()}
        costs = [workload.cpu_s for workload in by_key.values()]
        target = min(2 * self.batch_cpu_s, max(sum(costs) / MIN_RUN_CHUNKS, MIN_RUN_CHUNK_CPU_S))
        chunks = divide_in_at_most(list(by_key), costs, target, MAX_WORKLOAD_CHUNKS)
        return {chunk.name: tuple(by_key[key] for key in chunk.keys) for chunk in chunks}

    @cached_property
    def run_chunks(self) -> dict[str, RunChunk]:
        """Chunks of the runs of each schedule, by name."""
        run_chunks = {}
        drawn = frozenset(self.plan.drawn_runs)
        for schedule in self.plan.study.schedules:
            runs = {run.key: run for run in self.plan.runs.values() if run.schedule == schedule}
            costs = [run.predicted_cpu_s for run in runs.values()]
            target = min(self.batch_cpu_s, max(sum(costs) / MIN_RUN_CHUNKS, MIN_RUN_CHUNK_CPU_S))
            for chunk in divide_in_at_most(list(runs), costs, 2 * target, MAX_RUN_CHUNKS):
                name = f"{schedule}-{chunk.name}"
                chosen = tuple(runs[key] for key in chunk.keys)
                run_chunks[name] = RunChunk(name, chosen, drawn & {run.run_id for run in chosen})
        return run_chunks

    @cached_property
    def batch_of_point(self) -> dict[str, str]:
        return {point.point_id: name for name, batch in self.batches.items() for point in batch.points}

    def batch_digest(self, name: str) -> str:
        """Digest of the points of a batch, of the code and program that simulate them, and of what else to store."""
        batch = self.batches[name]
        states = sorted({str(fingerprint(point.point)) for point in batch.points})
        ids = {point.point_id for point in batch.points}
        links = [*sorted(self.plan.link_load_points & ids), *sorted(self.plan.drawn_points & ids)]
        probe = engine_of(batch.points[0].point.engine).probe()
        return _digest([batch.digest, *states, probe.version or "missing", *links])

    def analysis_digest(self, name: str) -> str:
        analysis = self.plan.study.analyses[name]
        return _digest([analysis.model_dump_json(), self.code("table")])

    def code(self, package: str) -> str:
        """Digest of a package, of those that it may import, and of the extensions of the study."""
        return f"{code_digest(package)} {self.plan.study.extension_package}"

    def machine_digest(self, stage: str, chunk: str) -> str:
        """Digest of the machines of a chunk, and of the code of a stage that builds or analyses them."""
        keys = self.machine_chunks[chunk].keys
        return _digest([*keys, code_of(stage, [self.plan.machines[f"m{key}"] for key in keys])])

    def workload_digest(self, chunk: str) -> str:
        """Digest of the workloads of a chunk, and of their code."""
        workloads = self.workload_chunks[chunk]
        ids = [workload.workload_id for workload in workloads]
        return _digest([*ids, code_of("workload", [workload.planned.point for workload in workloads])])

    @property
    def plan_digest(self) -> str:
        """Digest of all that the plan contains; some of it, such as names of jobs, is in no id."""
        names = [*self.batches, *self.machine_chunks, *self.workload_chunks, *self.run_chunks]
        source = hashlib.sha256(self.file.read_bytes()).hexdigest()
        return _digest([source, *self.plan.points, *self.plan.runs, *names, self.code("study")])

    @property
    def identity(self) -> str:
        return study_identity(self.file.read_bytes(), self.plan)

    def columns_of(self, planned: PlannedPoint) -> dict[str, Any]:
        """Return further columns of a point in the table of the plan."""
        return {
            "workload_ids": self.workloads_of[planned.point_id],
            "engine": planned.point.engine.kind,
            "batch": self.batch_of_point[planned.point_id],
            "forecast_cpu_s": engine_of(planned.point.engine).predict_cpu_s(planned.point),
        }


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]


def bundled_studies(configs: Path = CONFIGS) -> list[str]:
    return sorted(file.stem for file in configs.glob("*.yaml"))


def find_study(name: str, configs: Path = CONFIGS) -> Path:
    """Find a study by its name in `configs` or by its path. Raises ConfigError if there is no such file."""
    known = configs / f"{name}.yaml"
    if "/" not in name and known.is_file():
        # Relative if possible: the path is in logs, and in the report.
        return known.relative_to(Path.cwd()) if known.is_relative_to(Path.cwd()) else known
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or "/" in name:
        return path
    similar = similar_file(path)
    listed = suggestion("" if similar else name, bundled_studies(configs))  # one question is enough
    remedy = f"{similar}{listed}; or write the path of a .yaml file"
    raise ConfigError("no such study", remedy, value=name, code="file-not-found")


def load_pipelines(names: str, configs: Path = CONFIGS, batch_cpu_s: float = BATCH_CPU_S) -> dict[str, Pipeline]:
    """Load and plan studies, separated by commas; return them by name.

    Raises ConfigError if one cannot be found or is wrong, or two have the same name.
    """
    by_name: dict[str, Pipeline] = {}
    for name in (part.strip() for part in str(names).split(",")):
        file = find_study(name, configs)
        study = Pipeline(file, plan(load_study(file)), batch_cpu_s)
        _LOG.info("%s: %d points on %d machines", file, len(study.plan.points), len(study.plan.machines))
        if study.name in by_name:
            remedy = f"rename one; the other is {by_name[study.name].file}"
            problem = "two studies have the same name"
            raise ConfigError(problem, remedy, ("study",), study.name, "duplicate", file=str(file))
        by_name[study.name] = study
    return by_name
