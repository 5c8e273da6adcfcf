"""From a study to the table of its points: a pure function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from fabricstudy.core.errors import SHOWN, StudyError, combine_errors
from fabricstudy.core.kinds import extension_scope
from fabricstudy.core.model import ConfigError, Model
from fabricstudy.engine.point import PlannedPoint, Point, canonical_json, digest, ids_of, silent
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import EngineSettings, Network
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.schedule.run import PlannedRun
from fabricstudy.workload.job import Job
from fabricstudy.workload.offered import Offered

from .checks import check_engine, check_point
from .comparisons import check_comparisons
from .dotted_paths import DottedPath, set_at_path
from .drawn import drawn_runs
from .figures import EcdfFigure, JobsFigure, MachineFigure
from .messages import explain_errors
from .model import DEFAULT_EXPERIMENT, Study
from .schedules import RunPlanner, RunRow, Schedule, axes_of_schedules
from .spot_check import plan_resolution_check, plan_spot_check
from .sweep import Experiment, Label, PointRow
from .virtual_channels import VirtualChannels

T = TypeVar("T")

MAX_LINK_ROWS = 1_000_000
"""Rows of the table `link_loads`: about 0.5 GB."""

FOLLOWED = 10_000
"""Points of an experiment with a mistake that are checked for further ones."""


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
    def drawn_runs(self) -> set[str]:
        """Ids of the runs of schedules whose jobs some figure draws in time."""
        figures = [
            one for one in self.study.report_figures if isinstance(one, JobsFigure | EcdfFigure) and one.draws_jobs
        ]
        panels = [panel for figure in figures for panel in drawn_runs(figure, self.run_rows).values()]
        return {row.run_id for panel in panels for row in panel}

    @property
    def draws_machines(self) -> bool:
        """Whether some figure draws a machine."""
        return any(isinstance(figure, MachineFigure) for figure in self.study.report_figures)


def plan(study: Study) -> Plan:
    """Expand a study into its points, and check each of them.

    Rows are in the order of the experiments, then of the axes (the last axis varies fastest), then of the seeds. Raises
    StudyError for points that cannot be, with the path of the axis value that causes the mistake, each mistake once; or
    at the first figure or claim that compares a point without a partner.
    """
    planner = _Planner(study)
    with extension_scope(study.extension_package):
        _plan_parts(study.all_experiments, planner.add)
        planner.add_rows()
    _unify(planner.rows, study.axes)
    check_comparisons(study, planner.rows, planner.points)
    _check_link_loads(study, planner)
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
        file = None if study.file is None else str(study.file)
        problem = f"about {links:,} rows of links"
        raise StudyError(problem, remedy, file, "link_loads", list(study.link_loads), "out-of-range")


def _plan_parts(parts: Mapping[str, T], add: Callable[[str, T], None]) -> None:
    """Plan each part of a study, and raise the mistakes of all parts together."""
    wrong: list[StudyError] = []
    for name, part in parts.items():
        try:
            add(name, part)
        except StudyError as error:
            wrong.append(error)
    if wrong:
        raise combine_errors(wrong)


def _plan_schedules(study: Study, rows: list[PointRow]) -> RunPlanner:
    planner = RunPlanner(rows, axes_of_schedules(study.schedules), study.folder)

    def add(name: str, schedule: Schedule) -> None:
        _Expansion(study, schedule, ("schedules", name)).each(
            lambda indices, tree: planner.add(name, schedule, schedule.labels_at(indices), tree)
        )

    with extension_scope(study.extension_package):
        _plan_parts(study.schedules, add)
    _unify(planner.rows, axes_of_schedules(study.schedules))
    return planner


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


_TYPES: dict[str, type[Model]] = {
    "machine": Topology,
    "routing": Routing,
    "network": Network,
    "engine": EngineSettings,
    "job": Job,
    "offered": Offered,
}


class _Sections:
    """Checks each distinct part of points once: points share most of their parts."""

    def __init__(self, study: Study) -> None:
        self._context = {"folder": study.folder}
        self._checked: dict[tuple[str, str], _Section] = {}
        self._latest: dict[tuple[str, ...], tuple[Any, _Section]] = {}
        self._silent: dict[_Section, _Section] = {}
        self._fitting: set[tuple[_Section, ...]] = set()

    def of(self, tree: dict[str, Any]) -> dict[str, tuple[_Section, ...]]:
        """Check all parts of a point, and that they fit together."""
        traffic = "offered" if tree.get("offered") is not None else "jobs"
        sections = {root: self.sections_at(tree, root) for root in ("machine", "routing", traffic, "network", "engine")}
        key = sections["machine"] + sections["routing"] + sections[traffic]
        if key not in self._fitting:
            models = [part.model for part in sections[traffic]]
            jobs, offered = (models, None) if traffic == "jobs" else ([], models[0])
            check_point(sections["machine"][0].model, sections["routing"][0].model, jobs, offered)
            self._fitting.add(key)
        return sections

    def sections_at(self, tree: dict[str, Any], root: str) -> tuple[_Section, ...]:
        """Check one part; the list of jobs has several sections."""
        raw = tree.get(root)
        if root != "jobs":
            return (self._section(root, {} if raw is None and root == "network" else raw, (root,)),)
        if not isinstance(raw, list) or not raw:
            remedy = "write [{pattern: ..., share: 1.0}]"
            raise ConfigError("not a list of jobs", remedy, ("jobs",), raw, code="wrong-type")
        return tuple(self._section("job", job, ("jobs", str(number))) for number, job in enumerate(raw))

    def _section(self, kind: str, raw: Any, path: tuple[str, ...]) -> _Section:
        latest = self._latest.get(path)
        if latest is not None and latest[0] is raw:
            return latest[1]
        key = (kind, repr(raw))
        section = self._checked.get(key)
        if section is None:
            section = self._checked[key] = self._check(kind, raw, path)
        self._latest[path] = (raw, section)
        return section

    def _check(self, kind: str, raw: Any, path: tuple[str, ...]) -> _Section:
        try:
            model = _TYPES[kind].model_validate(raw, context=self._context, by_alias=True, by_name=False)
            if isinstance(model, EngineSettings):
                check_engine(model)
        except ValidationError as error:
            raise explain_errors(error, raw, _TYPES[kind]).below(*path) from None
        except ConfigError as error:
            raise error.below(*path) from None
        return _section_of(model)

    def silent(self, job: _Section) -> _Section:
        """Return the job on the same nodes that sends nothing."""
        if job not in self._silent:
            self._silent[job] = _section_of(silent(job.model))
        return self._silent[job]


Sections = dict[str, tuple[_Section, ...]]


class _Planner:
    def __init__(self, study: Study) -> None:
        self.study = study
        self.rows: list[PointRow] = []
        self.points: dict[str, PlannedPoint] = {}
        self.machines: dict[str, Topology] = {}
        self._sections = _Sections(study)
        self._machine_ids: dict[_Section, str] = {}
        # The last machine that was built: rows of one machine are mostly consecutive.
        self._built: tuple[_Section, Machine] | None = None
        self._expanded: list[tuple[str, Experiment, dict[str, Label | None], Sections]] = []

    def add(self, name: str, experiment: Experiment) -> None:
        """Expand one experiment."""
        prefix = () if name == DEFAULT_EXPERIMENT and not self.study.experiments else ("experiments", name)

        def add(indices: tuple[int, ...], tree: dict[str, Any]) -> None:
            labels = dict.fromkeys(self.study.axes) | experiment.labels_at(indices)
            self._expanded.append((name, experiment, labels, self._sections.of(tree)))

        _Expansion(self.study, experiment, prefix).each(add)

    def add_rows(self) -> None:
        """Plan the rows of all experiments, once all compared routings are known."""
        parts = [(sections["machine"][0], sections["routing"][0].model) for *_, sections in self._expanded]
        self._channels = VirtualChannels(
            (self._machine_id(machine), machine.model, routing) for machine, routing in parts
        )
        for name, experiment, labels, sections in self._expanded:
            self._add_rows(name, experiment, labels, self._with_channels(sections))

    def _with_channels(self, sections: Sections) -> Sections:
        """Set the virtual channels where the study does not."""
        (machine,), (routing,), (network,), (engine,) = (
            sections[root] for root in ("machine", "routing", "network", "engine")
        )
        model = self._channels.network(self._machine_id(machine), routing.model, network.model, engine.model.kind)
        return sections if model is network.model else {**sections, "network": (_section_of(model),)}

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
        jobs = sections.get("jobs", ())
        ids = self._keep(sections, experiment.seeds)
        alone: list[list[str] | None] = [None] * len(jobs)
        if experiment.slowdown:
            for number, job in enumerate(jobs):
                if not job.model.pattern.silent and not job.model.background:
                    before = tuple(self._sections.silent(other) for other in jobs[:number])
                    run = {**sections, "jobs": (*before, job)}
                    alone[number] = self._keep(run | {"engine": (self._baseline(run, sections),)}, experiment.seeds)
        names = tuple(job.model.name for job in jobs)
        for position, seed in enumerate(experiment.seeds):
            alone_ids = tuple(None if ids_alone is None else ids_alone[position] for ids_alone in alone)
            self.rows.append(PointRow(name, labels, seed, ids[position], alone_ids, names))

    def _baseline(self, run: Sections, sections: Sections) -> _Section:
        """Return the engine settings with which a baseline run has the resolution of its point."""
        point = _point(sections, 0)
        if self._built is None or sections["machine"][0] is not self._built[0]:
            self._built = (sections["machine"][0], point.machine.build())
        settings = engine_named(point.engine.kind).baseline(_point(run, 0), point, self._built[1])
        return sections["engine"][0] if settings is point.engine else _section_of(settings)

    def _keep(self, sections: Sections, seeds: Sequence[int]) -> list[str]:
        """Add the point of these parts, with each seed, and return its ids."""
        texts: dict[str, str | list[str]] = {root: parts[0].text for root, parts in sections.items()}
        if "jobs" in sections:
            texts["jobs"] = [job.text for job in sections["jobs"]]
        ids = ids_of(texts, seeds)
        for point_id, seed in zip(ids, seeds, strict=True):
            if point_id not in self.points:
                self.points[point_id] = PlannedPoint(
                    point_id, self._machine_id(sections["machine"][0]), _point(sections, seed)
                )
        return ids

    def _machine_id(self, machine: _Section) -> str:
        if machine not in self._machine_ids:
            self._machine_ids[machine] = digest("m", machine.text)
            self.machines[self._machine_ids[machine]] = machine.model
        return self._machine_ids[machine]


_FIELDS = set(Point.model_fields)
"""Shared by all points: a set for each would need as much memory as the point."""


def _point(sections: Sections, seed: int) -> Point:
    return Point.model_construct(
        _FIELDS,
        machine=sections["machine"][0].model,
        routing=sections["routing"][0].model,
        jobs=tuple(job.model for job in sections.get("jobs", ())),
        offered=sections["offered"][0].model if "offered" in sections else None,
        network=sections["network"][0].model,
        engine=sections["engine"][0].model,
        seed=seed,
    )


class _Expansion:
    """Yields the raw points of an experiment, or runs of a schedule; neighbours share the trees of common labels."""

    def __init__(self, study: Study, varied: Experiment | Schedule, prefix: tuple[str, ...]) -> None:
        self._study, self._varied, self._prefix = study, varied, prefix
        self._axes = list(varied.changes.values())
        self._indices: tuple[int, ...] = ()
        base = varied.base if isinstance(varied, Schedule) else study.base
        for path, value in varied.fixed:
            try:
                base = set_at_path(base, path, value)
            except ConfigError as error:
                raise self.error_at(error, ("set", path.text), path.text) from None
        self._trees = [base]

    def tree(self, indices: tuple[int, ...]) -> dict[str, Any]:
        """Return the raw point at these positions of the axes."""
        common = 0
        while common < len(self._indices) and self._indices[common] == indices[common]:
            common += 1
        del self._trees[common + 1 :]
        for number in range(common, len(indices)):
            tree = self._trees[-1]
            try:
                for path, value in self._axes[number][indices[number]]:
                    tree = set_at_path(tree, path, value)
            except ConfigError as error:
                name = list(self._varied.sweep)[number]
                place = self._varied.sweep[name].path_place(indices[number], str(error.value))
                raise self.error_at(error, ("sweep", name, *place), error.value) from None
            self._trees.append(tree)
        self._indices = indices
        return self._trees[-1]

    def each(self, add: Callable[[tuple[int, ...], dict[str, Any]], None]) -> None:
        """Call `add` with positions and raw point of each combination; report equal mistakes at one path once.

        Raises StudyError if `add` raises for some combination, or there is none.
        """
        wrong: dict[tuple[str | None, str], StudyError] = {}
        number = 0
        for number, indices in enumerate(self._varied.combinations(), 1):
            tree = self.tree(indices)
            try:
                add(indices, tree)
            except ConfigError as error:
                for mistake in (self.error(each, indices) for each in error.each()):
                    wrong.setdefault((mistake.path, mistake.code), mistake)
                if len(wrong) >= SHOWN or number >= FOLLOWED:
                    break
        if wrong:
            raise combine_errors(list(wrong.values()))
        if not number:
            nothing = ConfigError("`exclude` removes every combination", "relax it", code="point-count")
            raise self.error_at(nothing, ("exclude",))

    def error(self, error: ConfigError, indices: tuple[int, ...]) -> StudyError:
        """Return the error at the axis value that a mistake in a point stems from."""
        at_path = self._touching(error.path, indices)
        # A part that does not fit the machine may stem from an axis over the machine.
        touching = at_path or self._touching(("machine",), indices)
        if not touching:
            return self._error_in_base(error)
        name, index, path, value = touching[-1]
        place = ("sweep", name, *self._varied.sweep[name].place(index, path.text))
        labels = {other: str(self._varied.sweep[other].labels[number]) for other, number, _, _ in touching}
        at = f" (at {', '.join(f'{k}={v}' for k, v in labels.items())})" if len(labels) > 1 else ""
        if at_path:
            place, value = (*place, *error.path[len(path.steps) :]), error.value
        return self.error_at(error, place, value, at)

    def _touching(self, keys: tuple[str, ...], indices: tuple[int, ...]) -> list[tuple[str, int, DottedPath, Any]]:
        return [
            (name, index, path, value)
            for name, axis, index in zip(self._varied.sweep, self._axes, indices, strict=True)
            for path, value in axis[index]
            if path.touches(keys)
        ]

    def _error_in_base(self, error: ConfigError) -> StudyError:
        for path, _ in self._varied.fixed:
            if path.touches(error.path):
                place = ("set", path.text, *error.path[len(path.steps) :])
                return self.error_at(error, place, error.value)
        place = (*self._prefix, *error.path) if isinstance(self._varied, Schedule) else error.path
        return StudyError(error.problem, error.remedy, self._file, ".".join(place), error.value, error.code)

    def error_at(self, error: ConfigError, place: tuple[str, ...], value: object = None, at: str = "") -> StudyError:
        """Return the error for a path in this experiment; `at` names the labels that it holds for."""
        path = ".".join((*self._prefix, *place))
        return StudyError(error.problem + at, error.remedy, self._file, path, value, error.code)

    @property
    def _file(self) -> str | None:
        return None if self._study.file is None else str(self._study.file)
