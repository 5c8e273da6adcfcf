"""The grammar of sweeps: axes, their cross product, zipped axes, exclusions, seeds."""

import itertools
import keyword
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    Strict,
    WithJsonSchema,
    model_validator,
)

from fabricstudy.core.columns import RESERVED
from fabricstudy.core.errors import suggestion
from fabricstudy.core.model import ConfigError, Flag, Model, Name, OrList, Written, check_all, model_check
from fabricstudy.core.quantities import to_unit
from fabricstudy.engine.point import Point

from .dotted_paths import DottedPath, parse_path
from .figures import Label
from .mix import Mix
from .screening import Screen
from .seeds import Seeds

_BASE_UNITS = ("byte", "byte/second", "nanosecond")

AxisName = Annotated[
    str, Strict(), Name("[a-z][a-z0-9_]{0,31}", "use lower-case letters, digits and '_', with a letter first", 32)
]


def label_key(label: Label) -> float | str:
    """Return a key that is the same for labels of equal meaning: for 1 and 1.0, but not for 1 and true."""
    return float(label) if _is_number(label) else str(label)


MAX_LABEL = 2**53
"""Largest whole number that is exact in a column of numbers."""


def _check_label(label: object, path: tuple[str, ...]) -> None:
    if not isinstance(label, str | int | float) or (isinstance(label, float) and not math.isfinite(label)):
        remedy = "write values as {label: value}, with text or a number as label"
        raise ConfigError("not a label", remedy, path, label, "invalid-value")
    if not isinstance(label, str) and abs(label) > MAX_LABEL:
        raise ConfigError("a label too large for a table", "write it as text", path, label, "out-of-range")
    if isinstance(label, str) and not 0 < len(label) <= 100:
        raise ConfigError("a label is empty or too long", "use 1 to 100 characters", path, label, "invalid-value")


MAX_VALUES_OF_RANGE = 10_000


def _expanded(values: Any) -> Any:
    """Return the numbers of a range {from, to, step}, both ends included, and other values as they are.

    Examples
    --------
    >>> _expanded({"from": 0.1, "to": 0.3, "step": 0.1}), _expanded([1, 2])
    ([0.1, 0.2, 0.3], [1, 2])
    """
    if not isinstance(values, dict) or set(values) != {"from", "to", "step"}:
        return values
    for key, value in values.items():
        if not _is_number(value) or not math.isfinite(value):
            raise ConfigError("not a number", "write {from: 0.1, to: 0.9, step: 0.1}", (key,), value, "wrong-type")
    # Decimal digits as written, so that labels are 0.3 and not 0.30000000000000004.
    start, end, step = (Decimal(str(values[key])) for key in ("from", "to", "step"))
    if step <= 0 or end < start or (end - start) / step >= MAX_VALUES_OF_RANGE:
        problem = f"a range needs a positive step, and 1 to {MAX_VALUES_OF_RANGE:,} numbers"
        raise ConfigError(problem, "write {from: 0.1, to: 0.9, step: 0.1}", ("step",), values["step"], "out-of-range")
    numbers = [start + index * step for index in range(int((end - start) / step) + 1)]
    whole = all(isinstance(value, int) for value in values.values())
    return [int(one) if whole else float(one) for one in numbers]


def _check_values(values: Any) -> Any:
    values = _expanded(values)
    if not isinstance(values, list | dict):
        raise ConfigError("not a list of values", "write [a, b] or {label: value}", code="wrong-type")
    if not values:
        raise ConfigError("there are no values", "write at least one, or leave the axis out", code="invalid-value")
    seen: set[float | str] = set()
    for number, label in enumerate(values):
        path = () if isinstance(values, dict) else (str(number),)
        _check_label(label, path)
        # Labels of several types become text in tables, and a condition does not distinguish 1 from "1".
        keys = {label_key(label), str(label)}
        if not seen.isdisjoint(keys):
            problem = "two values have the same label"
            raise ConfigError(problem, "write distinct labels: {label: value}", path, label, "duplicate")
        seen |= keys
    return values


def _check_settings(settings: Any) -> Any:
    if not isinstance(settings, dict):
        raise ConfigError("not a mapping", "write {label: {path: value, ...}, ...}", code="wrong-type")
    _check_values(settings)
    for label, paths in settings.items():
        if not isinstance(paths, dict) or not all(isinstance(path, str) for path in paths):
            problem = "not a mapping of paths to values"
            raise ConfigError(problem, "write {path: value, ...}", (str(label),), paths, "wrong-type")
    return settings


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _magnitude(value: object, unit: str) -> float | None:
    if not isinstance(value, str):
        return value if _is_number(value) else None  # type: ignore[return-value]
    try:
        return to_unit(value.strip(), unit, value)
    except ConfigError:
        return None


