"""From a study to the table of its points: a pure function."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar

from fabricstudy.core.kinds import extension_scope
from fabricstudy.core.model import ConfigError, at_path, check_all
from fabricstudy.core.source import extension_package
from fabricstudy.engine.job_traffic import traffic_classes
from fabricstudy.engine.point import PlannedPoint, digest, ids_of
from fabricstudy.engine.point_file import SECTIONS
from fabricstudy.machine.base import Topology, built
from fabricstudy.schedule.run import PlannedRun

from .comparisons import check_comparisons
from .expansion import Expansion
from .figures import EcdfFigure, JobsFigure, Label, MachineFigure, fulfils
from .model import DEFAULT_EXPERIMENT, Study
from .schedules import RunPlanner, RunRow, Schedule, axes_of_schedules
from .screening import sampled, screening_rows
from .sections import Section, SectionCache, Sections
from .spot_check import plan_spot_check
from .sweep import Experiment, PointRow

MAX_CHECKED_NODES = 100_000
"""Largest machine of an extension that is built when a study is planned."""

MAX_LINK_ROWS = 1_000_000
"""Rows of the table `link_loads`: about 0.5 GB."""

MAX_MESSAGE_ROWS = 2_000_000
"""Rows of the table `messages`: about 1 GB while it is made."""


@dataclass(frozen=True)
class Plan:
    """All rows in the order of the study, with their distinct points, machines and runs of schedules."""

    study: Study
    rows: list[PointRow]
    points: dict[str, PlannedPoint]
    machines: dict[str, Topology]
    axes: tuple[str, ...]
    run_rows: list[RunRow]
    runs: dict[str, PlannedRun]
    """Runs by schedule and id, separated by a space."""
    run_axes: tuple[str, ...]

    @cached_property
    def second_stage(self) -> frozenset[str]:
        """Ids of the points of which results decide whether they are simulated.

        Only seeds beyond the first ones of their combination have them, or combinations that are screened.
        """
        parts = self.study.all_experiments
        seeds = {name: part.seeds.first for name, part in parts.items() if part.seeds.is_adaptive}
        samples = {
            name: sampled(part.screen, [row for row in self.rows if row.experiment == name])
            for name, part in parts.items()
            if part.screen
        }
        first = {
            point_id
            for row in self.rows
            if row.seed <= seeds.get(row.experiment, row.seed)
            and (row.experiment not in samples or tuple(row.labels.values()) in samples[row.experiment])
            for point_id in (row.point_id, *row.baseline_ids)
        }
        return frozenset(self.points.keys() - first) if seeds or samples else frozenset()

    def without(self, point_ids: Collection[str]) -> Plan:
        """Return the plan without these points and their rows."""
        rows = [row for row in self.rows if row.point_id not in point_ids]
        points = {name: point for name, point in self.points.items() if name not in point_ids}
        return replace(self, rows=rows, points=points)

    @property
    def link_load_points(self) -> set[str]:
        """Ids of the points whose links are rows of a table."""
        return {row.point_id for row in self.rows if row.experiment in self.study.link_loads}

    @property
    def drawn_points(self) -> set[str]:
        """Ids of the points whose operations some figure draws in time."""
        return {
            row.point_id
            for figure in self.study.report_figures
            if isinstance(figure, JobsFigure) and not figure.draws_jobs
            for panel in rows_of_figure(figure, self.rows).values()
            for row in panel
        }

    @property
    def drawn_runs(self) -> set[str]:
        """Ids of the runs of schedules whose jobs some figure draws in time."""
        return {
            row.run_id
            for figure in self.study.report_figures
            if isinstance(figure, JobsFigure | EcdfFigure) and figure.draws_jobs
            for panel in rows_of_figure(figure, self.run_rows).values()
            for row in panel
        }

    @property
    def draws_machines(self) -> bool:
        """Whether some figure draws a machine."""
        return any(isinstance(figure, MachineFigure) for figure in self.study.report_figures)


def plan(study: Study) -> Plan:
    """Expand a study into its points, and check each of them.

    Rows are in the order of the experiments, then of the axes (the last axis varies fastest), then of the seeds. Raises
    ConfigError for points that cannot be, with the path of the axis value that causes the mistake, each mistake once;
    or at the first figure or claim that compares a point without a partner.
    """
    with at_path(file=None if study.file is None else str(study.file)):
        return _planned(study)


def _planned(study: Study) -> Plan:
    planner = _Planner(study)
    with extension_scope(study.extension_package):
        check_all([partial(planner.add, name, part) for name, part in study.all_experiments.items()])
    _unify(planner.rows, study.axes)
    check_comparisons(study, planner.rows, planner.points)
    _check_link_loads(study, planner)
    _check_messages(planner)
    planner.add_screening()
    planner.add_spot_check()
    runs = _plan_schedules(study, planner.rows)
    run_axes = axes_of_schedules(study.schedules)
    return Plan(study, planner.rows, planner.points, planner.machines, study.axes, runs.rows, runs.runs, run_axes)


def _check_link_loads(study: Study, planner: _Planner) -> None:
    """Refuse a table of links that needs too much memory."""
    machines = [
        planner.points[row.point_id].point.machine for row in planner.rows if row.experiment in study.link_loads
    ]
    links = 2 * sum(machine.cables for machine in machines)
    if links > MAX_LINK_ROWS:
        remedy = f"use at most {MAX_LINK_ROWS:,}: name an experiment of fewer points; equal points are simulated once"
        problem = f"about {links:,} rows of links"
        raise ConfigError(problem, remedy, ("link_loads",), list(study.link_loads), "out-of-range")


def _check_messages(planner: _Planner) -> None:
    """Refuse a table of messages that needs too much memory."""
    points = (planner.points[row.point_id].point for row in planner.rows)
    recorded = (point for point in points if getattr(point.engine, "record", None) and point.offered is None)
    messages = sum(part.messages for point in recorded for part in traffic_classes(point))
    if messages > MAX_MESSAGE_ROWS:
        problem = f"about {messages:,.0f} rows of messages"
        remedy = f"record at most {MAX_MESSAGE_ROWS:,}: in an experiment of fewer points or smaller jobs"
        raise ConfigError(problem, remedy, ("engine", "record"), "messages", "out-of-range")


def _plan_schedules(study: Study, rows: list[PointRow]) -> RunPlanner:
    planner = RunPlanner(rows, axes_of_schedules(study.schedules), study.folder)

    def add(name: str, schedule: Schedule) -> None:
        Expansion(schedule.base, schedule, ("schedules", name)).each(
            lambda indices, tree: planner.add(name, schedule, schedule.labels_at(indices), tree)
        )

    with extension_scope(study.extension_package):
        check_all([partial(add, name, schedule) for name, schedule in study.schedules.items()])
    _unify(planner.rows, axes_of_schedules(study.schedules))
    return planner


def study_identity(source: bytes, plan: Plan) -> str:
    """Return a digest of a study file, and of the points, runs and analyses that it is about."""
    analyses = (analysis.model_dump_json() for analysis in plan.study.analyses.values())
    parts = [hashlib.sha256(source).hexdigest(), *sorted(plan.points), *sorted(plan.runs), *analyses]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]


R = TypeVar("R", PointRow, RunRow)


def rows_of_figure(figure: MachineFigure | JobsFigure | EcdfFigure, rows: Sequence[R]) -> dict[Label | None, list[R]]:
    """Return the rows that a figure of machines or of jobs in time draws, of the least seed, by the label of the panel.

    But for waits, a panel draws its first row.
    """
    # The class of a job is no label of its run.
    where = {name: wanted for name, wanted in figure.where.items() if name != "class_nodes"}
    part = figure.schedule or figure.experiment
    of_part = [row for row in rows if (row.schedule if isinstance(row, RunRow) else row.experiment) == part]
    selected = [
        row for row in of_part if all(fulfils({**row.labels, "seed": row.seed}[name], where[name]) for name in where)
    ]
    least = min((row.seed for row in selected), default=None)
    panels: dict[Label | None, list[R]] = {}
    for row in (row for row in selected if row.seed == least):
        panel = panels.setdefault(row.labels[figure.columns] if figure.columns else "", [])
        panel += [row] * (figure.kind == "ecdf" or not panel)
    return panels


def _unify(rows: Sequence[PointRow | RunRow], axes: tuple[str, ...]) -> None:
    """Convert an axis' labels to text where experiments use different types, since they share a column."""
    types = {bool: bool, str: str, int: float, float: float}
    for axis in axes:
        if len({types[type(row.labels[axis])] for row in rows if row.labels[axis] is not None}) > 1:
            for row in rows:
                label = row.labels[axis]
                row.labels[axis] = None if label is None else str(label)


