"""The grammar of claims: the statement of a source, its range and the accepted one, and how it is measured."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from fabricstudy.analysis.base import Analysis
from fabricstudy.core.columns import KEYS, NAMES
from fabricstudy.core.model import ConfigError, Flag, Model, Name, check_all, model_check

from .figures import AnyFigure, Condition, Label, Names, RankCorrelation, ScatterFigure, Selection, as_tuple

Reduce = Literal["max", "min", "median", "mean"]


class Measure(Selection):
    """A number computed from a column of the selected rows, after the median over seeds."""

    NUMBERS: ClassVar[tuple[str, ...]] = ("metric",)

    metric: str = Field(description="column of the table")
    reduce: Reduce = Field("max", description="how several rows are reduced to one number")

    @model_check
    def _fits_table(self) -> None:
        self._check_numbers()


class Value(Measure):
    """The metric itself, reduced over all selected rows."""

    kind: Literal["value"]


def _refuse_duplicates(key: str, axes: Iterable[str], others: Iterable[str]) -> None:
    duplicates = sorted(set(axes).intersection(others))
    if duplicates:
        problem = f"axis '{duplicates[0]}' is in `{key}` and in another key of the measure"
        raise ConfigError(problem, "leave it out of one of them", (key,), duplicates[0], "duplicate")


class PairMeasure(Measure):
    """Each point with the labels `of`, and its matching point with the labels `against`."""

    AXES: ClassVar[tuple[str, ...]] = ("where", "of")

    of: dict[str, Condition] = Field(
        min_length=1, description="labels of the first point of each pair: {axis: label, [labels] or {min, max}}"
    )
    against: dict[str, Label] = Field(min_length=1, description="labels of the second one: {axis: label}")

    @model_check
    def _same_axes(self) -> None:
        along = {self.along} if isinstance(self, Crossing) else set[str]()
        if set(self.against) not in (set(self.of), set(self.of) - along):
            problem, remedy = "`of` and `against` name different axes", "name the same axes in both"
            if isinstance(self, Crossing):
                remedy = f"name the same axes in both; {self.along} may be left out, for pairs at the same label of it"
            raise ConfigError(problem, remedy, ("against",), code="conflicting-keys")
        _refuse_duplicates("where", self.where, self.of)


class Contrast(PairMeasure):
    """The metric of the first point of a pair over that of the second one.

    `form`: ratio A/B, change A/B - 1, reduction 1 - A/B, or distance abs(A/B - 1).
    """

    kind: Literal["contrast"]
    form: Literal["ratio", "change", "reduction", "distance"] = Field(
        "ratio", description="A/B, A/B - 1, 1 - A/B, or abs(A/B - 1) of a pair A and B"
    )


class Trend(PairMeasure):
    """The ratio of a pair at the second label of `along: {axis: [from, to]}` over that at the first."""

    AXES = ("where", "of", "along")

    kind: Literal["trend"]
    along: dict[str, tuple[Label, Label]] = Field(
        min_length=1, max_length=1, description="one axis and two of its labels: {axis: [from, to]}"
    )

    @model_check
    def _another_axis(self) -> None:
        _refuse_duplicates("along", self.along, {*self.of, *self.where})


class Crossing(PairMeasure):
    """The label of the axis `along` at which the ratio of a pair rises to `level`, by interpolation between labels.

    Labels are numbers, or quantities such as 16 kB, which count in bytes, seconds and bytes per second.

    It is the first label if the ratio is never below `level`. If the ratio stays below, the level is not reached, and
    the claim reports the last label. `of` contains the axis, too, with the labels to include; `against` contains one
    label of it, or leaves it out, and then each point is compared with that of the same label.
    """

    kind: Literal["crossing"]
    along: str = Field(description="axis of `of`, whose labels are numbers")
    level: float = Field(1.0, allow_inf_nan=False, description="what the ratio rises to")
    log: Flag = Field(False, description="interpolate on a logarithmic axis, whose labels are above 0")

    @model_check
    def _of_pair(self) -> None:
        if self.along not in self.of:
            remedy = (
                f"add its labels to `of`, such as {self.along}: [8 kB, 16 kB], or of numbers {self.along}: {{min: 0}}"
            )
            raise ConfigError("this axis is not in `of`", remedy, ("along",), self.along, "unknown-name")


class Spread(Measure):
    """The spread of otherwise equal points along the axes `over` (``seed`` is one, too).

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
    """Rank correlation of two columns over the selected rows, from -1 to 1, after the median over seeds.

    Without `over` it is that of all rows; otherwise of each group of rows that differ along these axes only, reduced by
    `reduce`. Groups of fewer than 6 rows, or in which a column is constant, have none.
    """

    AXES = ("where", "over")
    NUMBERS = ("metric", "against")

    kind: Literal["correlation"]
    against: str = Field(description="the other column of the table")
    form: RankCorrelation = Field("spearman", description="Spearman's rho, or Kendall's tau-b")
    over: Names = Field((), description="axes along which rows are ranked; default: all")
    reduce: Reduce = Field("min", description="how several groups are reduced to one number")

    @model_check
    def _two_columns(self) -> None:
        if self.against == self.metric:
            problem = "a column always agrees with itself"
            raise ConfigError(problem, "use another one", ("against",), self.against, "duplicate")


