"""Functions of the Snakefile: settings, files of each study, inputs of rules, and the final summary."""

import fcntl
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from fabricstudy.core.columns import DONE, FAILURE, NOT_NEEDED, PARQUET_ONLY, STATUSES, TABLES
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.model import ConfigError, Model, Number, at_path
from fabricstudy.core.phrasing import count_noun, join_words
from fabricstudy.core.store import read_checksummed
from fabricstudy.machine.definitions import MACHINE_FILES
from fabricstudy.study.file import validated
from fabricstudy.study.plan_file import PLAN_FILES

from .jobs import FILE as JOBS_FILE
from .jobs import SimulateJob, StudyJobs, WorkloadJob
from .pipeline import BATCH_CPU_S, Seconds

SMALL_CPU_S = 15.0

WILDCARDS = {
    "study": "[a-z0-9][a-z0-9-]*",
    "chunk": "[01]+|all",
    "placed": "[01]+|all",
    "batch": "[a-z][a-z0-9-]*-([01]+|all)",
    "analysis": "[a-z0-9][a-z0-9-]*",
    "runs": "[a-z0-9][a-z0-9-]*-([01]+|all)",
}
"""Patterns of the parts of file names; the name of a batch begins with its engine."""

# Tolerance for the clocks of file servers.
MAX_CLOCK_SKEW_S = 60.0


def _names(value: object) -> object:
    # Snakemake parses the command line as YAML: the study name 2024 is a number.
    named = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if named is None or named == "":
        raise ConfigError("no study is named", "write study=NAME, or leave it out for quick", code="missing-key")
    return named


class Settings(Model):
    """Settings of a call of Snakemake (``--config``)."""

    study: Annotated[str, BeforeValidator(_names)] = Field(
        "quick",
        description="name of a bundled study, or path of a study file; several with commas between them",
    )
    batch_cpu_s: Seconds = Field(
        BATCH_CPU_S, description="predicted processor seconds of a batch: 60 suits a workstation, 600 a cluster"
    )
    small_cpu_s: Annotated[Number, Field(ge=0)] = Field(
        SMALL_CPU_S, description="predicted processor seconds of a study whose stages one job does; 0 for a job each"
    )
    container: str | None = Field(None, description="image in which simulations run, with --sdm apptainer")
    envmodules: Annotated[
        tuple[str, ...], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
    ] = Field((), description="modules of the site to load for simulations, with --sdm env-modules")


_OF_A_STUDY = {"machine", "jobs", "engine", "sweep", "experiments", "analyses", "schedules", "figures", "claims"}
"""Keys of study files, which settings do not have."""


def settings(config: Mapping[str, Any]) -> Settings:
    """Check the config of Snakemake. Raises ConfigError for unknown or invalid keys, or a study file.

    Examples
    --------
    >>> settings({"study": "quick", "envmodules": "codes/1"}).envmodules
    ('codes/1',)
    """
    if _OF_A_STUDY & set(config):
        remedy = f"leave --configfile out and write --config study={config.get('study', 'PATH')}"
        raise ConfigError("a study file is not a file of settings", remedy, code="usage", file="--configfile")
    with at_path(file="--config"):
        return validated(Settings, dict(config), {})


RESULTS, REPORTS = Path("results"), Path("reports")


_JOBS = {
    "machine": "machines", "structure": "machines", "workload": "workloads", "simulate": "batches",
    "schedule": "schedules",
}  # fmt: skip
"""The field of `StudyJobs` with the names of a stage's files."""