class Axis(Model):
    """One axis: a path (`of`) and its `values` (or a `mix` of jobs), or several paths at once (`set`)."""

    of: str | None = Field(None, description="dotted path that varies; lists by position from 0, or * for all")
    values: Annotated[
        Any,
        BeforeValidator(_check_values),
        WithJsonSchema({"type": ["array", "object"], "minItems": 1}),
        Written("list, {label: value}, or {from, to, step}"),
    ] = Field(None, description="the values of the path; in a list or range each value is its label")
    mix: Mix | None = Field(None, description="instead of `values`, of `jobs`: random workloads of several jobs")
    settings: Annotated[
        Any,
        BeforeValidator(_check_settings),
        WithJsonSchema({"type": "object", "additionalProperties": {"type": "object"}, "minProperties": 1}),
        Written("{label: {path: value}}"),
    ] = Field(None, alias="set", description="instead of `of` and `values`: several paths at once")

    @model_check
    def _one_way(self) -> None:
        if self.mix is not None and self.of != "jobs":
            problem = "a mix varies the list of jobs"
            raise ConfigError(problem, "write {of: jobs, mix: {...}}", ("of",), self.of, "invalid-value")
        ways = (self.values is not None) + (self.mix is not None)
        if (self.settings is None) == (self.of is None) or ways != (self.of is not None):
            problem = "an axis has either `of` and `values`, or `set`"
            raise ConfigError(problem, "write {of: path, values: [...]}", code="invalid-value")

    @property
    def _choices(self) -> Any:
        return self.values if self.mix is None else self.mix.workloads

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """Labels in the order of the file: the axis' column in every table."""
        labels: tuple[Label, ...] = tuple(self.settings if self.settings is not None else self._choices)
        kinds = {bool if isinstance(label, bool) else str if isinstance(label, str) else float for label in labels}
        # Labels share a column, so labels of different types are text.
        return labels if len(kinds) == 1 else tuple(map(str, labels))

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def changes(self) -> tuple[dict[str, Any], ...]:
        """The paths that each label sets, with their values."""
        if self.settings is not None:
            return tuple(self.settings.values())
        assert self.of is not None
        values = self._choices.values() if isinstance(self._choices, dict) else self._choices
        return tuple({self.of: value} for value in values)

    @cached_property
    def magnitudes(self) -> tuple[float, ...] | None:
        """The size of each label: itself, or the only quantity that it sets, in base units; None if one has none.

        Examples
        --------
        >>> Axis(of="jobs.0.pattern.message", values={"short": "1 kB", "long": "1 MB"}).magnitudes
        (1000.0, 1000000.0)
        >>> Axis(of="jobs.0.nodes", values=[8, 64]).magnitudes, Axis(of="routing", values=["minimal"]).magnitudes
        ((8.0, 64.0), None)
        """
        values: list[Any] = list(self.labels)
        if not all(map(_is_number, values)):
            values = [next(iter(change.values())) if len(change) == 1 else None for change in self.changes]
        by_unit = ([_magnitude(value, unit) for value in values] for unit in _BASE_UNITS)
        return next((tuple(map(float, sizes)) for sizes in by_unit if None not in sizes), None)  # type: ignore[arg-type]

    def location(self, index: int, path: str) -> tuple[str, ...]:
        """Return the path, in the axis, of the value that `path` has for the label at `index`."""
        if self.settings is not None:
            return "set", str(list(self.settings)[index]), path
        return "values" if self.mix is None else "mix", str(self.labels[index])

    def path_location(self, index: int, path: str) -> tuple[str, ...]:
        """Return the path, in the axis, of `path` itself."""
        return ("of",) if self.settings is None else self.location(index, path)

    def index(self, label: Label) -> int | None:
        keys = [label_key(known) for known in self.labels]
        for key in (label_key(label), str(label)):
            if key in keys:
                return keys.index(key)
        return None


def _axes_in_full(axes: Any) -> Any:
    """Expand `engine: [a, b]`, a shorthand for an axis of that name over that part."""
    if not isinstance(axes, dict):
        return axes
    return {name: {"of": name, "values": axis} if isinstance(axis, list) else axis for name, axis in axes.items()}


def path_into(root: type[Model], text: str, location: tuple[str, ...]) -> DottedPath:
    """Parse a dotted path into a model; `location` is its path in the file."""
    try:
        return parse_path(text, root)
    except ConfigError as error:
        raise ConfigError(error.problem, error.remedy, location, text, error.code) from None


