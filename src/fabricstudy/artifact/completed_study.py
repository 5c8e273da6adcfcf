"""A completed study: its files, and checks that they are consistent."""

import hashlib
import json
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from fabricstudy.core.columns import BASELINE_EXPERIMENT, DONE
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.study.file import load_study, parse_yaml, referenced_files
from fabricstudy.study.plan import Plan
from fabricstudy.study.plan_file import read_plan
from fabricstudy.table.files import ANALYSIS_PREFIX, Tables, read_tables


class ArtifactError(FabricstudyError):
    """A study cannot be packed, or an artifact was changed."""


@dataclass(frozen=True)
class Outputs:
    """Output files of a study: records of points, structures of machines, tables of analyses, records of runs.

    All are relative to `base`, the folder in which the study ran. Files of jobs, and histories for figures, are next to
    the records of runs.
    """

    base: Path
    study: str
    shards: tuple[Path, ...]
    structures: tuple[Path, ...]
    analyses: tuple[Path, ...] = ()
    schedules: tuple[Path, ...] = ()

    @property
    def tables(self) -> Path:
        """Folder of the tables."""
        return self.base / "results" / self.study / "tables"

    @property
    def report(self) -> Path:
        """Folder of the page and its figures."""
        return self.base / "reports" / self.study

    @property
    def benchmarks(self) -> dict[str, list[Path]]:
        """The existing benchmark files of each stage."""
        folder = self.base / "benchmarks" / self.study
        analyses = [path.stem.removeprefix(ANALYSIS_PREFIX) for path in self.analyses]
        files = {
            "structure": [folder / "structure" / f"{path.stem}.jsonl" for path in self.structures],
            "analysis": [folder / "analysis" / f"{name}.jsonl" for name in analyses],
            "simulate": [folder / "simulate" / path.name for path in self.shards],
            "schedule": [folder / "schedule" / path.name for path in self.schedules],
            "table": [folder / "table.jsonl"],
            "report": [folder / "report.jsonl"],
            "small": [folder / "small.jsonl"],
        }
        return {stage: [path for path in paths if path.is_file()] for stage, paths in files.items()}

    def files(self) -> list[Path]:
        """Return all files, sorted."""
        results = self.tables.parent
        folders = (self.tables, self.report, results / "machine", results / "workload")
        optional = [path for folder in folders for path in folder.rglob("*") if not path.name.startswith(".")]
        optional += results.glob("plan*.parquet")
        optional += [path.with_suffix(".history.parquet") for path in self.schedules]
        files = {path for path in optional if path.is_file()}.union(*self.benchmarks.values())
        jobs = [path.with_suffix(".parquet") for path in self.schedules]
        return sorted(files.union(self.shards, self.structures, self.analyses, self.schedules, jobs))


@dataclass(frozen=True, eq=False)
class CompletedStudy:
    """A study, its file with text, and its results."""

    file: Path
    source: str
    plan: Plan
    tables: Tables
    outputs: Outputs

    @property
    def name(self) -> str:
        return self.plan.study.study

    @cached_property
    def points(self) -> pd.DataFrame:
        """One row a distinct point."""
        return self.tables.points.drop_duplicates("point_id")

    @property
    def engines(self) -> dict[str, list[str]]:
        """Versions of each engine that simulated something."""
        simulated = self.points.dropna(subset="version")
        return {str(engine): sorted(part["version"].unique()) for engine, part in simulated.groupby("engine")}

    @property
    def interval(self) -> tuple[str, str]:
        """Start of the first and end of the last simulation, or twice the time of the report (ISO 8601, UTC)."""
        simulated = self.points.dropna(subset="started")
        if simulated.empty:
            written = datetime.fromtimestamp((self.outputs.report / "index.html").stat().st_mtime, UTC)
            return (written.isoformat(timespec="seconds"),) * 2
        started = pd.to_datetime(simulated["started"])
        ended = started + pd.to_timedelta(simulated["wall_s"].fillna(0), unit="s")
        return started.min().isoformat(timespec="seconds"), ended.max().isoformat(timespec="seconds")

    @property
    def study_path(self) -> str:
        """Path of the study file in the artifact; the name of a study is safe in any shell."""
        return f"study/{self.name}.yaml"

    def study_files(self) -> dict[str, Path]:
        """Return the study file and the files that it names, by their path in the artifact.

        Raises ArtifactError if one is outside its folder.
        """
        named = {f"study/{name}": path for name, path in _named_files(parse_yaml(self.source), self.file)}
        return named | {self.study_path: self.file}


