"""What the Snakefile calls: its settings, the files of each study, the inputs of rules, and the lines at the end."""

import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from snakemake.io import ancient

from fabricstudy.core.columns import DONE, PARQUET_ONLY, STATUSES, TABLES
from fabricstudy.core.errors import StudyError
from fabricstudy.core.model import ConfigError, Model
from fabricstudy.machine.definitions import FILES as MACHINE_FILES
from fabricstudy.study.file import validated
from fabricstudy.study.plan_file import FILES as PLAN_FILES
from fabricstudy.study.plan_file import POINTS

from .jobs import Jobs, SimulateJob, WorkloadJob, is_planned
from .pipeline import BATCH_CPU_S, Seconds

WILDCARDS = {
    "study": "[a-z0-9][a-z0-9-]*",
    "chunk": "[01]+|all",
    "placed": "[01]+|all",
    "batch": "[a-z][a-z0-9-]*-([01]+|all)",
    "analysis": "[a-z0-9][a-z0-9-]*",
    "runs": "[a-z0-9][a-z0-9-]*-([01]+|all)",
}
"""What the parts of our file names look like; a batch is called after its engine."""

# Clocks of file servers are some seconds off.
MAX_CLOCK_SKEW_S = 60.0


def _names(value: object) -> object:
    # Snakemake reads what is given on the command line as YAML: a study called 2024 is a number to it.
    named = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if named is None or named == "":
        raise ConfigError("no study is named", "write study=NAME, or leave it out for quick", code="missing-key")
    return named


class Settings(Model):
    """What a call of Snakemake may set with ``--config``."""

    study: Annotated[str, BeforeValidator(_names)] = Field(
        "quick",
        description="name of a study that comes along, or path to a study file; several with commas between them",
    )
    batch_cpu_s: Seconds = Field(
        BATCH_CPU_S, description="predicted processor seconds of a batch: 60 suits a workstation, 600 a cluster"
    )
    container: str | None = Field(None, description="image in which simulations run, with --sdm apptainer")
    envmodules: Annotated[
        tuple[str, ...], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
    ] = Field((), description="modules of the site to load for simulations, with --sdm env-modules")


_OF_A_STUDY = {"machine", "jobs", "engine", "sweep", "experiments", "analyses", "schedules", "figures", "claims"}
"""Keys by which a study file is told from settings."""


def settings(config: Mapping[str, Any]) -> Settings:
    """Check what Snakemake calls its config.

    Raises
    ------
    StudyError
        At what is unknown or of no use, or at a study file.

    Examples
    --------
    >>> settings({"study": "quick", "envmodules": "codes/1"}).envmodules
    ('codes/1',)
    """
    if _OF_A_STUDY & set(config):
        problem = "a study file is not a file of settings"
        name = config.get("study", "PATH")
        raise StudyError(
            problem, f"leave --configfile out and write --config study={name}", "--configfile", code="usage"
        )
    try:
        return validated(Settings, dict(config), {})
    except StudyError as error:
        raise error.in_file("--config") from None


RESULTS, REPORTS = Path("results"), Path("reports")