class SweepBase(Model):
    """A sweep over a base: a point, or a run of a schedule."""

    VARIES: ClassVar[type[Model]]
    """Model into which the paths of the axes lead."""

    TAKEN: ClassVar[frozenset[str]]
    """Names of columns of tables, which are not allowed for axes."""

    sweep: Annotated[dict[AxisName, Annotated[Axis, OrList()]], BeforeValidator(_axes_in_full)] = Field(
        default_factory=dict,
        description="the axes by name; each combination of their values is a point; `engine: [a, b]` is short for "
        "`engine: {of: engine, values: [a, b]}`",
    )
    zip_: tuple[tuple[str, ...], ...] = Field(
        (), alias="zip", description="groups of axes that move together instead of crossing, such as [[a, b]]"
    )
    exclude: tuple[dict[str, Any], ...] = Field(
        (), description="combinations left out, {axis: label or [labels], ...}; all conditions of an entry hold"
    )
    seeds: Seeds = Field(
        Seeds(listed=(1,)),
        description="number of repetitions (seeds 1, 2, ...), the list of seeds, or {from, to, until}",
    )

    _base: dict[str, Any] = PrivateAttr(default_factory=dict)

    @model_validator(mode="wrap")
    @classmethod
    def _keep_base(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        sweep = handler(data)
        if isinstance(data, dict):
            sweep._base = {key: data[key] for key in cls.VARIES.model_fields if key in data}
        return sweep

    @property
    def base(self) -> dict[str, Any]:
        """The point or run as in the file, before anything varies."""
        return self._base

    @model_check
    def _names_fit(self) -> None:
        for name, axis in self.sweep.items():
            taken = name in self.TAKEN and not (name == "engine" and axis.of in ("engine", "engine.kind"))
            if taken or keyword.iskeyword(name):
                problem = "the name is that of a column of the tables or a keyword of Python"
                raise ConfigError(problem, f"rename it, such as {name}_axis", ("sweep", name), name, "invalid-name")
            if name == "engine":
                self._check_engine_labels(axis)

    def _check_engine_labels(self, axis: Axis) -> None:
        for label, change in zip(axis.labels, axis.changes, strict=True):
            (value,) = change.values()
            if (value.get("kind") if isinstance(value, dict) else value) != label:
                problem = "the label of an axis named engine is not the engine's kind"
                remedy = "label each engine by its kind, or rename the axis"
                raise ConfigError(problem, remedy, ("sweep", "engine", "values", str(label)), label, "invalid-value")

    @model_check
    def _paths_fit(self) -> None:
        targets = {
            ("sweep", name, *axis.path_location(index, path)): path
            for name, axis in self.sweep.items()
            for index, change in enumerate(axis.changes)
            for path in change
        }
        check_all(partial(path_into, self.VARIES, path, target) for target, path in targets.items())
        paths = {name: self._paths_of(name) for name in self.sweep}
        for number, name in enumerate(paths):
            for before in itertools.islice(paths, number):
                for path, overwritten in itertools.product(paths[name], paths[before]):
                    if path.covers(overwritten):
                        problem = f"this axis sets {path.text} and so overwrites {overwritten.text} of axis '{before}'"
                        remedy = f"put '{name}' before '{before}', or let them set different paths"
                        raise ConfigError(problem, remedy, ("sweep", name), code="conflicting-keys")

    def _paths_of(self, name: str) -> list[DottedPath]:
        return list({path.text: path for change in self.changes[name] for path, _ in change}.values())

    def axes_below(self, path: str) -> set[str]:
        """Return the axes that set nothing but `path` and paths below it."""
        above = parse_path(path, self.VARIES)
        return {name for name in self.sweep if all(map(above.covers, self._paths_of(name)))}

    @cached_property
    def changes(self) -> dict[str, list[list[tuple[DottedPath, Any]]]]:
        """The paths and values that each label of each axis sets."""

        def parsed(name: str, axis: Axis, index: int, path: str) -> DottedPath:
            return path_into(self.VARIES, path, ("sweep", name, *axis.path_location(index, path)))

        return {
            name: [
                [(parsed(name, axis, index, path), value) for path, value in change.items()]
                for index, change in enumerate(axis.changes)
            ]
            for name, axis in self.sweep.items()
        }

    @model_check
    def _zips_fit(self) -> None:
        used: set[str] = set()
        for number, group in enumerate(self.zip_):
            path = ("zip", str(number))
            if len(group) < 2:
                problem = "a group of fewer than two axes"
                raise ConfigError(problem, "name at least two: [[a, b]]", path, list(group), "invalid-value")
            for name in group:
                if name not in self.sweep:
                    raise ConfigError("no such axis", suggestion(name, self.sweep), path, name, code="unknown-name")
                if name in used:
                    remedy = "name each axis in one group, once"
                    raise ConfigError("duplicate axis", remedy, path, name, "invalid-value")
                used.add(name)
            sizes = {name: len(self.sweep[name]) for name in group}
            if len(set(sizes.values())) > 1:
                lengths = ", ".join(f"{name} has {size}" for name, size in sizes.items())
                problem = f"zipped axes of different lengths: {lengths}"
                raise ConfigError(problem, "write equally many values", path, list(group), "invalid-value")

    @model_check
    def _decided_axes_exist(self) -> None:
        for number, name in enumerate(self.seeds.decide):
            if name not in self.sweep:
                path = ("seeds", "decide", str(number))
                raise ConfigError("no such axis", suggestion(name, self.sweep), path, name, code="unknown-name")

    @model_check
    def _excludes_fit(self) -> None:
        for number, entry in enumerate(self.exclude):
            if not entry:
                problem = "an empty entry excludes every combination"
                raise ConfigError(problem, "name an axis", ("exclude", str(number)), code="point-count")
            for name, labels in entry.items():
                path = ("exclude", str(number), name)
                if name not in self.sweep:
                    raise ConfigError("no such axis", suggestion(name, self.sweep), path, name, code="unknown-name")
                for label in labels if isinstance(labels, list) else [labels]:
                    _check_label(label, path)
                    if self.sweep[name].index(label) is None:
                        remedy = suggestion(label, map(str, self.sweep[name].labels))
                        raise ConfigError("no such label", remedy, path, label, "unknown-name")

    @cached_property
    def dimensions(self) -> tuple[tuple[str, ...], ...]:
        """Groups of axes that move together, in the order of the file."""
        group_of = {name: group for group in self.zip_ for name in group}
        groups = dict.fromkeys(tuple(sorted(group_of.get(n, (n,)), key=list(self.sweep).index)) for n in self.sweep)
        return tuple(groups)

    @property
    def size(self) -> int:
        """Number of points before exclusions."""
        return math.prod(len(self.sweep[group[0]]) for group in self.dimensions) * len(self.seeds.all)

    def combinations(self) -> Iterator[tuple[int, ...]]:
        """Yield each combination that is not excluded, as positions of labels; the last axis varies fastest."""
        names = list(self.sweep)
        ranges = [range(len(self.sweep[group[0]])) for group in self.dimensions]
        dimension_of = {name: number for number, group in enumerate(self.dimensions) for name in group}
        columns = [dimension_of[name] for name in names]
        dropped = [
            {
                names.index(name): set(map(self.sweep[name].index, labels if isinstance(labels, list) else [labels]))
                for name, labels in entry.items()
            }
            for entry in self.exclude
        ]
        for position in itertools.product(*ranges):
            indices = tuple(position[column] for column in columns)
            if not any(all(indices[axis] in drop for axis, drop in entry.items()) for entry in dropped):
                yield indices

    def labels_at(self, indices: tuple[int, ...]) -> dict[str, Label]:
        """Return the labels of a combination, by axis."""
        axes = zip(self.sweep.items(), indices, strict=True)
        return {name: axis.labels[index] for (name, axis), index in axes}


class Sweep(SweepBase):
    """A sweep over points."""

    VARIES = Point
    TAKEN = RESERVED

    screen: Screen | None = Field(
        None, description="simulate only the combinations that may be the fastest, by all on a cheap engine"
    )
    slowdown: Flag = Field(False, description="also simulate the baseline run of each job, which slowdown needs")

    @model_check
    def _screen_fits(self) -> None:
        if self.screen and self.seeds.budget_cpu_s is not None:
            problem, remedy = (
                "a screening decides what is simulated, not a budget",
                "leave the budget out, and lower to",
            )
            raise ConfigError(problem, remedy, ("seeds", "budget"), code="conflicting-keys")
        if self.screen and (axes := self.axes_below("engine")):
            problem, remedy = "a screening of several engines", "leave the axis out"
            raise ConfigError(problem, remedy, ("screen",), sorted(axes)[0], "conflicting-keys")


class Experiment(Sweep):
    """A named part of a study: changes to the base, and a sweep."""

    settings: dict[str, Any] = Field(
        default_factory=dict, alias="set", description="changes to the base, made first: {path: value, ...}"
    )

    @model_check
    def _settings_fit(self) -> None:
        check_all(partial(path_into, Point, text, ("set", text)) for text in self.settings)

    @cached_property
    def fixed(self) -> list[tuple[DottedPath, Any]]:
        """The paths of `set`, with their values."""
        return [(path_into(Point, text, ("set", text)), value) for text, value in self.settings.items()]


@dataclass(frozen=True)
class PointRow:
    """One point of one experiment: a row of the tables."""

    experiment: str
    labels: dict[str, Label | None]
    """Label of every axis of the study; None for an axis that the experiment does not have."""
    seed: int
    point_id: str
    baseline_ids: tuple[str | None, ...]
    """Baseline run of each job (this point if the job is alone in it); None for idle jobs and without `slowdown`."""
    job_names: tuple[str, ...]