Simple = Annotated[Value | Contrast | Trend | Crossing | Spread, Field(discriminator="kind")]


class Quotient(Model):
    """One measure over another, such as the variation under Valiant over that under minimal routing."""

    kind: Literal["quotient"]
    of: Simple = Field(description="the dividend")
    against: Simple = Field(description="the divisor")


Cell = int | float | str


class Rows(Selection):
    """The number of rows that differ between a printed table and the selected rows of an analysis, in any order."""

    AXES = ("where", "columns")

    kind: Literal["rows"]
    columns: tuple[str, ...] = Field(min_length=1, description="columns to compare")
    rows: tuple[tuple[Cell, ...], ...] = Field(min_length=1, description="the printed rows, each a list of cells")

    @model_check
    def _fits_columns(self) -> None:
        if self.analysis is None:
            remedy = "name the analysis to compare with"
            raise ConfigError("this key is missing", remedy, ("analysis",), code="missing-key")
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                problem = f"{len(row)} cells for {len(self.columns)} columns"
                raise ConfigError(problem, "write one for each column", ("rows", str(number)), code="out-of-range")


AnyMeasure = Annotated[
    Value | Contrast | Trend | Crossing | Spread | Correlation | Quotient | Rows, Field(discriminator="kind")
]
_Bound = Annotated[float, Field(allow_inf_nan=False)]
NumberRange = tuple[_Bound | None, _Bound | None]


class Part(Model):
    """One measured number of a claim, the range that the source states, and the accepted range.

    A printed number is the range of numbers that round to it: 15 % is 14.5 to 15.5 %. "Up to 15 %" is an upper bound of
    the largest number, and "faster" a ratio of times of at most 1.
    """

    statement: str = Field(min_length=1, max_length=500, description="meaning of the number")
    measure: AnyMeasure = Field(description="how it is computed")
    source_range: NumberRange = Field(
        description="closed range [low, high] that the source states; null leaves an end open"
    )
    accept: NumberRange | None = Field(
        None, description="closed range in which the part is reproduced; contains `source_range`, its default"
    )
    reason: str = Field("", max_length=500, description="why a wider range is accepted, or how words became a range")
    show: Literal["number", "percent"] = Field("number", description="how the number is printed")

    @property
    def accepted(self) -> NumberRange:
        return self.source_range if self.accept is None else self.accept

    @model_check
    def _check_ranges(self) -> None:
        for key, (low, high) in (("source_range", self.source_range), ("accept", self.accepted)):
            if low is None and high is None:
                raise ConfigError("[null, null] always holds", "write at least one bound", (key,), code="out-of-range")
            if low is not None and high is not None and low > high:
                raise ConfigError("an empty range", "swap the two", (key,), [low, high], "out-of-range")
        if self.accepted != self.source_range:
            (low, high), (least, most) = self.source_range, self.accepted
            contains_low = least is None or (low is not None and low >= least)
            if not contains_low or (most is not None and (high is None or high > most)):
                problem = "does not contain `source_range`"
                raise ConfigError(problem, "widen it", ("accept",), list(self.accepted), "out-of-range")
            if not self.reason:
                remedy = "write why the accepted range is wider than that of the source"
                raise ConfigError("this key is missing", remedy, ("reason",), code="missing-key")

    def measures(self) -> tuple[Value | Contrast | Trend | Crossing | Spread | Correlation | Rows, ...]:
        """Selections that the part needs."""
        if isinstance(self.measure, Quotient):
            return (self.measure.of, self.measure.against)
        return (self.measure,)