class Inputs:
    """The files of the studies of a call, for rules (by wildcards) and for targets (by the name of a study)."""

    def __init__(self, studies: Mapping[str, Jobs]) -> None:
        self._studies = studies
        self._planned = {name for name, jobs in studies.items() if is_planned(jobs, RESULTS / name)}

    def study(self, wildcards: Any) -> Any:
        """Return the study file for rules that a digest tells what of it counts."""
        return ancient(str(self._studies[wildcards.study].file))

    def study_as_written(self, wildcards: Any) -> str:
        """Return the study file for rules that are done again when it is changed."""
        return str(self._studies[wildcards.study].file)

    def plan(self, wildcards: Any) -> Any:
        """Return the plan for rules that a digest tells what of it counts.

        Where the plan is to be made, Snakemake does not look at the digests of the jobs after it: all of them are done.
        """
        plan = f"results/{wildcards.study}/{POINTS}"
        return ancient(plan) if wildcards.study in self._planned else plan

    def machines_of(self, wildcards: Any) -> list[str]:
        """Return the definitions of the machines of a chunk of workloads, or of a batch."""
        return self._definitions(wildcards.study, self._job(wildcards).machines)

    def structures_of(self, wildcards: Any) -> list[str]:
        """Return the structures of the machines of a chunk of workloads, or of a batch."""
        return self._named(wildcards.study, "structure", self._job(wildcards).machines, ".jsonl")

    def _job(self, wildcards: Any) -> WorkloadJob | SimulateJob:
        jobs = self._studies[wildcards.study]
        return jobs.batches[wildcards.batch] if hasattr(wildcards, "batch") else jobs.workloads[wildcards.placed]

    @staticmethod
    def _definitions(study: str, chunks: Iterable[str]) -> list[str]:
        return [f"results/{study}/machine/{chunk}/{file}" for chunk in chunks for file in MACHINE_FILES]

    @staticmethod
    def folders(wildcards: Any, input: Any) -> list[str]:
        """Return the folders of machine definitions."""
        return list(dict.fromkeys(str(Path(file).parent) for file in input.machines))

    def workloads_of_batch(self, wildcards: Any) -> list[str]:
        """Return the workloads of a batch."""
        chunks = self._studies[wildcards.study].batches[wildcards.batch].workloads
        return self._named(wildcards.study, "workload", chunks, ".parquet")

    def points_of_runs(self, wildcards: Any) -> list[str]:
        """Return the records of points whose times slow down the jobs of some runs."""
        batches = self._studies[wildcards.study].schedules[wildcards.runs].batches
        return self._named(wildcards.study, "simulate", batches, ".jsonl")

    def records(self, wildcards: Any) -> list[str]:
        """Return the records of all points of a study."""
        return self._named(wildcards.study, "simulate", self._studies[wildcards.study].batches, ".jsonl")

    def links(self, wildcards: Any) -> list[str]:
        """Return the links of points of a study."""
        return self._named(wildcards.study, "simulate", self._studies[wildcards.study].batches, ".links.parquet")

    def structures(self, wildcards: Any) -> list[str]:
        """Return the structures of all machines of a study."""
        return self._named(wildcards.study, "structure", self._studies[wildcards.study].machines, ".jsonl")

    def placed(self, wildcards: Any) -> list[str]:
        """Return all workloads of a study."""
        return self._named(wildcards.study, "workload", self._studies[wildcards.study].workloads, ".parquet")

    def analyses(self, wildcards: Any) -> list[str]:
        """Return the tables of the analyses of a study."""
        analyses = self._studies[wildcards.study].analyses
        return [f"results/{wildcards.study}/tables/analysis-{name}.parquet" for name in analyses]

    def schedules(self, wildcards: Any) -> list[str]:
        """Return the records of the scheduled runs of a study."""
        return self._named(wildcards.study, "schedule", self._studies[wildcards.study].schedules, ".jsonl")

    def scheduled_jobs(self, wildcards: Any) -> list[str]:
        """Return the jobs of the scheduled runs of a study."""
        return self._named(wildcards.study, "schedule", self._studies[wildcards.study].schedules, ".parquet")

    def drawn_machines(self, wildcards: Any) -> list[str]:
        """Return the definitions of machines that the figures of a study read."""
        return self._definitions(wildcards.study, self._studies[wildcards.study].report.machines)

    def drawn_workloads(self, wildcards: Any) -> list[str]:
        """Return the workloads that the figures of a study read."""
        return self._named(wildcards.study, "workload", self._studies[wildcards.study].report.workloads, ".parquet")

    def drawn_runs(self, wildcards: Any) -> list[str]:
        """Return the histories of scheduled runs that the figures of a study read."""
        runs = self._studies[wildcards.study].report.schedules
        return self._named(wildcards.study, "schedule", runs, ".history.parquet")

    def tables_of_study(self, wildcards: Any) -> list[str]:
        """Return all tables of a study."""
        return self.tables(wildcards.study)

    @staticmethod
    def _named(study: str, stage: str, names: Iterable[str], suffix: str) -> list[str]:
        return [f"results/{study}/{stage}/{name}{suffix}" for name in names]

    def machines(self, study: str) -> list[str]:
        """Return the definitions and structures of the machines of a study."""
        chunks = self._studies[study].machines
        return [*self._definitions(study, chunks), *self._named(study, "structure", chunks, ".jsonl")]

    def workloads(self, study: str) -> list[str]:
        """Return the workload definitions of a study."""
        return self._named(study, "workload", self._studies[study].workloads, ".parquet")

    def simulations(self, study: str) -> list[str]:
        """Return the records of a study."""
        jobs = self._studies[study]
        return [
            *self._named(study, "simulate", jobs.batches, ".jsonl"),
            *self._named(study, "schedule", jobs.schedules, ".jsonl"),
        ]

    def tables(self, study: str) -> list[str]:
        """Return the tables of a study."""
        names = [*TABLES, *(f"analysis-{name}" for name in self._studies[study].analyses)]
        return [
            f"results/{study}/tables/{name}.{end}"
            for name in names
            for end in ("parquet", "csv")
            if end == "parquet" or name not in PARQUET_ONLY
        ]

    def reports(self, study: str) -> list[str]:
        """Return all that a run leaves; whichever of it is removed is made again."""
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
    """Refuse a number of cores on which nothing runs: with 0 Snakemake waits for ever, with less it takes any number.

    Parameters
    ----------
    cores : int or None
        As Snakemake was given it; None where it was not.

    Raises
    ------
    StudyError
        If it is below 1.
    """
    if cores is not None and cores < 1:
        remedy = "give 1 or more, or all"
        raise StudyError("no core to run on", remedy, path="--cores", value=cores, code="out-of-range")


