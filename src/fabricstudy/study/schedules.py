"""The grammar of schedules, and their runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from fabricstudy.core.columns import RESERVED_BY_SCHEDULES
from fabricstudy.core.errors import suggestion
from fabricstudy.core.model import ConfigError, at_path, model_check
from fabricstudy.schedule.partitions import NodePool, Partitions
from fabricstudy.schedule.run import PlannedRun, RatioInputs, Run, RunBase, list_id, run_id
from fabricstudy.schedule.slowdown import Application, Measured, non_torus_sizes

from .figures import Condition, Label, fulfils
from .messages import explain_errors
from .sweep import PointRow, SweepBase

MAX_RUNS = 100_000


class Schedule(SweepBase, RunBase):
    """Scheduling of jobs on the partitions of a machine: one run, and a sweep over it."""

    VARIES = Run
    TAKEN = RESERVED_BY_SCHEDULES

    keep_jobs: Literal["first", "all", "none"] = Field(
        "first", description="runs whose jobs are rows of `scheduled_jobs`: those of the first seed, all, or none"
    )

    @model_check
    def _is_not_too_large(self) -> None:
        if self.seeds.is_adaptive:
            problem, remedy = "seeds of schedules do not depend on results", "write a number of seeds"
            raise ConfigError(problem, remedy, ("seeds",), code="unsupported")
        if self.size > MAX_RUNS:
            problem, remedy = f"{self.size:,} runs are too many", f"use at most {MAX_RUNS:,}"
            raise ConfigError(problem, remedy, ("sweep",), code="point-count")

    @property
    def fixed(self) -> list[Any]:
        """Nothing: a schedule does not build on the study's base."""
        return []


@dataclass(frozen=True)
class RunRow:
    """One run of one schedule: a row of the tables."""

    schedule: str
    labels: dict[str, Label | None]
    """Label of every axis of the study's schedules; None for one that the schedule does not have."""
    seed: int
    run_id: str


def axes_of_schedules(schedules: Mapping[str, Schedule]) -> tuple[str, ...]:
    """Return the axes of all schedules; each is a column of their tables."""
    return tuple(dict.fromkeys(name for schedule in schedules.values() for name in schedule.sweep))


class RunPlanner:
    """Plans runs from raw trees, building each list of partitions once; `rows` are all points, for ratios of times."""

    def __init__(self, rows: Sequence[PointRow], axes: tuple[str, ...], folder: Path) -> None:
        self.rows: list[RunRow] = []
        self.runs: dict[str, PlannedRun] = {}
        self._points, self._axes, self._folder = rows, axes, folder
        self._lists: dict[str, Partitions | NodePool] = {}

    def add(self, name: str, schedule: Schedule, labels: Mapping[str, Label], tree: dict[str, Any]) -> None:
        """Plan one combination of labels, with each seed. Raises ConfigError with the path below the run."""
        context = {"folder": self._folder}
        try:
            run = Run.model_validate({**tree, "seed": 0}, context=context, by_alias=True, by_name=False)
        except ValidationError as error:
            raise explain_errors(error, tree, Run) from None
        if not run.trace.is_drawn and len(schedule.seeds.all) > 1:
            problem = "a log has no random choices, so that all seeds have the same result"
            raise ConfigError(problem, "leave `seeds` out", ("seeds",), list(schedule.seeds.all), "invalid-value")
        identity = list_id(run.machine, run.partitions)
        if identity not in self._lists:
            with at_path("partitions"):
                self._lists[identity] = run.partitions.checked_partitions(run.machine)
        partitions = self._lists[identity]
        largest, most = run.trace.max_nodes(partitions.block_nodes), max(part.nodes for part in partitions.variants)
        if largest is not None and largest > most:
            problem = f"the largest job has {largest:,} nodes, and the largest partition {most:,}"
            raise ConfigError(problem, "use smaller jobs, or a larger partition", ("trace",), code="does-not-fit")
        measured = run.slowdown.measured
        needs = {
            (position, nodes): self._ratio_inputs(measured, application, nodes)
            for position, application in enumerate(run.slowdown.kinds if measured else ())
            for nodes in non_torus_sizes(partitions)
            if measured
        }
        row = {axis: labels.get(axis) for axis in self._axes}
        log = run.trace.digest(self._folder)
        if log:  # to report mistakes in it before anything runs
            run.trace.jobs(partitions.machine_nodes, partitions.block_nodes, 0, self._folder)
        for number, seed in enumerate(schedule.seeds.all):
            seeded = run.model_copy(update={"seed": seed})
            key = run_id(seeded, needs, log)
            keeps = schedule.keep_jobs == "all" or (schedule.keep_jobs == "first" and number == 0)
            self.runs.setdefault(f"{name} {key}", PlannedRun(name, key, identity, seeded, needs, self._folder, keeps))
            self.rows.append(RunRow(name, row, seed, key))

    def _ratio_inputs(self, measured: Measured, application: Application, nodes: int) -> RatioInputs:
        for experiment, metric in ((measured.experiment, measured.metric), (measured.beyond, "expected_load_ns")):
            if experiment is not None:
                sides = (measured.of, measured.against)
                of, against = (self._side(measured, experiment, application, nodes, side) for side in sides)
                if of and against:
                    return RatioInputs(metric, of, against)
        which = ", ".join(f"{axis} {label}" for axis, label in application.where.items())
        problem = f"no point measures the slowdown on {nodes} nodes" + f" ({which})" * bool(which)
        remedy = "add this size to the experiment, or name one in `beyond` that has its expected link loads"
        key = "experiment" if measured.beyond is None else "beyond"
        raise ConfigError(problem, remedy, ("slowdown", "measured", key), getattr(measured, key), "not-comparable")

    def _side(
        self, measured: Measured, experiment: str, application: Application, nodes: int, side: Mapping[str, Condition]
    ) -> tuple[str, ...]:
        """Return the points of one side of a ratio, one for each seed."""
        rows = [row for row in self._points if row.experiment == experiment]
        if not rows:
            names = {row.experiment for row in self._points}
            key = "experiment" if experiment == measured.experiment else "beyond"
            path, remedy = ("slowdown", "measured", key), suggestion(experiment, names)
            raise ConfigError("no such experiment", remedy, path, experiment, "unknown-name")
        wanted: dict[str, Condition] = {**application.where, **side, measured.nodes: nodes}
        for axis in wanted:
            if rows[0].labels.get(axis) is None:
                axes = [name for name, label in rows[0].labels.items() if label is not None]
                remedy = suggestion(axis, axes)
                raise ConfigError("no such axis", remedy, ("slowdown", "measured"), axis, "unknown-name")
        selected = [row for row in rows if all(fulfils(row.labels[axis], label) for axis, label in wanted.items())]
        differing = [axis for axis in rows[0].labels if len({row.labels[axis] for row in selected}) > 1]
        if differing:
            problem = f"several points of the experiment {experiment} match, which differ in {', '.join(differing)}"
            remedy = "select one in `where` of the application, `of` or `against`"
            raise ConfigError(problem, remedy, ("slowdown", "measured"), code="not-comparable")
        return tuple(row.point_id for row in selected)