class Inputs:
    """Files of the studies of a call, for rules (by wildcards) and for targets (by the name of a study)."""

    def __init__(self, studies: Mapping[str, StudyJobs], small: bool = False) -> None:
        self._studies, self._small = studies, small
        self._numbers = {
            (study, stage): {name: number for number, name in enumerate(getattr(jobs, field), 1)}
            for study, jobs in studies.items()
            for stage, field in _JOBS.items()
        }

    def number(self, stage: str, wildcard: str) -> Callable[[Any], int]:
        """Return a function of resources: the number of a job among those of its stage, from 1, for progress lines.

        A changed parameter would run the job again, and a text would not be the same in a group.
        """
        return lambda wildcards: self._numbers[wildcards.study, stage][getattr(wildcards, wildcard)]

    def count(self, stage: str) -> Callable[[Any], int]:
        """Return a function of resources: the number of jobs of a stage."""
        return lambda wildcards: len(self._numbers[wildcards.study, stage])

    def study(self, wildcards: Any) -> Any:
        """Return the study file for rules whose digest covers what they need of it."""
        from snakemake.io import ancient  # for rules alone: it loads Snakemake

        return ancient(str(self._studies[wildcards.study].file))

    def study_as_written(self, wildcards: Any) -> str:
        """Return the study file for rules that run again when it changes."""
        return str(self._studies[wildcards.study].file)

    def named_files(self, wildcards: Any) -> list[Any]:
        """Return the files that a study names, such as traces and extensions; digests cover their content."""
        return self.named_files_of(wildcards.study)

    def named_files_of(self, study: str) -> list[Any]:
        from snakemake.io import ancient

        return [ancient(str(path)) for path in self._studies[study].files]

    def machines_of(self, wildcards: Any) -> list[str]:
        return self._definitions(wildcards.study, self._job(wildcards).machines)

    def structures_of(self, wildcards: Any) -> list[str]:
        return self._named(wildcards.study, "structure", self._job(wildcards).machines, ".jsonl")

    def _job(self, wildcards: Any) -> WorkloadJob | SimulateJob:
        jobs = self._studies[wildcards.study]
        return jobs.batches[wildcards.batch] if hasattr(wildcards, "batch") else jobs.workloads[wildcards.placed]

    @staticmethod
    def _definitions(study: str, chunks: Iterable[str]) -> list[str]:
        return [f"results/{study}/machine/{chunk}/{file}" for chunk in chunks for file in MACHINE_FILES]

    @staticmethod
    def folders(wildcards: Any, input: Any) -> list[str]:
        return list(dict.fromkeys(str(Path(file).parent) for file in input.machines))

    @staticmethod
    def folder_of(name: str) -> Callable[[Any, Any], str]:
        """Return a function of params: the folder of the first input file of this name."""
        return lambda wildcards, input: str(Path(input[name][0]).parent)

    def machines_of_study(self, wildcards: Any) -> list[str]:
        return self._definitions(wildcards.study, self._studies[wildcards.study].machines)

    def needed_points(self, wildcards: Any) -> list[str]:
        """Return the file of the needed points, if results decide which points of a batch are."""
        second = self._studies[wildcards.study].batches[wildcards.batch].second_stage
        return [f"results/{wildcards.study}/needed.json"] * second

    def first_stage(self, wildcards: Any) -> list[str]:
        """Return the records of the points that are simulated in any case."""
        batches = self._studies[wildcards.study].batches
        names = [name for name, batch in batches.items() if not batch.second_stage]
        return self._named(wildcards.study, "simulate", names, ".jsonl")

    def workloads_of_batch(self, wildcards: Any) -> list[str]:
        chunks = self._studies[wildcards.study].batches[wildcards.batch].workloads
        return self._named(wildcards.study, "workload", chunks, ".parquet")

    def points_of_runs(self, wildcards: Any) -> list[str]:
        """Return the records of points whose times determine the slowdown of jobs of runs."""
        batches = self._studies[wildcards.study].schedules[wildcards.runs].batches
        return self._named(wildcards.study, "simulate", batches, ".jsonl")

    def every(self, stage: str, suffix: str) -> Callable[[Any], list[str]]:
        """Return an input function: the files of all jobs of a stage."""
        return lambda wildcards: self._all(wildcards.study, stage, suffix)

    def analyses(self, wildcards: Any) -> list[str]:
        analyses = self._studies[wildcards.study].analyses
        return [f"results/{wildcards.study}/tables/analysis-{name}.parquet" for name in analyses]

    def benchmarks(self, wildcards: Any) -> list[str]:
        jobs, folder = self._studies[wildcards.study], f"benchmarks/{wildcards.study}"
        stages = ("structure", jobs.machines), ("simulate", jobs.batches), ("schedule", jobs.schedules)
        named = [f"{stage}/{name}" for stage, names in (*stages, ("analysis", jobs.analyses)) for name in names]
        return [f"{folder}/{name}.jsonl" for name in (["small"] if self._small else [*named, "table", "report"])]

    def drawn_workloads(self, wildcards: Any) -> list[str]:
        return self._named(wildcards.study, "workload", self._studies[wildcards.study].report.workloads, ".parquet")

    def drawn_runs(self, wildcards: Any) -> list[str]:
        runs = self._studies[wildcards.study].report.schedules
        return self._named(wildcards.study, "schedule", runs, ".history.parquet")

    def tables_of_study(self, wildcards: Any) -> list[str]:
        return self.tables(wildcards.study)

    @staticmethod
    def _named(study: str, stage: str, names: Iterable[str], suffix: str) -> list[str]:
        return [f"results/{study}/{stage}/{name}{suffix}" for name in names]

    def _all(self, study: str, stage: str, suffix: str) -> list[str]:
        return self._named(study, stage, getattr(self._studies[study], _JOBS[stage]), suffix)

    def machines(self, study: str) -> list[str]:
        """Return the definitions and structures of the machines of a study."""
        return [*self._definitions(study, self._studies[study].machines), *self._all(study, "structure", ".jsonl")]

    def workloads(self, study: str) -> list[str]:
        return self._all(study, "workload", ".parquet")

    def simulations(self, study: str) -> list[str]:
        """Return the records of points and runs."""
        return [*self._all(study, "simulate", ".jsonl"), *self._all(study, "schedule", ".jsonl")]

    def tables(self, study: str) -> list[str]:
        names = [*TABLES, *(f"analysis-{name}" for name in self._studies[study].analyses)]
        return [
            f"results/{study}/tables/{name}.{end}"
            for name in names
            for end in ("parquet", "csv")
            if end == "parquet" or name not in PARQUET_ONLY
        ]

    def small(self, study: str) -> list[str]:
        """Return all outputs of a small study but those of its report."""
        needed = ["needed.json"] if any(batch.second_stage for batch in self._studies[study].batches.values()) else []
        further = [
            *(f"results/{study}/{name}" for name in (JOBS_FILE, *needed)),
            *self._all(study, "simulate", ".links.parquet"),
        ]
        runs = [*self._all(study, "schedule", ".parquet"), *self._all(study, "schedule", ".history.parquet")]
        return [*(path for path in self.reports(study) if path.startswith("results/")), *further, *runs]

    def reports(self, study: str) -> list[str]:
        """Return all outputs of a run."""
        return [
            *(f"results/{study}/{file}" for file in PLAN_FILES),
            *self.machines(study),
            *self.workloads(study),
            *self.simulations(study),
            *self.tables(study),
            f"reports/{study}/index.html",
            f"reports/{study}/figures",
        ]