def check_timestamps(studies: Mapping[str, Jobs]) -> None:
    """Refuse files of tomorrow: Snakemake would make again for ever what follows from them, or fail.

    Raises
    ------
    StudyError
        If a study or what earlier runs made of it is dated in the future; what is not there is in order.
    """
    latest_s = time.time() + MAX_CLOCK_SKEW_S
    inputs = Inputs(studies)
    for name, jobs in studies.items():
        for made in inputs.reports(name):
            with suppress(OSError):
                if Path(made).stat().st_mtime > latest_s:
                    raise StudyError(
                        "results are dated in the future: this clock was set back, or that of another computer is fast",
                        "set the clock, or date all results now: find results reports -exec touch {} +",
                        made,
                        code="file-unreadable",
                    )
        if jobs.file.stat().st_mtime > latest_s:
            raise StudyError(
                "the file is dated in the future, so nothing made from it would ever be newer",
                "give it today's date: touch FILE",
                str(jobs.file),
                code="file-unreadable",
            )


def summary_lines(studies: Mapping[str, Jobs], since_s: float) -> list[str]:
    """Return the lines that a run which began at `since_s` ends with: how its points ended, and the reports."""
    seen: set[bytes] = set()
    counted = [count_points(name, jobs, since_s, seen) for name, jobs in studies.items()]
    pages = [page for name in studies if (page := REPORTS / name / "index.html").is_file()]
    return [*filter(None, counted), *(f"The report: {page}" for page in pages)]


def count_points(study: str, jobs: Jobs, since_s: float, seen: set[bytes]) -> str:
    """Count in a line the points of a study that have ended, and those that this run tried; "" if it has none.

    Parameters
    ----------
    since_s : float
        When the run began, in seconds since 1970. A record says when its simulation began.
    seen : set of bytes
        Ids of points that were counted as new; those of this study are added. Studies that share one count it once.
    """
    start = datetime.fromtimestamp(since_s, UTC).isoformat(timespec="seconds").encode()
    statuses: Counter[str] = Counter()
    before = len(seen)
    for name in jobs.batches:
        with suppress(FileNotFoundError), (RESULTS / study / "simulate" / f"{name}.jsonl").open("rb") as lines:
            for record in map(_facts, lines):
                statuses[record[b"status"].decode()] += 1
                if record[b"status"] != b"skipped" and record[b"started"] >= start:
                    seen.add(record[b"point_id"])
    if not jobs.batches:
        return ""
    others = "".join(f", {statuses[one]:,} {one}" for one in STATUSES if one != DONE and statuses[one])
    new = len(seen) - before
    cached = statuses.total() - statuses["skipped"] - new
    return f"{study}: {statuses[DONE]:,} of {jobs.points:,} points done{others} ({new:,} new, {cached:,} cached)"


def _facts(line: bytes) -> dict[bytes, bytes]:
    # No other part of a record has such keys, and JSON escapes quotes in texts: a twentieth of the time of json.loads.
    return dict(re.findall(rb'"(point_id|started|status)": "([^"]*)"', line))
