"""What a study may say about claims: what a source says, what is accepted, and how it is measured."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from fabricstudy.analysis.base import Analysis
from fabricstudy.core.columns import KEYS, NAMES
from fabricstudy.core.errors import Code, StudyError
from fabricstudy.core.model import ConfigError, Model, Name, check_all

from .figures import AnyFigure, Condition, Label, Names, RankCorrelation, ScatterFigure, Selection, as_tuple

Reduce = Literal["max", "min", "median", "mean"]


class Measure(Selection):
    """A number computed from a column of the selected rows; the median over seeds is taken first."""

    NUMBERS: ClassVar[tuple[str, ...]] = ("metric",)

    metric: str = Field(description="column of the table")
    reduce: Reduce = Field("max", description="how several rows become one number")

    @model_validator(mode="after")
    def _fits_table(self) -> Measure:
        self._check_numbers()
        return self


class Value(Measure):
    """The metric itself, reduced over all selected rows."""

    kind: Literal["value"]


def _refuse_twice(key: str, axes: Iterable[str], others: Iterable[str]) -> None:
    both = sorted(set(axes).intersection(others))
    if both:
        problem = f"axis '{both[0]}' stands in `{key}` and in another key of the measure"
        raise ConfigError(problem, "leave it out of one", (key,), both[0], "duplicate")


class Pairs(Measure):
    """Each point with the labels `of`, and the otherwise equal one with the labels `against`."""

    AXES: ClassVar[tuple[str, ...]] = ("where", "of")

    of: dict[str, Condition] = Field(
        min_length=1, description="labels of the one point of each pair: {axis: label, [labels] or {min, max}}"
    )
    against: dict[str, Label] = Field(min_length=1, description="labels of the other: {axis: label}")

    @model_validator(mode="after")
    def _same_axes(self) -> Pairs:
        if set(self.of) != set(self.against):
            problem = "`of` and `against` name different axes"
            raise ConfigError(problem, "give both the same axes", ("against",), code="conflicting-keys")
        _refuse_twice("where", self.where, self.of)
        return self


class Contrast(Pairs):
    """The metric of one point of a pair over that of the other.

    `form`: ratio A/B, change A/B - 1, reduction 1 - A/B, or distance abs(A/B - 1).
    """

    kind: Literal["contrast"]
    form: Literal["ratio", "change", "reduction", "distance"] = Field(
        "ratio", description="what is computed of a pair A and B: A/B, A/B - 1, 1 - A/B, or abs(A/B - 1)"
    )


class Trend(Pairs):
    """The ratio of a pair at the second label of `along: {axis: [from, to]}` over that at the first."""

    AXES: ClassVar[tuple[str, ...]] = ("where", "of", "along")

    kind: Literal["trend"]
    along: dict[str, tuple[Label, Label]] = Field(
        min_length=1, max_length=1, description="one axis and two of its labels: {axis: [from, to]}"
    )

    @model_validator(mode="after")
    def _another_axis(self) -> Trend:
        _refuse_twice("along", self.along, {*self.of, *self.where})
        return self


class Crossing(Pairs):
    """The label of the axis `along` at which the ratio of a pair rises to `level`, between labels on a straight line.

    It is the first label where the ratio is never below. Where the ratio stays below, the level is not reached, and
    the claim tells up to what label. The axis stands in `of`, too, which says what labels of it are looked at.
    """

    kind: Literal["crossing"]
    along: str = Field(description="axis of `of`, whose labels are numbers")
    level: float = Field(1.0, allow_inf_nan=False, description="what the ratio rises to")

    @model_validator(mode="after")
    def _of_pair(self) -> Crossing:
        if self.along not in self.of:
            remedy = f"say in `of` what labels it has there, such as {self.along}: {{min: 0}}"
            raise ConfigError("this axis is not in `of`", remedy, ("along",), self.along, "unknown-name")
        return self


class Spread(Measure):
    """How far apart otherwise equal points lie along the axes `over` (``seed`` is one, too).

    `form`: range (max - min) / median, ratio max / min, or excess max / min - 1.
    """

    kind: Literal["spread"]
    over: Annotated[tuple[str, ...], BeforeValidator(as_tuple), Field(min_length=1)] = Field(
        description="axes along which the spread is taken; seed is one, too"
    )
    form: Literal["range", "ratio", "excess"] = Field(
        "range", description="(max - min) / median, max / min, or max / min - 1"
    )

    def axes(self) -> set[str]:
        return set(self.where) | (set(self.over) - {"seed"})


class Correlation(Measure):
    """Rank correlation of two columns over the selected rows; from -1 (opposite orders) to 1 (the same order).

    Without `over` all rows are taken at once; with it those that differ along these axes alone, and `reduce` makes one
    number of several such groups. Medians over seeds are taken first. Groups of fewer than 6 rows, or in which a column
    is constant, have none.
    """

    AXES: ClassVar[tuple[str, ...]] = ("where", "over")
    NUMBERS: ClassVar[tuple[str, ...]] = ("metric", "against")

    kind: Literal["correlation"]
    against: str = Field(description="the other column of the table")
    form: RankCorrelation = Field("spearman", description="Spearman's rho, or Kendall's tau-b")
    over: Names = Field((), description="axes along which rows are put in order; left out: all")
    reduce: Reduce = Field("min", description="how several groups become one number")

    @model_validator(mode="after")
    def _two_columns(self) -> Correlation:
        if self.against == self.metric:
            problem = "a column always agrees with itself"
            raise ConfigError(problem, "name another one", ("against",), self.against, "duplicate")
        return self


Simple = Annotated[Value | Contrast | Trend | Crossing | Spread, Field(discriminator="kind")]


class Quotient(Model):
    """One measure over another, such as the variation under Valiant over that under minimal routing."""

    kind: Literal["quotient"]
    of: Simple = Field(description="the dividend")
    against: Simple = Field(description="the divisor")


Cell = int | float | str


class Rows(Selection):
    """How many rows differ between a printed table and the selected rows of an analysis.

    Rows are compared as wholes and in any order; one that either side has and the other has not counts as one.
    """

    AXES: ClassVar[tuple[str, ...]] = ("where", "columns")

    kind: Literal["rows"]
    columns: tuple[str, ...] = Field(min_length=1, description="columns to compare")
    rows: tuple[tuple[Cell, ...], ...] = Field(min_length=1, description="the printed rows, each a list of cells")

    @model_validator(mode="after")
    def _fits_columns(self) -> Rows:
        if self.analysis is None:
            remedy = "name the analysis to compare with"
            raise ConfigError("this key is missing", remedy, ("analysis",), code="missing-key")
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                problem = f"{len(row)} cells for {len(self.columns)} columns"
                raise ConfigError(problem, "give one a column", ("rows", str(number)), code="out-of-range")
        return self


AnyMeasure = Annotated[
    Value | Contrast | Trend | Crossing | Spread | Correlation | Quotient | Rows, Field(discriminator="kind")
]
Bound = Annotated[float, Field(allow_inf_nan=False)]
NumberRange = tuple[Bound | None, Bound | None]


class Part(Model):
    """One measured number of a claim, the range that states what the source says of it, and the one that is accepted.

    A printed number is the range of what rounds to it: 15 % is 14.5 to 15.5 %. "Up to 15 %" bounds the largest number
    from above. Words are the range that states them: "faster" is a ratio of times of at most 1.
    """

    statement: str = Field(min_length=1, max_length=500, description="what this number is")
    measure: AnyMeasure = Field(description="how it is computed")
    source_range: NumberRange = Field(
        description="closed range [low, high] that states what the source says; null leaves an end open"
    )
    accept: NumberRange | None = Field(
        None, description="closed range in which the part is reproduced; contains `source_range`, its default"
    )
    reason: str = Field("", max_length=500, description="why a wider range is accepted, or how words became a range")
    show: Literal["number", "percent"] = Field("number", description="how the number is printed")

    @property
    def accepted(self) -> NumberRange:
        """The range in which the part is reproduced."""
        return self.source_range if self.accept is None else self.accept

    @model_validator(mode="before")
    @classmethod
    def _refuse_expect(cls, value: Any) -> Any:
        if isinstance(value, dict) and "expect" in value:
            remedy = "did you mean 'source_range'? A wider range is written as `accept`, with its `reason`"
            raise ConfigError("unknown key", remedy, ("expect",), code="unknown-key")
        return value

    @model_validator(mode="after")
    def _check_ranges(self) -> Part:
        for key, (low, high) in (("source_range", self.source_range), ("accept", self.accepted)):
            if low is None and high is None:
                raise ConfigError("[null, null] holds always", "give at least one bound", (key,), code="out-of-range")
            if low is not None and high is not None and low > high:
                raise ConfigError("an empty range", "swap the two", (key,), [low, high], "out-of-range")
        if self.accepted != self.source_range:
            (low, high), (least, most) = self.source_range, self.accepted
            holds_low = least is None or (low is not None and low >= least)
            holds_high = most is None or (high is not None and high <= most)
            if not (holds_low and holds_high):
                problem, remedy = "leaves out numbers of `source_range`", "widen it"
                raise ConfigError(problem, remedy, ("accept",), list(self.accepted), "out-of-range")
            if not self.reason:
                remedy = "say why more is accepted than the source says"
                raise ConfigError("this key is missing", remedy, ("reason",), code="missing-key")
        return self

    def measures(self) -> tuple[Value | Contrast | Trend | Crossing | Spread | Correlation | Rows, ...]:
        """Selections that the part needs."""
        if isinstance(self.measure, Quotient):
            return (self.measure.of, self.measure.against)
        return (self.measure,)


ClaimId = Annotated[
    str, Name("[A-Za-z0-9][A-Za-z0-9_.-]{0,31}", "take letters, digits, '_', '.' and '-', a letter or digit first", 32)
]


class Claim(Model):
    """What a source says, in our words. It is reproduced if every part is.

    A claim without parts is never run; its `note` says why. A `note` may also tell a slip of the source. With a `scope`
    the claim is at most reproduced in part.
    """

    id: ClaimId = Field(description="short name, such as 2.1")
    statement: str = Field(min_length=1, max_length=1000, description="what the source says, in our words")
    source: str = Field(min_length=1, max_length=500, description="where it says so")
    note: str = Field("", max_length=2000, description="a remark, such as a slip of the source or why nothing is run")
    scope: str = Field("", max_length=500, description="what is run, where the source says it of more")
    parts: tuple[Part, ...] = Field((), description="measured numbers; all have to lie in their accepted ranges")

    @model_validator(mode="after")
    def _says_why_not(self) -> Claim:
        if not self.parts and not self.note:
            problem = "a claim without parts is not run"
            raise ConfigError(problem, "say why in `note`, or give parts", ("note",), code="missing-key")
        return self


def selections_of(figures: Iterable[AnyFigure], claims: Iterable[Claim]) -> Iterator[tuple[str, Selection]]:
    """Return all selections of rows of a study, each with its dotted path."""
    yield from ((f"figures.{index}", figure) for index, figure in enumerate(figures))
    for index, claim in enumerate(claims):
        for number, part in enumerate(claim.parts):
            yield from ((f"claims.{index}.parts.{number}.measure", measure) for measure in part.measures())


def check_names(
    figures: Sequence[AnyFigure],
    claims: Sequence[Claim],
    experiments: Mapping[str, Iterable[str]],
    analyses: Mapping[str, Analysis] = MappingProxyType({}),
    schedules: Mapping[str, Iterable[str]] = MappingProxyType({}),
    mapping_axes: Mapping[str, Collection[str]] = MappingProxyType({}),
    slowed: Collection[str] = (),
    linked: Collection[str] = (),
) -> None:
    """Refuse figures and claims that repeat an id, or name or need what the study does not have.

    Parameters
    ----------
    experiments, schedules : mapping
        Names of the axes that rows of each experiment, and of each schedule, have.
    analyses : mapping, optional
        Analyses by name.
    mapping_axes : mapping, optional
        Names of the axes of each experiment that vary nothing but mappings, which rows of `predictors` do not have.
    slowed, linked : collection of str, optional
        Experiments with ``slowdown: true``, and those named by ``link_loads``.

    Raises StudyError with the dotted path of each offence, without a file name.
    """
    known = _Known(experiments, analyses, schedules, mapping_axes, slowed, linked)
    check_all(
        [
            partial(_check_ids, "figures", [figure.id for figure in figures]),
            partial(_check_ids, "claims", [claim.id for claim in claims]),
            *(partial(known.check, path, one) for path, one in selections_of(figures, claims)),
            *(
                partial(known.check_across, f"figures.{index}", figure)
                for index, figure in enumerate(figures)
                if isinstance(figure, ScatterFigure)
            ),
        ]
    )


def _check_ids(section: str, ids: list[str]) -> None:
    for index, name in enumerate(ids):
        if name in ids[:index]:
            raise _error("an id used twice", "give each its own", f"{section}.{index}.id", name, "duplicate")


def _error(problem: str, remedy: str, path: str, value: object, code: Code) -> StudyError:
    return StudyError(problem, remedy, None, path, value, code)


def _choices(names: Iterable[str], section: str) -> str:
    return f"known: {', '.join(sorted(names)) or f'none: write them below `{section}`'}"


@dataclass(frozen=True)
class _Known:
    """What figures and claims may name, as in `check_names`."""

    experiments: Mapping[str, Iterable[str]]
    analyses: Mapping[str, Analysis]
    schedules: Mapping[str, Iterable[str]]
    mapping_axes: Mapping[str, Collection[str]]
    slowed: Collection[str]
    linked: Collection[str]

    def check(self, path: str, selection: Selection) -> None:
        """Refuse a selection of rows that there are not."""
        if selection.analysis is not None:
            self._check_columns(path, selection, selection.analysis)
            return
        if selection.schedule is not None:
            if selection.schedule not in self.schedules:
                remedy = _choices(self.schedules, "schedules")
                raise _error("no such schedule", remedy, f"{path}.schedule", selection.schedule, "unknown-name")
            keys = ("class_nodes",) if selection.draws_jobs else KEYS[selection.table]
            axes = [*self.schedules[selection.schedule], *keys, "seed"]
        else:
            axes = self._axes(path, selection)
        unknown = sorted(selection.axes().difference(axes))
        if unknown:
            raise _error("no such axis", f"take one of {', '.join(axes)}", path, unknown[0], "unknown-name")
        if selection.of_points:
            self._check_kept(path, selection)

    def _axes(self, path: str, selection: Selection) -> list[str]:
        """Return the axes and keys that rows of simulations have."""
        name = selection.experiment
        if name not in self.experiments:
            remedy = f"take one of {', '.join(sorted(self.experiments))}"
            raise _error("no such experiment", remedy, f"{path}.experiment", name, "unknown-name")
        names = NAMES.get(selection.table, {})
        axes = {*self.experiments[name], *KEYS[selection.table], *names, "seed"}
        if selection.table == "jobs" and selection.reduce_jobs != "each":
            axes -= {"job", *names}
        if selection.table == "agreement":
            axes -= {"engine"}
        if selection.table == "predictors":
            axes.difference_update(self.mapping_axes.get(name, ()))
        return sorted(axes)

    def _check_kept(self, path: str, selection: Selection) -> None:
        """Refuse a job's time alone where jobs are not run alone, and single links where these are not kept."""
        name = selection.experiment
        for column in selection.numbers():
            if column in ("slowdown", "baseline_ns", "variation") and name not in self.slowed:
                remedy = f"set slowdown: true for the experiment {name!r}"
                raise _error("jobs are not run alone in this experiment", remedy, path, column, "not-comparable")
        if selection.of_links and name not in self.linked:
            problem = "the links of this experiment are not kept one by one"
            raise _error(problem, f"write link_loads: {name} in the study", path, name, "missing-key")

    def check_across(self, path: str, figure: ScatterFigure) -> None:
        """Refuse a figure whose marks have not the labels that tell the rows of the analysis of its x apart."""
        across = figure.across()
        if across is None:
            return
        name = str(figure.x_analysis)
        self._check_columns(path, across, name, "x_analysis")
        labels = {*figure.x_where, *(self.experiments.get(figure.experiment, ()) if figure.of_points else ())}
        unmatched = [key for key in self.analyses[name].keys if key not in labels]
        if unmatched:
            remedy = f"give an axis the name {unmatched[0]}, or say in x_where which of its labels is meant"
            problem = f"marks have no {unmatched[0]}, by which this analysis tells its rows apart"
            raise _error(problem, remedy, f"{path}.x_analysis", name, "unknown-name")

    def _check_columns(self, path: str, selection: Selection, name: str, key: str = "analysis") -> None:
        if name not in self.analyses:
            remedy = _choices(self.analyses, "analyses")
            raise _error("no such analysis", remedy, f"{path}.{key}", name, "unknown-name")
        analysis = self.analyses[name]
        for names, known_names, noun in (
            (selection.axes() - {"seed"}, analysis.columns(), "column"),
            (selection.numbers(), analysis.numbers, "number"),
        ):
            unknown = sorted(set(names) - set(known_names))
            if unknown:
                remedy = f"take one of {', '.join(known_names)}"
                raise _error(f"the analysis has no such {noun}", remedy, path, unknown[0], "unknown-name")