ClaimId = Annotated[
    str, Name("[A-Za-z0-9][A-Za-z0-9_.-]{0,31}", "use letters, digits, '_', '.' and '-', a letter or digit first", 32)
]


class Claim(Model):
    """A statement of a source, paraphrased. It is reproduced if every part is.

    A claim without parts is not run, for the reason in its `note`. With a `scope` it is at most reproduced in part.
    """

    id: ClaimId = Field(description="short name, such as 2.1")
    statement: str = Field(min_length=1, max_length=1000, description="what the source states, paraphrased")
    source: str = Field(min_length=1, max_length=500, description="reference, with page, figure or table")
    note: str = Field("", max_length=2000, description="a remark, such as an error of the source or why it is not run")
    scope: str = Field("", max_length=500, description="the part that is run, if the source states more")
    parts: tuple[Part, ...] = Field((), description="measured numbers; all must be in their accepted ranges")

    @model_check
    def _says_why_not(self) -> None:
        if not self.parts and not self.note:
            problem = "a claim without parts is not run"
            raise ConfigError(problem, "write the reason in `note`, or add parts", ("note",), code="missing-key")


def selections_of(figures: Iterable[AnyFigure], claims: Iterable[Claim]) -> Iterator[tuple[str, Selection]]:
    """Yield all selections of rows of a study, each with its dotted path."""
    yield from ((f"figures.{index}", figure) for index, figure in enumerate(figures))
    for index, claim in enumerate(claims):
        for number, part in enumerate(claim.parts):
            yield from ((f"claims.{index}.parts.{number}.measure", measure) for measure in part.measures())


def _check_ids(section: str, ids: list[str]) -> None:
    for index, name in enumerate(ids):
        if name in ids[:index]:
            raise ConfigError("duplicate id", "use distinct ids", (f"{section}.{index}.id",), name, "duplicate")


def _choices(names: Iterable[str], section: str) -> str:
    return f"known: {', '.join(sorted(names)) or f'none: write them below `{section}`'}"