class _Planner:
    def __init__(self, study: Study) -> None:
        self.study = study
        self.rows: list[PointRow] = []
        self.points: dict[str, PlannedPoint] = {}
        self.machines: dict[str, Topology] = {}
        self._sections = SectionCache(study.folder)

    def add(self, name: str, experiment: Experiment) -> None:
        """Expand one experiment."""
        prefix = () if name == DEFAULT_EXPERIMENT and not self.study.experiments else ("experiments", name)

        def add(indices: tuple[int, ...], tree: dict[str, Any]) -> None:
            labels = dict.fromkeys(self.study.axes) | experiment.labels_at(indices)
            self._add_rows(name, experiment, labels, self._sections.of(tree))

        Expansion(self.study.base, experiment, prefix).each(add)

    def add_screening(self) -> None:
        """Plan the estimates of combinations that are screened."""
        screens = {name: part.screen for name, part in self.study.all_experiments.items() if part.screen}
        for row, planned in [*screening_rows(screens, self.rows, self.points)]:
            self.rows.append(row)
            self.points.setdefault(planned.point_id, planned)

    def add_spot_check(self) -> None:
        """Plan the checks of samples on a second engine."""
        axes = {axis for experiment in self.study.all_experiments.values() for axis in experiment.axes_below("engine")}
        rows, points = plan_spot_check(
            self.rows, self.points, axes, self.study.check == "engines", self.study.spot_check
        )
        self.rows += rows
        self.points |= {point.point_id: point for point in points if point.point_id not in self.points}

    def _add_rows(self, name: str, experiment: Experiment, labels: dict[str, Label | None], sections: Sections) -> None:
        jobs = sections.jobs
        ids = self._add_points(sections, experiment.seeds.all)
        baseline_ids: list[list[str] | None] = [None] * len(jobs)
        if experiment.slowdown:
            for number, job in enumerate(jobs):
                if not job.model.pattern.is_idle and not job.model.background:
                    alone = (*map(self._sections.idle, jobs[:number]), self._sections.from_start(job))
                    baseline = sections._replace(jobs=alone)
                    baseline_ids[number] = self._add_points(baseline, experiment.seeds.all)
        names = tuple(job.model.name for job in jobs)
        for position, seed in enumerate(experiment.seeds.all):
            of_seed = tuple(None if job_ids is None else job_ids[position] for job_ids in baseline_ids)
            self.rows.append(PointRow(name, labels, seed, ids[position], of_seed, names))

    def _add_points(self, sections: Sections, seeds: Sequence[int]) -> list[str]:
        """Add the point of these parts, with each seed, and return its ids."""
        texts: dict[str, str | list[str]] = {name: getattr(sections, name).text for name in SECTIONS}
        if sections.offered is None:
            texts["jobs"] = [job.text for job in sections.jobs]
        else:
            texts["offered"] = sections.offered.text
        ids = ids_of(texts, seeds)
        machine_id = self._machine_id(sections.machine)
        for point_id, seed in zip(ids, seeds, strict=True):
            if point_id not in self.points:
                self.points[point_id] = PlannedPoint(point_id, machine_id, sections.point(seed))
        return ids

    def _machine_id(self, machine: Section) -> str:
        machine_id = digest("m", machine.text)
        if machine_id not in self.machines:
            model = machine.model
            if extension_package(type(model).__module__) and model.nodes <= MAX_CHECKED_NODES:
                with at_path("machine"):
                    built(model)
            self.machines[machine_id] = model
        return machine_id
