"""From a study to the table of its points: a pure function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from fabricstudy.core.errors import SHOWN, combine_errors
from fabricstudy.core.kinds import extension_scope
from fabricstudy.core.model import ConfigError, Model, at_path, check_all
from fabricstudy.engine.point import PlannedPoint, Point, canonical_json, digest, ids_of, silent
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import EngineSettings, Network
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.routing.minimal import Minimal
from fabricstudy.schedule.run import PlannedRun
from fabricstudy.workload.job import Job
from fabricstudy.workload.offered import Offered

from .checks import check_engine, check_point
from .comparisons import check_comparisons
from .dotted_paths import DottedPath, fields_of, set_at_path
from .figures import EcdfFigure, JobsFigure, Label, MachineFigure, fulfils
from .messages import explain_errors
from .model import DEFAULT_EXPERIMENT, Study
from .schedules import RunPlanner, RunRow, Schedule, axes_of_schedules
from .spot_check import plan_resolution_check, plan_spot_check
from .sweep import Experiment, PointRow, Sweep
from .virtual_channels import VirtualChannels

MAX_LINK_ROWS = 1_000_000
"""Rows of the table `link_loads`: about 0.5 GB."""

FOLLOWED = 10_000
"""Points of an experiment with a mistake, or of a study with one, that are checked for further ones."""


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
        planner.add_rows()
    _unify(planner.rows, study.axes)
    check_comparisons(study, planner.rows, planner.points)
    _check_link_loads(study, planner)
    planner.add_spot_check()
    runs = _plan_schedules(study, planner.rows)
    run_axes = axes_of_schedules(study.schedules)
    return Plan(study, planner.rows, planner.points, planner.machines, study.axes, runs.rows, runs.runs, run_axes)


def mistakes_of_points(data: Mapping[str, Any], known: ConfigError, folder: Path) -> list[ConfigError]:
    """Return the mistakes in sweeps of a study as read, `data`, that has others, `known`, as far as these allow."""
    base = {key: data[key] for key in Point.model_fields if key in data}
    cache, found = _SectionCache(folder), list(known.each())

    def unseen(error: ConfigError) -> list[ConfigError]:
        """Return the mistakes that are neither found nor below one that is, whose consequence they may be."""
        seen = {mistake.keys for mistake in found}
        return [one for one in error.each() if not any(one.keys[: len(keys)] == keys for keys in seen)]

    def check(_: tuple[int, ...], tree: dict[str, Any]) -> None:
        try:
            cache.of(tree)
        except ConfigError as error:
            if new := unseen(error):
                raise combine_errors(new) from None

    named = data.get("experiments")
    names = [name for name in named if isinstance(name, str)] if isinstance(named, dict) else []
    prefixes: list[tuple[str, ...]] = [("experiments", name) for name in names]
    for prefix in prefixes or [()] * ("sweep" in data):
        for _ in range(2):  # the second time without wrong paths
            part = _correct_part(data, prefix, found)
            try:
                experiment = Experiment.model_validate(part, by_alias=True, by_name=False)
                if experiment.size <= FOLLOWED:
                    _Expansion(base, experiment, prefix).each(check)
                break
            except ValidationError as error:
                found += [] if part is None else unseen(explain_errors(error, part, Experiment).below(*prefix))
            except ConfigError as error:
                found += unseen(error)
                break
    return found[len(known.each()) :]


def _correct_part(data: Mapping[str, Any], prefix: tuple[str, ...], mistakes: Sequence[ConfigError]) -> Any:
    """Return the experiment at `prefix`, or the only sweep, without wrong paths in `set`; None if more is wrong."""
    keys = fields_of(Sweep)
    part = deepcopy(data[prefix[0]][prefix[1]] if prefix else {key: data[key] for key in keys if key in data})
    for mistake in mistakes:
        match mistake.keys[len(prefix) :] if mistake.keys[: len(prefix)] == prefix else ():
            case "sweep", axis, "set", label, path if not {"zip", "exclude"} & set(part):
                labels = part["sweep"][axis]["set"]
                for key in [key for key in labels if str(key) == label]:
                    labels[key].pop(path, None)
                    if not labels[key]:
                        del labels[key]
                if not labels:
                    return None
            case key, *_ if key in (*keys, "set"):
                return None
    return part


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


def _plan_schedules(study: Study, rows: list[PointRow]) -> RunPlanner:
    planner = RunPlanner(rows, axes_of_schedules(study.schedules), study.folder)

    def add(name: str, schedule: Schedule) -> None:
        _Expansion(schedule.base, schedule, ("schedules", name)).each(
            lambda indices, tree: planner.add(name, schedule, schedule.labels_at(indices), tree)
        )

    with extension_scope(study.extension_package):
        check_all([partial(add, name, schedule) for name, schedule in study.schedules.items()])
    _unify(planner.rows, axes_of_schedules(study.schedules))
    return planner


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


@dataclass(frozen=True, eq=False, slots=True)
class _Section:
    """A checked part of a point (machine, routing, one job, network or engine) and its physics as JSON."""

    model: Any
    text: str


def _section_of(model: Model) -> _Section:
    return _Section(model, canonical_json(model.physics()))


SECTIONS: dict[str, type[Model]] = {
    "machine": Topology, "routing": Routing, "network": Network, "engine": EngineSettings,
}  # fmt: skip
"""The parts of every point, besides its jobs or offered traffic."""

_TYPES = SECTIONS | {"job": Job, "offered": Offered}

_FIELDS = set(Point.model_fields)
"""Shared by all points: a set for each would need as much memory as the point."""


class Sections(NamedTuple):
    """The checked parts of a point."""

    machine: _Section
    routing: _Section
    jobs: tuple[_Section, ...]
    offered: _Section | None
    """Offered traffic in place of jobs."""
    network: _Section
    engine: _Section

    def point(self, seed: int) -> Point:
        """Return the point of these parts."""
        models = {name: getattr(self, name).model for name in SECTIONS}
        jobs = tuple(job.model for job in self.jobs)
        offered = None if self.offered is None else self.offered.model
        return Point.model_construct(_FIELDS, **models, jobs=jobs, offered=offered, seed=seed)


class _SectionCache:
    """Checks each distinct part of points once: points share most of their parts."""

    def __init__(self, folder: Path) -> None:
        self._context = {"folder": folder}
        self._checked: dict[tuple[str, str], _Section] = {}
        self._mistakes: list[ConfigError] = []
        self._silent: dict[_Section, _Section] = {}
        self._fitting: set[tuple[_Section | None, ...]] = set()

    def of(self, tree: dict[str, Any]) -> Sections:
        """Check all parts of a point, and that they fit together. Raises ConfigError with the mistakes of all."""
        self._mistakes = []
        network, offered = tree.get("network"), tree.get("offered")
        if offered is not None and tree.get("jobs"):
            remedy = "a point has either; write jobs: [] next to offered in `set`, or offered: null next to jobs"
            raise ConfigError("both offered traffic and jobs", remedy, ("offered",), code="conflicting-keys")
        sections = Sections(
            self._section("machine", tree.get("machine"), ("machine",)),
            self._section("routing", tree.get("routing"), ("routing",)),
            self._jobs(tree.get("jobs")) if offered is None else (),
            None if offered is None else self._section("offered", offered, ("offered",)),
            self._section("network", {} if network is None else network, ("network",)),
            self._section("engine", tree.get("engine"), ("engine",)),
        )
        key = (sections.machine, sections.routing, *sections.jobs, sections.offered)
        if key not in self._fitting:
            traffic = None if sections.offered is None else sections.offered.model
            jobs = [job.model for job in sections.jobs]
            if sections.machine.model is not None and None not in jobs:
                try:
                    check_point(sections.machine.model, sections.routing.model or Minimal(), jobs, traffic)
                except ConfigError as error:
                    self._mistakes.append(error)
            if self._mistakes:
                raise combine_errors(self._mistakes)
            self._fitting.add(key)
        return sections

    def _jobs(self, raw: Any) -> tuple[_Section, ...]:
        if not isinstance(raw, list) or not raw:
            remedy = "write [{pattern: ..., share: 1.0}]"
            self._mistakes.append(ConfigError("not a list of jobs", remedy, ("jobs",), raw, code="wrong-type"))
            return ()
        return tuple(self._section("job", job, ("jobs", str(number))) for number, job in enumerate(raw))

    def _section(self, kind: str, raw: Any, path: tuple[str, ...]) -> _Section:
        """Return a part; after a mistake, which it keeps for later, one without a model."""
        key, annotation = (kind, repr(raw)), _TYPES[kind]
        if key not in self._checked:
            try:
                model = annotation.model_validate(raw, context=self._context, by_alias=True, by_name=False)
                if isinstance(model, EngineSettings):
                    check_engine(model)
            except (ValidationError, ConfigError) as error:
                mistake = error if isinstance(error, ConfigError) else explain_errors(error, raw, annotation)
                self._mistakes.append(mistake.below(*path))
                return _Section(None, "")
            self._checked[key] = _section_of(model)
        return self._checked[key]

    def silent(self, job: _Section) -> _Section:
        """Return the job on the same nodes that sends nothing."""
        if job not in self._silent:
            self._silent[job] = _section_of(silent(job.model))
        return self._silent[job]


class _Planner:
    def __init__(self, study: Study) -> None:
        self.study = study
        self.rows: list[PointRow] = []
        self.points: dict[str, PlannedPoint] = {}
        self.machines: dict[str, Topology] = {}
        self._sections = _SectionCache(study.folder)
        # The machine that was built last: rows of one machine are mostly consecutive.
        self._built: tuple[_Section, Machine] | None = None
        self._expanded: list[tuple[str, Experiment, dict[str, Label | None], Sections]] = []

    def add(self, name: str, experiment: Experiment) -> None:
        """Expand one experiment."""
        prefix = () if name == DEFAULT_EXPERIMENT and not self.study.experiments else ("experiments", name)

        def add(indices: tuple[int, ...], tree: dict[str, Any]) -> None:
            labels = dict.fromkeys(self.study.axes) | experiment.labels_at(indices)
            self._expanded.append((name, experiment, labels, self._sections.of(tree)))

        _Expansion(self.study.base, experiment, prefix).each(add)

    def add_rows(self) -> None:
        """Plan the rows of all experiments, once all compared routings are known."""
        self._channels = VirtualChannels(
            (self._machine_id(sections.machine), sections.machine.model, sections.routing.model)
            for *_, sections in self._expanded
        )
        for name, experiment, labels, sections in self._expanded:
            machine_id, network = self._machine_id(sections.machine), sections.network.model
            model = self._channels.network(machine_id, sections.routing.model, network, sections.engine.model.kind)
            sections = sections if model is network else sections._replace(network=_section_of(model))
            self._add_rows(name, experiment, labels, sections)

    def add_spot_check(self) -> None:
        """Plan the checks of samples on a second engine or with half the phit."""
        axes = {axis for experiment in self.study.all_experiments.values() for axis in experiment.axes_below("engine")}
        checks = [plan_spot_check(self.rows, self.points, axes, self._channels)]
        if self.study.check == "resolution":
            checks.append(plan_resolution_check(self.rows, self.points))
        for rows, points in checks:
            self.rows += rows
            self.points |= {point.point_id: point for point in points if point.point_id not in self.points}

    def _add_rows(self, name: str, experiment: Experiment, labels: dict[str, Label | None], sections: Sections) -> None:
        jobs = sections.jobs
        ids = self._add_points(sections, experiment.seeds)
        baseline_ids: list[list[str] | None] = [None] * len(jobs)
        if experiment.slowdown:
            for number, job in enumerate(jobs):
                if not job.model.pattern.silent and not job.model.background:
                    baseline = sections._replace(jobs=(*map(self._sections.silent, jobs[:number]), job))
                    baseline = baseline._replace(engine=self._baseline_engine(baseline, sections))
                    baseline_ids[number] = self._add_points(baseline, experiment.seeds)
        names = tuple(job.model.name for job in jobs)
        for position, seed in enumerate(experiment.seeds):
            of_seed = tuple(None if job_ids is None else job_ids[position] for job_ids in baseline_ids)
            self.rows.append(PointRow(name, labels, seed, ids[position], of_seed, names))

    def _baseline_engine(self, baseline: Sections, sections: Sections) -> _Section:
        """Return the engine settings with which a baseline run has the resolution of its point."""
        point = sections.point(0)
        if self._built is None or sections.machine is not self._built[0]:
            self._built = (sections.machine, point.machine.build())
        settings = engine_named(point.engine.kind).baseline(baseline.point(0), point, self._built[1])
        return sections.engine if settings is point.engine else _section_of(settings)

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

    def _machine_id(self, machine: _Section) -> str:
        machine_id = digest("m", machine.text)
        self.machines.setdefault(machine_id, machine.model)
        return machine_id


class _Expansion:
    """Expands the raw points of an experiment, or runs of a schedule, and locates mistakes in them."""

    def __init__(self, base: dict[str, Any], varied: Experiment | Schedule, prefix: tuple[str, ...]) -> None:
        self._varied, self._prefix = varied, prefix
        self._axes = list(varied.changes.values())
        for path, value in varied.fixed:
            try:
                base = set_at_path(base, path, value)
            except ConfigError as error:
                raise self.error_at(error, ("set", path.text), path.text) from None
        self._base = base

    def tree(self, indices: tuple[int, ...]) -> dict[str, Any]:
        """Return the raw point at these positions of the axes."""
        tree = self._base
        for (name, axis), changes, index in zip(self._varied.sweep.items(), self._axes, indices, strict=True):
            try:
                for path, value in changes[index]:
                    tree = set_at_path(tree, path, value)
            except ConfigError as error:
                keys = ("sweep", name, *axis.path_location(index, str(error.value)))
                raise self.error_at(error, keys, error.value) from None
        return tree

    def each(self, add: Callable[[tuple[int, ...], dict[str, Any]], None]) -> None:
        """Call `add` with positions and raw point of each combination; report equal mistakes at one path once.

        Raises ConfigError if `add` raises for some combination, or there is none.
        """
        wrong: dict[tuple[str | None, str], ConfigError] = {}
        number = 0
        for number, indices in enumerate(self._varied.combinations(), 1):
            try:
                tree = self.tree(indices)
            except ConfigError as error:
                wrong.setdefault((error.path, error.code), error)
                continue
            try:
                add(indices, tree)
            except ConfigError as error:
                if error.file is not None:  # a log
                    raise
                for mistake in error.each():
                    located = self.error(mistake, indices)
                    wrong.setdefault((located.path, located.code), located)
                if len(wrong) >= SHOWN or number >= FOLLOWED:
                    break
        if wrong:
            raise combine_errors(list(wrong.values()))
        if not number:
            nothing = ConfigError("`exclude` removes every combination", "relax it", code="point-count")
            raise self.error_at(nothing, ("exclude",))

    def error(self, error: ConfigError, indices: tuple[int, ...]) -> ConfigError:
        """Return the error at the axis value that a mistake in a point stems from."""
        at_path = self._touching(error.keys, indices)
        # A part that does not fit the machine may stem from an axis over the machine.
        touching = at_path or self._touching(("machine",), indices)
        if not touching:
            return self._error_in_base(error)
        name, index, path, value = touching[-1]
        location = ("sweep", name, *self._varied.sweep[name].location(index, path.text))
        labels = {axis: str(self._varied.sweep[axis].labels[number]) for axis, number, _, _ in touching}
        labels_text = f" (at {', '.join(f'{k}={v}' for k, v in labels.items())})" if len(labels) > 1 else ""
        if at_path:
            location, value = (*location, *error.keys[len(path.steps) :]), error.value
        return self.error_at(error, location, value, labels_text)

    def _touching(self, keys: tuple[str, ...], indices: tuple[int, ...]) -> list[tuple[str, int, DottedPath, Any]]:
        return [
            (name, index, path, value)
            for name, axis, index in zip(self._varied.sweep, self._axes, indices, strict=True)
            for path, value in axis[index]
            if path.touches(keys)
        ]

    def _error_in_base(self, error: ConfigError) -> ConfigError:
        for path, _ in self._varied.fixed:
            if path.touches(error.keys):
                location = ("set", path.text, *error.keys[len(path.steps) :])
                return self.error_at(error, location, error.value)
        return error.below(*self._prefix) if isinstance(self._varied, Schedule) else error

    def error_at(
        self, error: ConfigError, keys: tuple[str, ...], value: object = None, labels: str = ""
    ) -> ConfigError:
        """Return the error at the path `keys` of this experiment, for points with these labels."""
        return error.changed(problem=error.problem + labels, keys=(*self._prefix, *keys), value=value)