def _named_files(value: Any, study: Path) -> Iterator[tuple[str, Path]]:
    for name, path in referenced_files(value, study.parent):
        if not path.resolve().is_relative_to(study.parent.resolve()):
            raise ArtifactError(f"{study}: the file {name} is outside its folder; move it next to the study")
        # The name in the study, which may be that of a link, if it is a path below the folder.
        relative = Path(name)
        if relative.is_absolute() or ".." in relative.parts:
            relative = path.resolve().relative_to(study.parent.resolve())
        yield relative.as_posix(), path


def load_completed_study(study: Path, base: Path, *shards: Iterable[Path]) -> CompletedStudy:
    """Load a study that ran in `base`, and check that tables, report and records are current.

    `shards` are those of points and structures, and optionally of analyses and schedules, as in `Outputs`. Raises
    ArtifactError if it was not run, or was changed since, and ConfigError for a wrong study file.
    """
    loaded = load_study(study)
    source = study.read_text(encoding="utf-8")
    outputs = Outputs(base, loaded.study, *(tuple(sorted(paths)) for paths in shards))
    again = f"run snakemake --cores all artifact --config {shlex.quote(f'study={study}')}"
    if not (outputs.tables / "points.parquet").is_file():
        raise ArtifactError(f"{outputs.tables}: the study {loaded.study} was not run; {again}")
    planned = read_plan(loaded, outputs.tables.parent)
    run = CompletedStudy(study, source, planned, read_tables(outputs.tables), outputs)
    problem = _staleness(run)
    if problem:
        raise ArtifactError(f"{problem}; {again}")
    return run


def _staleness(run: CompletedStudy) -> str:
    """Return why tables, report or records are not those of the study, or ""."""
    points = run.tables.points
    is_baseline = points["experiment"] == BASELINE_EXPERIMENT
    rows = points.loc[~is_baseline, ["experiment", "point_id", "seed"]].itertuples(index=False, name=None)
    planned = [(row.experiment, row.point_id, row.seed) for row in run.plan.rows]
    baselines = set(run.plan.points) - {row.point_id for row in run.plan.rows}
    if list(rows) != planned or set(points.loc[is_baseline, "point_id"]) != baselines:
        return f"{run.outputs.tables}: the tables are older than the study {run.file} and have other points"
    runs = [(row.schedule, row.run_id, row.seed) for row in run.plan.run_rows]
    table = run.tables.schedules
    if [tuple(row) for row in table[["schedule", "run_id", "seed"]].to_numpy()] != runs if runs else len(table):
        return f"{run.outputs.tables}: the tables are older than the study {run.file} and have other runs"
    if run.plan.rows and not (points["status"] == DONE).any():
        return f"{run.outputs.tables}: no point of the study is done"
    page = run.outputs.report / "index.html"
    if not page.is_file():
        return f"{page}: there is no report"
    # The page contains the digest of its study, which covers claims and figures.
    if hashlib.sha256(run.file.read_bytes()).hexdigest() not in page.read_text(encoding="utf-8"):
        return f"{page}: the report is older than the study {run.file}"
    lines = (line for path in run.outputs.shards for line in path.read_text(encoding="utf-8").splitlines())
    recorded = {json.loads(line)["point_id"] for line in lines}
    lost = [name for name in run.plan.points if name not in recorded]
    folder = run.outputs.tables.parent / "simulate"
    return f"{folder}: no record of {len(lost)} points, such as {lost[0]}" if lost else ""
