"""Setup of a study for the page: overview, experiments, jobs and parameters."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import pandas as pd

from fabricstudy.core.columns import ADDED_EXPERIMENTS, BASELINE_EXPERIMENT, column_unit
from fabricstudy.core.model import Model, NoPhysics
from fabricstudy.core.phrasing import join_words, named, quantity
from fabricstudy.engine.point import Point
from fabricstudy.study.dotted_paths import fields_of
from fabricstudy.study.model import Study
from fabricstudy.study.plan import Plan
from fabricstudy.table.schemas import axes_of, own_axes
from fabricstudy.table.select import label_text

from .figure_style import truncate_label
from .text import TextTable, VaryingAxis, varying_axes

SETUP_ORDER = ("offered", "network", "engine", "routing", "machine")
"""Parts of a point with parameters; jobs are in another table."""

_MOST_VALUES, _MOST_JOBS = 5, 4
_UNITS = ("nanosecond", "byte", "byte/second")


def study_overview(study: Study, planned: Plan, points: pd.DataFrame) -> list[tuple[str, str]]:
    """Return the overview at the top of the page: axes compared, machines, workloads and source."""
    chosen = {row.point_id: planned.points[row.point_id].point for row in planned.rows}
    sources = list(dict.fromkeys(claim.source for claim in study.claims))
    varied: dict[str, dict[str, None]] = {}
    for _, _, _, axes in experiments(study, points[~points["experiment"].isin(ADDED_EXPERIMENTS)]):
        for axis in axes:
            labels = (f"\u201c{label}\u201d" if ", " in label else label for label in axis.labels)
            varied.setdefault(axis.axis, {}).update(dict.fromkeys(labels))
    title = {axis: f"{axis} ({label})" for axis, label in axis_titles(study).items()}
    lines = [
        ("Compared", "; ".join(f"{title.get(axis, axis)}: {named(list(labels))}" for axis, labels in varied.items())),
        ("Machines" if len(planned.machines) > 1 else "Machine", _machines(planned, machine_labels(points))),
        ("Workloads", _workloads(list(chosen.values()))),
        ("Source", named(sources) if sources else ""),
    ]
    return [line for line in lines if line[1]]


def axis_titles(study: Study) -> dict[str, str]:
    """Return the label of the x axis of figures over an axis of the study, by that axis."""
    shown = [(getattr(figure, "x", None), getattr(figure, "x_label", None)) for figure in study.report_figures]
    return {axis: label for axis, label in shown if label and axis in study.meanings}


def machine_labels(points: pd.DataFrame) -> dict[str, list[str]]:
    """Return the labels of each machine on the axes that identify machines.

    On these axes every label has one machine in each experiment; a machine may have several labels, for instance with
    two routings.
    """
    points = points[~points["experiment"].isin(ADDED_EXPERIMENTS)]
    texts: dict[str, list[str]] = {}
    for axis in axes_of(points):
        labelled = points[points[axis].notna()]
        machines = labelled.groupby(["experiment", axis])["machine_id"].nunique()
        if labelled["machine_id"].nunique() < 2 or (machines > 1).any():
            continue
        for machine, labels in labelled.groupby("machine_id", sort=False)[axis]:
            texts.setdefault(str(machine), []).append(" / ".join(dict.fromkeys(labels.map(label_text))))
    return texts


def _machines(planned: Plan, labels: Mapping[str, Sequence[str]]) -> str:
    """Return label, size and bandwidths of the machines of each kind."""
    groups: dict[str, list[str]] = {}
    for name, machine in planned.machines.items():
        groups.setdefault(str(machine.kind), []).append(name)
    texts = []
    for kind, ids in groups.items():
        machines = [planned.machines[name] for name in ids]
        label = ", ".join(labels.get(ids[0], ())) if len(ids) == 1 else ""
        name = f"{label} ({kind})" if label else kind if len(ids) == 1 else f"{kind} ({len(ids)} variants)"
        nodes, routers = (_range([getattr(config, size) for config in machines], size) for size in ("nodes", "routers"))
        texts.append(f"{name}: {nodes} nodes, {routers} routers{_bandwidths(machines)}")
    return "; ".join(texts)


def _bandwidths(machines: Sequence[Any]) -> str:
    by_class: dict[str, list[float]] = {}
    for machine in machines:
        bandwidth = getattr(machine, "bandwidth", None)
        for name, field in type(bandwidth).model_fields.items() if isinstance(bandwidth, Model) else ():
            value = getattr(bandwidth, name)
            if value is None:
                continue  # follows from the others
            by_class.setdefault(str(field.alias), []).extend(value if isinstance(value, tuple) else (value,))
    texts = {name: _range(values, "bandwidth_Bps") for name, values in by_class.items()}
    if len(set(texts.values())) == 1:
        distinct = {value for values in by_class.values() for value in values}
        in_bits = f" ({8 * distinct.pop() / 1e9:.6g} Gb/s)" if len(distinct) == 1 else ""
        return f", every link {next(iter(texts.values()))}{in_bits}"
    return "".join(f", {name} {text}" for name, text in texts.items())


def _workloads(points: Sequence[Point]) -> str:
    """Return patterns, their key `message` and nodes of each job, or of all jobs if there are many."""
    facts = dict.fromkeys(
        (job.name, job.pattern.kind, getattr(job.pattern, "message_bytes", None), job.node_count(point.machine.nodes))
        for point in points
        for job in point.jobs
        if not job.pattern.is_idle
    )
    names = list(dict.fromkeys(fact[0] for fact in facts))
    many, texts = len(names) > _MOST_JOBS, []
    for name in [f"{len(names)} jobs"] if many else names:
        _, kinds, sizes, nodes = zip(*(fact for fact in facts if many or fact[0] == name), strict=True)
        message_sizes = [int(size) for size in sizes if size is not None]
        messages = f", message {_range(message_sizes, 'message_bytes')}" if message_sizes else ""
        several = "" if many else _several([sum(job.name == name for job in point.jobs) for point in points])
        texts.append(f"{name}{several}: {named(list(dict.fromkeys(kinds)))}{messages}, {_range(nodes, 'nodes')} nodes")
    return "; ".join(texts)


def _several(counts: Sequence[int]) -> str:
    """Return how many jobs of a name the points that have one have, if they are more than one."""
    present = [count for count in counts if count]
    return f" ({_range(present, 'count')} jobs)" if max(present) > 1 else ""


def _range(values: Sequence[float], column: str) -> str:
    low, high = (format_value(column, end(values)) for end in (min, max))
    return low if low == high else f"{low} to {high}"


def experiments(study: Study, points: pd.DataFrame) -> list[tuple[str, int, int, list[VaryingAxis]]]:
    """Return name, points, seeds and varying axes of each experiment."""
    return [
        (str(name), len(part), part["seed"].nunique(), varying_axes(part, own_axes(part), study.meanings))
        for name, part in points[points["experiment"] != BASELINE_EXPERIMENT].groupby("experiment", sort=False)
    ]


def jobs(planned: Plan, table: pd.DataFrame) -> TextTable:
    """Return number in a point, pattern and size of the jobs of each experiment."""
    patterns = [
        planned.points[point_id].point.jobs[job].pattern.kind
        for point_id, job in zip(table["point_id"], table["job"], strict=True)
    ]
    rows = []
    for key, part in table.groupby(["experiment", "job_name", pd.Series(patterns, table.index, dtype=str)], sort=False):
        sizes = [_range(part[name].tolist(), "count") for name in ("ranks", "nodes", "messages", "bytes")]
        number = _range(part.groupby("point_id").size().tolist(), "count")
        rows.append([*map(str, key), number, *sizes, str(part["point_id"].nunique())])
    columns = ("experiment", "job", "pattern", "jobs", "ranks", "nodes", "messages", "bytes", "points")
    return TextTable(columns, rows, frozenset(range(3, 9)))


def parameters(study: Study, planned: Plan) -> tuple[TextTable, TextTable, TextTable]:
    """Return every parameter of the simulations with its values and origin: of networks and engines, jobs and machines.

    Values are those of the models of the planned points.
    """
    values: dict[str, dict[str, None]] = {}
    given: set[str] = set()
    sections = {
        section: [getattr(point.point, section) for point in planned.points.values()] for section in SETUP_ORDER
    }
    for section, models in sections.items():
        several = len({getattr(model, "kind", "") for model in models}) > 1
        for model in {id(model): model for model in models if model is not None}.values():  # points share parts
            for keys, text, is_given in _leaves(model):
                kind = f" ({model.kind})" if several and keys else ""
                path = ".".join([f"{section}{kind}", *keys])
                values.setdefault(path, {})[text] = None
                given |= {path} if is_given else set()
    rows = [[path, _values(texts), _origin(study, path, len(texts), path in given)] for path, texts in values.items()]
    head = ("parameter", "value", "origin")
    machine = [row for row in rows if row[0].startswith("machine")]
    rest = [row for row in rows if row not in machine]
    return TextTable(head, rest), TextTable(head, _job_parameters(study, planned)), TextTable(head, machine)


def _job_parameters(study: Study, planned: Plan) -> list[list[str]]:
    """Return the parameters of jobs: of each job by its index, or of all of many."""
    names = dict.fromkeys(row.point_id for row in planned.rows if row.experiment not in ADDED_EXPERIMENTS)
    points = [planned.points[name].point for name in names]
    many = any(len(point.jobs) > _MOST_JOBS for point in points)
    values: dict[str, dict[str, None]] = {}
    given: set[str] = set()
    for point in points:
        for index, job in enumerate(point.jobs):
            ranks = job.rank_count(point.machine.nodes, point.machine.cores_per_node)
            where = "*" if many else str(index)
            leaves: dict[tuple[str, ...], tuple[str, bool]] = {("name",): (job.name, "name" in job.model_fields_set)}
            # Each of several equal jobs stands for itself.
            leaves |= {keys: (text, is_given) for keys, text, is_given in _leaves(job) if keys != ("count",)}
            resolved = job.pattern.resolved(ranks).items()
            leaves |= {("pattern", key): (_value_text(key, value), False) for key, value in resolved}
            for keys, (text, is_given) in leaves.items():
                path = ".".join(["jobs", where, *keys])
                values.setdefault(path, {})[text] = None
                given |= {path} if is_given else set()
    parts = list(dict.fromkeys(path.split(".")[2] for path in values))
    ordered = sorted(values, key=lambda path: (path.split(".")[1], parts.index(path.split(".")[2])))
    shown = ((path, values[path]) for path in ordered if list(values[path]) != ["not set"])
    return [[path, _values(texts), _origin(study, path, len(texts), path in given)] for path, texts in shown]


def _leaves(model: Model, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str, bool]]:
    """Yield path, value and whether it differs from the default, for each key of a model and its parts."""
    settable, differing = fields_of(type(model)).values(), model.physics()
    for name, field in type(model).model_fields.items():
        if field not in settable:
            continue
        value = getattr(model, name)
        path = keys if name == "kind" else (*keys, field.alias or name)
        if isinstance(value, Model):
            below = _leaves(value, path)
            yield from ((leaf, text, name in differing and is_given) for leaf, text, is_given in below)
        elif NoPhysics not in field.metadata:
            yield path, _value_text(name, value), name in differing


def _value_text(name: str, value: Any) -> str:
    texts = [format_value(name, part) for part in (value if isinstance(value, tuple) else (value,))]
    return truncate_label(", ".join(texts) or "none")


def _values(texts: Iterable[str]) -> str:
    first, rest = list(texts)[:_MOST_VALUES], list(texts)[_MOST_VALUES:]
    return "; ".join(first + [f"{len(rest)} more"] * bool(rest))


def _origin(study: Study, path: str, count: int, is_given: bool) -> str:
    """Return whether a parameter is set, default or varied, and by which axes."""
    keys = re.sub(r" \(.*?\)", "", path).split(".")

    def sets(change: str) -> bool:
        return all(a == b or "*" in (a, b) for a, b in zip(change.split("."), keys, strict=False))

    sweeps = (experiment.sweep.items() for experiment in study.all_experiments.values())
    axes = [name for name, axis in chain(*sweeps) if any(map(sets, chain(*axis.changes)))]
    if count > 1 and axes:
        return f"varied: {join_words(list(dict.fromkeys(axes)))}"
    return "set" if is_given else "default"


def format_value(name: str, value: Any) -> str:
    """Return a value with the prefix that fits; its name ends with the unit.

    Examples
    --------
    >>> format_value("buffer_bytes", 64_000), format_value("links_Bps", 2.5e10)
    ('64 kB', '25 GB/s')
    >>> format_value("bandwidth_Bps", {"EDR": 1.25e10, "4xDDR": 2e9})
    'EDR 12.5 GB/s, 4xDDR 2 GB/s'
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {format_value(name, part)}" for key, part in value.items())
    if value is None:
        return "not set"
    unit = column_unit(name)
    if isinstance(value, int) and not isinstance(value, bool) and unit not in _UNITS:
        return f"{value:,}"
    if unit not in _UNITS or isinstance(value, str):
        return str(value).lower() if isinstance(value, bool) else label_text(value)
    return quantity(value, unit)