@dataclass(frozen=True)
class KnownNames:
    """Names in a study that figures and claims may use."""

    experiments: Mapping[str, Iterable[str]]
    """Axes of each experiment."""
    analyses: Mapping[str, Analysis] = field(default_factory=dict)
    schedules: Mapping[str, Iterable[str]] = field(default_factory=dict)
    """Axes of each schedule."""
    mapping_axes: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Axes of each experiment that vary only mappings, which rows of `predictors` do not have."""
    slowed: Collection[str] = ()
    """Experiments with ``slowdown: true``."""
    linked: Collection[str] = ()
    """Experiments in ``link_loads``."""

    def check(self, figures: Sequence[AnyFigure], claims: Sequence[Claim]) -> None:
        """Refuse figures and claims that repeat an id, or name or need what the study does not have.

        Raises ConfigError with the dotted path of each mistake, without a file name.
        """
        scatter = ((index, figure) for index, figure in enumerate(figures) if isinstance(figure, ScatterFigure))
        check_all([
            partial(_check_ids, "figures", [figure.id for figure in figures]),
            partial(_check_ids, "claims", [claim.id for claim in claims]),
            *(partial(self._check, path, selection) for path, selection in selections_of(figures, claims)),
            *(partial(self._check_across, f"figures.{index}", figure) for index, figure in scatter),
        ])  # fmt: skip

    def _check(self, path: str, selection: Selection) -> None:
        """Refuse a selection of rows that do not exist."""
        if selection.analysis is not None:
            self._check_columns(path, selection, selection.analysis)
            return
        if selection.schedule is not None:
            if selection.schedule not in self.schedules:
                remedy = _choices(self.schedules, "schedules")
                raise ConfigError("no such schedule", remedy, (f"{path}.schedule",), selection.schedule, "unknown-name")
            keys = ("class_nodes",) if selection.draws_jobs else KEYS[selection.table]
            axes = [*self.schedules[selection.schedule], *keys, "seed"]
        else:
            axes = self._axes(path, selection)
        unknown = sorted(selection.axes().difference(axes))
        if unknown:
            raise ConfigError("no such axis", f"use one of {', '.join(axes)}", (path,), unknown[0], "unknown-name")
        if selection.of_points:
            self._check_stored(path, selection)

    def _axes(self, path: str, selection: Selection) -> list[str]:
        """Return the axes and keys of rows of simulations."""
        name = selection.experiment
        if name not in self.experiments:
            remedy = f"use one of {', '.join(sorted(self.experiments))}"
            raise ConfigError("no such experiment", remedy, (f"{path}.experiment",), name, "unknown-name")
        names = NAMES.get(selection.table, {})
        axes = {*self.experiments[name], *KEYS[selection.table], *names, "seed"}
        if selection.table == "jobs" and selection.reduce_jobs != "each":
            axes -= {"job"}
        if selection.table == "agreement":
            axes -= {"engine"}
        if selection.table == "predictors":
            axes.difference_update(self.mapping_axes.get(name, ()))
        return sorted(axes)

    def _check_stored(self, path: str, selection: Selection) -> None:
        """Refuse comparisons with baseline runs that are not simulated, and single links that are not stored."""
        name = selection.experiment
        for column in selection.numbers():
            if (column.endswith("slowdown") or column in ("baseline_ns", "variation")) and name not in self.slowed:
                remedy = f"set slowdown: true for the experiment {name!r}"
                raise ConfigError("this experiment has no baseline runs", remedy, (path,), column, "not-comparable")
        if selection.of_links and name not in self.linked:
            problem = "the loads of single links of this experiment are not stored"
            raise ConfigError(problem, f"write link_loads: {name} in the study", (path,), name, "missing-key")

    def _check_across(self, path: str, figure: ScatterFigure) -> None:
        """Refuse a figure whose marks do not have the labels that identify rows of the analysis of its x."""
        across = figure.across()
        if across is None:
            return
        name = str(figure.x_analysis)
        self._check_columns(path, across, name, "x_analysis")
        labels = {*figure.x_where, *(self.experiments.get(figure.experiment, ()) if figure.of_points else ())}
        unmatched = [key for key in self.analyses[name].keys if key not in labels]
        if unmatched:
            remedy = f"name an axis {unmatched[0]}, or select one of its labels in x_where"
            problem = f"marks have no {unmatched[0]}, which is a key of this analysis"
            raise ConfigError(problem, remedy, (f"{path}.x_analysis",), name, "unknown-name")

    def _check_columns(self, path: str, selection: Selection, name: str, key: str = "analysis") -> None:
        if name not in self.analyses:
            remedy = _choices(self.analyses, "analyses")
            raise ConfigError("no such analysis", remedy, (f"{path}.{key}",), name, "unknown-name")
        analysis = self.analyses[name]
        for names, known_names, noun in (
            (selection.axes() - {"seed"}, analysis.columns(), "column"),
            (selection.numbers(), analysis.numbers, "number"),
        ):
            unknown = sorted(set(names) - set(known_names))
            if unknown:
                remedy = f"use one of {', '.join(known_names)}"
                raise ConfigError(f"the analysis has no such {noun}", remedy, (path,), unknown[0], "unknown-name")
