"""Checks of figures and claims against the planned points: each point has its partner, and labels fit.

Two points are a pair if they belong to one experiment and have equal labels on all of its axes but those that the
comparison names. Medians over seeds are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabricstudy.core.columns import NAMES
from fabricstudy.core.errors import Code, ConfigError
from fabricstudy.core.quantities import label_numbers

from .claims import PairMeasure, Trend, selections_of
from .figures import Condition, Figure, HeatmapFigure, Label, LabelRange, ScatterFigure, Selection, fulfils

if TYPE_CHECKING:
    from fabricstudy.engine.point import PlannedPoint
    from fabricstudy.study.sweep import PointRow

    from .model import Study

Observation = dict[str, Label | None]
"""The labels that identify a compared number."""


def _refusal(problem: str, remedy: str, path: str, code: Code = "not-comparable") -> ConfigError:
    return ConfigError(problem, remedy, (path,), code=code)


@dataclass(frozen=True)
class _Comparison:
    """Ratios of the numbers with the labels `of` to those with the labels `against`, at each label of `along`."""

    path: str
    selection: Selection
    of: Mapping[str, Condition]
    against: Mapping[str, Label]
    along: Mapping[str, tuple[Label, ...]]

    @property
    def where(self) -> dict[str, Condition]:
        """Conditions on both sides of a pair."""
        return {**self.selection.where, **self.along}

    @property
    def ends(self) -> tuple[Label, ...]:
        """Labels of `along`."""
        return next(iter(self.along.values()), ())


def check_comparisons(study: Study, rows: Sequence[PointRow], points: Mapping[str, PlannedPoint]) -> None:
    """Refuse figures and claims that compare a point with one that the study does not have.

    Comparisons that depend on results (link classes, pairs of engines, computed labels of analyses) are not checked.
    Raises ConfigError with the path of the first such figure or measure, and the labels of a point without partner.
    """
    _check_tables(study, rows, points)
    _check_labels(study, rows)
    _check_selected(study, rows)
    _check_across(study, rows)
    _check_job_names(study, rows, points)
    for comparison in _comparisons(study):
        name = comparison.selection.experiment
        axes = tuple(study.all_experiments[name].sweep)
        first_seed = min(study.all_experiments[name].seeds.all)
        of_first_seed = [row for row in rows if row.experiment == name and row.seed == first_seed]
        _check(comparison, _observations(comparison, axes, of_first_seed, points))


def _selections(study: Study) -> Iterator[tuple[str, Selection]]:
    """Yield the path and selection of each figure and measure that reads simulations."""
    return (entry for entry in selections_of(study.figures, study.claims) if entry[1].of_points)


_OF_JOBS = ("jobs", "messages", "interference", "agreement", "predictors")


def _check_tables(study: Study, rows: Sequence[PointRow], points: Mapping[str, PlannedPoint]) -> None:
    """Refuse tables of jobs for experiments of offered traffic, and the other way round."""
    offered = {row.experiment for row in rows if points[row.point_id].point.offered is not None}
    for name in offered:
        if study.all_experiments[name].slowdown:
            problem = "offered traffic has no baseline runs"
            raise _refusal(problem, "leave slowdown out", "slowdown", "conflicting-keys")
        if study.all_experiments[name].seeds.is_adaptive:
            problem = "offered traffic has no runtime, whose precision decides how many seeds are simulated"
            raise _refusal(problem, "write a number of seeds", "seeds", "conflicting-keys")
    for path, selection in _selections(study):
        of_jobs, is_offered = selection.table in _OF_JOBS, selection.experiment in offered
        if (of_jobs and is_offered) or (selection.table == "latency" and not is_offered):
            problem = f"experiment {selection.experiment} has {'offered traffic' if of_jobs else 'jobs'}"
            remedy = "write table: latency" if of_jobs else "write another table, such as jobs"
            raise _refusal(problem, remedy, f"{path}.table", "conflicting-keys")


def _check_labels(study: Study, rows: Sequence[PointRow]) -> None:
    """Refuse ranges and logarithmic scales of labels that do not have them."""
    labels: dict[tuple[str, str], set[Label | None]] = {}
    for row in rows:
        for axis, label in row.labels.items():
            labels.setdefault((row.experiment, axis), set()).add(label)
    for path, selection in _selections(study):
        for axis, wanted in selection.where.items():
            on_axis = labels[selection.experiment, axis] if isinstance(wanted, LabelRange) else ()
            if any(isinstance(label, str) for label in on_axis):
                problem = "a range of labels that are text, here or in another experiment"
                remedy = "list the labels, or rename one of the axes"
                raise _refusal(problem, remedy, f"{path}.where.{axis}", "invalid-value")
        if isinstance(selection, Figure) and selection.x_log:
            # Engines, jobs and link classes, which are no axes, have text as labels.
            along = labels.get((selection.experiment, selection.x), {""}) if selection.x != "seed" else {1}
            numbers = label_numbers(along)
            if numbers is None or min(numbers) <= 0:
                problem = f"'{selection.x}' has labels that are not numbers above zero"
                raise _refusal(problem, "leave x_log out", f"{path}.x_log")


def _check_selected(study: Study, rows: Sequence[PointRow]) -> None:
    """Refuse figures and measures whose conditions on axes no point fulfils, so that they would show nothing."""
    for path, selection in _selections(study):
        # The engines of a table may be those of a check.
        axes = set(study.all_experiments[selection.experiment].sweep) - {"engine"}
        where = {axis: wanted for axis, wanted in selection.where.items() if axis in axes}
        if where and not any(
            row.experiment == selection.experiment and _fulfils_all(row.labels, where) for row in rows
        ):
            problem, remedy = "no point of the experiment fulfils these conditions", "use labels of its axes"
            raise _refusal(problem, remedy, f"{path}.where")


def _check_across(study: Study, rows: Sequence[PointRow]) -> None:
    """Refuse a figure with a mark that has no row in the analysis of its x."""
    for index, figure in enumerate(study.figures):
        if not isinstance(figure, ScatterFigure) or figure.x_analysis is None or not figure.of_points:
            continue
        analysis = study.analyses[figure.x_analysis]
        where = {axis: wanted for axis, wanted in figure.where.items() if axis in study.axes}
        chosen = [row for row in rows if row.experiment == figure.experiment and _fulfils_all(row.labels, where)]
        names = {_text(label): _text(name) for label, name in figure.x_key.items()}
        marked = {
            key: dict.fromkeys(_text(row.labels[key]) for row in chosen if row.labels.get(key) is not None)
            for key in analysis.keys
        }
        for label in names:
            if not any(label in labels for labels in marked.values()):
                problem = f"no mark has the label '{label}' on an axis that is a key of the analysis"
                raise _refusal(problem, "use a label of the axis", f"figures.{index}.x_key")
        for key, labels in marked.items():
            known = analysis.labels_of(key)
            missing = [label for label in labels if known is not None and names.get(label, label) not in known]
            if missing:
                label = missing[0]
                problem = f"the analysis {figure.x_analysis} has no {key} '{label}', which labels a mark of the figure"
                remedy = f"add it there, narrow `where`, or map it to one of {', '.join(known or ())} with x_key"
                raise _refusal(problem, remedy, f"figures.{index}.x_analysis")


def _text(label: Label | None) -> str:
    """Return a label as in tables: 2.0 as 2."""
    return f"{label:g}" if isinstance(label, float) else str(label)


def _check_job_names(study: Study, rows: Sequence[PointRow], points: Mapping[str, PlannedPoint]) -> None:
    """Refuse to identify jobs by a name that two jobs of one point have."""
    for path, selection in _selections(study):
        reduced = selection.table == "jobs" and selection.reduce_jobs != "each"
        if reduced or "job_name" not in selection.axes():
            continue
        wanted = selection.where.get("job_name")
        for row in rows:
            if row.experiment != selection.experiment:
                continue
            jobs = points[row.point_id].point.jobs
            busy = [job.name for job in jobs if not job.pattern.is_idle and not job.background]
            names = [name for name in busy if wanted is None or fulfils(name, wanted)]
            if len(set(names)) < len(names):
                name = next(name for name in names if names.count(name) > 1)
                problem = f"several jobs of one point have the name '{name}', so that job_name is ambiguous"
                reduction = "mean" if getattr(selection, "parts", ()) else "geometric-mean"
                reduction = f"reduce_jobs: {reduction}" + " without `table`" * (selection.table != "jobs")
                remedy = f"use distinct names, their number (job), or {reduction}"
                raise _refusal(problem, remedy, path)


def _comparisons(study: Study) -> Iterator[_Comparison]:
    for path, selection in _selections(study):
        if selection.table in ("agreement", "predictors"):  # only the results have their rows
            continue
        if isinstance(selection, Figure | HeatmapFigure | ScatterFigure) and selection.normalise_to:
            yield _Comparison(path, selection, {}, selection.normalise_to, {})
        elif isinstance(selection, PairMeasure):
            along = selection.along if isinstance(selection, Trend) else {}
            # Only the results have link classes.
            computed = {"class"} if selection.table == "links" else set[str]()
            of, where = (
                {axis: wanted for axis, wanted in labels.items() if axis not in computed}
                for labels in (selection.of, selection.where)
            )
            against = {axis: label for axis, label in selection.against.items() if axis not in computed}
            yield _Comparison(path, selection.model_copy(update={"where": where}), of, against, along)


def _observations(
    comparison: _Comparison, axes: tuple[str, ...], rows: Sequence[PointRow], points: Mapping[str, PlannedPoint]
) -> list[Observation]:
    """Return the labels of each selected number."""
    selection, mentioned = comparison.selection, comparison.selection.axes()
    sides = ({**comparison.where, **comparison.of}, {**comparison.where, **comparison.against})
    observed: list[tuple[Observation, str]] = []
    for row in rows:
        labels = {name: row.labels[name] for name in axes}
        if "engine" in mentioned:
            labels["engine"] = points[row.point_id].point.engine.kind
        for observation in _of_point(selection, labels, row, points):
            if any(_fulfils_all(observation, side) for side in sides):
                observed.append((observation, points[row.point_id].machine_id))
    if selection.table == "machines":
        return _of_machines(observed, mentioned)
    return [observation for observation, _ in observed]


def _of_point(
    selection: Selection, labels: Observation, row: PointRow, points: Mapping[str, PlannedPoint]
) -> list[Observation]:
    """Return the labels of the numbers that a table has of a point: one, or one for each job that communicates."""
    if selection.table not in ("jobs", "interference"):
        return [labels]
    jobs = points[row.point_id].point.jobs
    sending = [number for number, job in enumerate(jobs) if not job.pattern.is_idle]
    # A background job has no number in the tables.
    busy = [number for number in sending if not jobs[number].background]
    # A job is identified by its number, unless the comparison names it.
    names = set(NAMES[selection.table]) & selection.axes()
    if selection.table == "jobs" and selection.reduce_jobs != "each":
        types = dict.fromkeys(row.job_names[number] for number in busy)
        return [{**labels, "job_name": name} for name in types] if names else [labels] * bool(busy)
    if selection.table == "interference" and len(sending) < 2:
        return []
    if not names:
        return [{**labels, "job": number} for number in busy]
    numbers = {"job"} & selection.axes()
    return [{**labels, **dict.fromkeys(numbers, number), "job_name": row.job_names[number]} for number in busy]


def _of_machines(observed: Sequence[tuple[Observation, str]], mentioned: set[str]) -> list[Observation]:
    """Return one number a machine, with the axes mentioned and those with one label for each machine."""
    labels_of: dict[tuple[str, str], set[Any]] = {}
    for observation, machine in observed:
        for name, label in observation.items():
            labels_of.setdefault((name, machine), set()).add(label)
    several = {name for (name, _), labels in labels_of.items() if len(labels) > 1} - mentioned
    chosen = (tuple(item for item in observation.items() if item[0] not in several) for observation, _ in observed)
    return list(map(dict, dict.fromkeys(chosen)))


def _fulfils_all(observation: Observation, where: Mapping[str, Condition]) -> bool:
    return all(name in observation and fulfils(observation[name], wanted) for name, wanted in where.items())


def _check(comparison: _Comparison, observations: Sequence[Observation]) -> None:
    if not comparison.against:
        return
    partners, others = list[Observation](), list[Observation]()
    for observation in observations:
        (partners if _fulfils_all(observation, comparison.against) else others).append(observation)
    compared = [observation for observation in others if _fulfils_all(observation, comparison.of)]
    if not compared or not partners:
        side = "normalise_to" if not isinstance(comparison.selection, PairMeasure) else "against" if compared else "of"
        path = f"{comparison.path}.{side}"
        raise _refusal("no point of the study is selected", "use labels of this experiment", path)
    keys_of_partners, keys = ({_key(observation, comparison) for observation in side} for side in (partners, compared))
    for rest in dict.fromkeys(_key(observation, comparison)[0] for observation in compared):
        for end in range(max(1, len(comparison.ends))):
            if (rest, end) not in keys_of_partners or (rest, end) not in keys:
                labels = ", ".join(f"{name} {label}" for name, label in rest) or "none"
                at_end = f", at {comparison.ends[end]}" if comparison.along else ""
                problem = f"a point has no matching point to compare with (other labels: {labels}{at_end})"
                raise _refusal(problem, "narrow `where` to points that have one", comparison.path)


def _key(observation: Observation, comparison: _Comparison) -> tuple[tuple[tuple[str, Any], ...], int]:
    """Return the labels that both points of a pair share, and the position of the pair among the labels of `along`."""
    compared = {*comparison.against, *comparison.along}
    rest = tuple((name, label) for name, label in observation.items() if name not in compared)
    labels = [observation[name] for name in comparison.along]
    return rest, next((number for number, end in enumerate(comparison.ends) if fulfils(labels[0], end)), 0)