def check_cores(cores: int | None) -> None:
    """Refuse fewer than 1 core: with 0 Snakemake waits for ever, below 0 it uses any number. None is no limit."""
    if cores is not None and cores < 1:
        remedy = "give 1 or more, or all"
        raise ConfigError("too few cores", remedy, ("--cores",), cores, "out-of-range")


_TRIGGERS = {"mtime", "params", "input"}


def check_triggers(triggers: Iterable[object]) -> None:
    """Refuse to leave out reasons for which Snakemake makes a file again, since its results would be out of date."""
    if missing := _TRIGGERS - {str(trigger) for trigger in triggers}:
        problem = f"without {join_words(sorted(missing))}, results of a changed study or program would be kept"
        raise ConfigError(problem, "leave the option out", ("--rerun-triggers",), code="usage")


def lock_studies(studies: Iterable[str]) -> list[int]:
    """Lock the results of studies until this process ends. Raises FabricstudyError if another run has one of them."""
    locked = []
    folder = Path(".snakemake")  # so that results/ contains results only
    folder.mkdir(exist_ok=True)
    for name in studies:
        path = folder / f"{name}.lock"
        locked.append(os.open(path, os.O_CREAT | os.O_RDWR, 0o666))
        try:
            fcntl.flock(locked[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            unlock(locked)
            problem = f"{name}: another run of this study is working in this folder"
            raise FabricstudyError(f"{problem}; wait until it ends, then run the same command", "usage") from None
    return locked


def unlock(locked: Iterable[int]) -> None:
    for descriptor in locked:
        os.close(descriptor)


def check_timestamps(studies: Mapping[str, StudyJobs]) -> None:
    """Refuse study files and results that are dated in the future, which Snakemake would make again for ever."""
    latest_s = time.time() + MAX_CLOCK_SKEW_S
    inputs = Inputs(studies)
    for name, jobs in studies.items():
        for made in inputs.reports(name):
            with suppress(OSError):
                if Path(made).stat().st_mtime > latest_s:
                    problem = "results are dated in the future: the clock of this or another computer is wrong"
                    remedy = "set the clock, or date all results now: find results reports -exec touch {} +"
                    raise ConfigError(problem, remedy, code="file-unreadable", file=made)
        if jobs.file.stat().st_mtime > latest_s:
            problem = "the file is dated in the future, so that no result would be newer"
            raise ConfigError(problem, "date it now: touch FILE", code="file-unreadable", file=str(jobs.file))


def cancel_timers() -> None:
    """Cancel the timers of Snakemake's rate limit, for which its process would wait after the last job."""
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.cancel()


def summary_lines(studies: Mapping[str, StudyJobs], since_s: float) -> list[str]:
    """Return the final lines of a run that began at `since_s`: the status of its points, and the reports."""
    seen: set[str] = set()
    counted = [line for name, jobs in studies.items() for line in count_points(name, jobs, since_s, seen)]
    pages = [page for name in studies if (page := REPORTS / name / "index.html").is_file()]
    return [*counted, *(f"The report: {page}" for page in pages)]


def check_points(studies: Mapping[str, StudyJobs]) -> None:
    """Raise FabricstudyError if no point was simulated, or a point or analysis failed and the study does not allow it.

    No point was simulated if engines were missing for all points that have records, or refused them.
    """
    for study, jobs in studies.items():
        records = list(_records(study, jobs))
        if records and all(record["status"] in ("skipped", "unsupported") for record in records):
            problem = f"{study}: no point was simulated: {records[0]['engine']}: {records[0]['reason']}"
            if any(record["status"] == "skipped" for record in records):
                problem += "; see: fabricstudy list engines"
            raise FabricstudyError(problem, "engine-missing")
        failed = [record for record in records if record["status"] in NOT_FINAL]
        if failed and not jobs.allow_failed_points:
            counts = Counter(record["status"] for record in failed)
            statuses = ", ".join(f"{count:,} {status}" for status, count in counts.items())
            remedy = "see Failures in the report, or write allow_failed_points: true in the study"
            problem = f"{study}: not all points are done ({statuses}): {failed[0]['reason']}"
            raise FabricstudyError(f"{problem}; {remedy}", "points-failed")
        failure = next(_failures_of_analyses(study, jobs), "")
        if failure and not jobs.allow_failed_points:
            raise FabricstudyError(f"{study}: {failure}", "points-failed")


def _failures_of_analyses(study: str, jobs: StudyJobs) -> Iterator[str]:
    files = [RESULTS / study / "tables" / f"analysis-{name}.parquet" for name in jobs.analyses]
    if files:
        from fabricstudy.table.files import read_analyses  # imports pandas

        tables = read_analyses(path for path in files if path.is_file())
        yield from (frame.attrs[FAILURE] for frame in tables.values() if FAILURE in frame.attrs)


NOT_FINAL = ("failed", "timeout", "out-of-memory", "damaged")
"""Statuses of points that another run, or another limit, may complete."""


def _records(study: str, jobs: StudyJobs) -> Iterator[dict[str, Any]]:
    """Yield the records of the points of a study that have one, and one for each point whose record is damaged."""
    read: set[str] = set()
    damaged = ""
    for batch in jobs.batches:
        path = RESULTS / study / "simulate" / f"{batch}.jsonl"
        for number, record in read_checksummed(path) if path.is_file() else ():
            if record is None:
                damaged = f"{path}, line {number}, is damaged; remove the file and run the same command again"
            else:
                read.add(record["point_id"])
                yield record
    if damaged:
        yield from ({"status": "damaged", "reason": damaged} for _ in range(jobs.points - len(read)))


def count_points(study: str, jobs: StudyJobs, since_s: float, seen: set[str]) -> list[str]:
    """Return a line with the numbers of points of a study that ended, and that this run simulated; none without points.

    Another line names each engine that was missing.
    `since_s` is the start of the run in seconds since 1970; `seen` are the ids counted as new, which studies may share.
    """
    start = datetime.fromtimestamp(since_s, UTC).isoformat(timespec="seconds")
    statuses: Counter[str] = Counter()
    if not jobs.batches:
        return []
    before, missing = len(seen), Counter[str]()
    for record in _records(study, jobs):
        statuses[record["status"]] += 1
        if record["status"] == "skipped":
            missing[f"{record['engine']}: {record['reason']}"] += 1
        elif record["status"] not in ("damaged", NOT_NEEDED) and record["started"] >= start:
            seen.add(record["point_id"])
    others = "".join(f", {statuses[status]:,} {status}" for status in STATUSES if status != DONE and statuses[status])
    new = len(seen) - before
    cached = statuses.total() - statuses["skipped"] - statuses["damaged"] - statuses[NOT_NEEDED] - new
    points = jobs.points - statuses[NOT_NEEDED]
    counted = f"{study}: {statuses[DONE]:,} of {points:,} points done{others} ({new:,} new, {cached:,} cached)"
    return [
        counted,
        *(f"{study}: {count_noun(count, 'point')} skipped without {engine}" for engine, count in missing.items()),
    ]
