"""What a study may say about figures: which numbers of which table, drawn how."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from fabricstudy.core.columns import LINK_LOAD_TABLE, METRICS, SCHEDULE_TABLES, column_unit
from fabricstudy.core.errors import Code, suggestion
from fabricstudy.core.model import ConfigError, Model, Name
from fabricstudy.core.quantities import Moment, to_unit

TableName = Literal[
    "points", "jobs", "links", "link_loads", "interference", "machines", "agreement", "predictors", "schedules",
    "size_classes", "partition_lists",
]  # fmt: skip
RankCorrelation = Literal["spearman", "kendall"]

Label = bool | int | float | str


_NO_SCHEDULE: Code = "unknown-name"


class LabelRange(Model):
    """Labels from `min` to `max`, both included; either may be left out."""

    min: float | None = Field(None, description="least label")
    max: float | None = Field(None, description="largest label")

    @model_validator(mode="after")
    def _not_empty(self) -> LabelRange:
        if self.min is None and self.max is None:
            raise ConfigError("a range without ends", "give min, max or both", code="out-of-range")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ConfigError(f"min {self.min:g} is above max {self.max:g}", "swap the two", code="out-of-range")
        return self


Condition = Label | Annotated[tuple[Label, ...], Field(min_length=1)] | LabelRange
"""One label, a list of labels, or a range of numbers."""


def fulfils(label: object, condition: Condition) -> bool:
    """Return whether a label is what a condition asks for; text equals a number that is written so.

    Examples
    --------
    >>> fulfils(4, LabelRange(min=2)), fulfils("4", (4, 8)), fulfils(True, 1), fulfils(None, "none")
    (True, True, False, False)
    """
    if label is None:
        return False
    number = isinstance(label, int | float) and not isinstance(label, bool)
    if isinstance(condition, LabelRange):
        low, high = condition.min, condition.max
        return number and (low is None or label >= low) and (high is None or label <= high)  # type: ignore[operator]
    wanted = condition if isinstance(condition, tuple) else (condition,)
    if isinstance(label, str):
        return label in {str(one) for one in wanted}
    # In Python 1 equals True; a study means a number or a truth value, never both.
    return any(one == label for one in wanted if isinstance(one, bool) != number and not isinstance(one, str))


class Selection(Model):
    """Rows of one table: those of one experiment whose labels fulfil every condition in `where`.

    The jobs of a point count as one observation: their largest number (`reduce_jobs: max`), their mean or sum, or
    each by itself, told apart by its number (`job`) or its name (`job_name`). With `analysis` the rows are those
    of a named analysis, and conditions may be on any column; with `schedule` those of a named schedule.
    """

    table: TableName = Field("jobs", description="table to read")
    analysis: str | None = Field(None, description="analysis whose rows are taken, in place of those of simulations")
    schedule: str | None = Field(
        None, description="schedule whose rows are taken, of `schedules` unless `table` says otherwise"
    )
    experiment: str = Field("main", description="experiment whose rows are taken")
    where: dict[str, Condition] = Field(
        default_factory=dict, description="conditions on axes and keys: {axis: label, [labels] or {min, max}}"
    )
    reduce_jobs: Literal["max", "mean", "sum", "each"] = Field(
        "max", description="how the jobs of a point become one number, or each by itself"
    )

    @model_validator(mode="before")
    @classmethod
    def _of_schedules(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("schedule") is not None and "table" not in value:
            return {**value, "table": "schedules"}
        return value

    @model_validator(mode="after")
    def _one_source(self) -> Selection:
        if (self.schedule is not None) != (self.table in SCHEDULE_TABLES):
            remedy = f"write schedule: NAME, and one of {', '.join(SCHEDULE_TABLES)}"
            raise ConfigError("tables of schedules go with the name of one", remedy, ("schedule",), code=_NO_SCHEDULE)
        beside = self.model_fields_set & {"analysis", "experiment", "reduce_jobs"}
        if self.schedule is not None and beside:
            raise ValueError(f"`{sorted(beside)[0]}` means nothing for a schedule; leave one of them out")
        if self.analysis is not None:
            self._refuse({"table", "experiment", "reduce_jobs"}, "an analysis has no such key")
        return self

    def _refuse(self, keys: Collection[str], problem: str) -> None:
        """Refuse keys that mean nothing here, if the study sets one."""
        unfit = sorted(self.model_fields_set.intersection(keys))
        if unfit:
            raise ConfigError(problem, "leave it out", (unfit[0],), code="conflicting-keys")

    AXES: ClassVar[tuple[str, ...]] = ("where",)
    """Keys that mention axes: a name, names, or a mapping of them."""

    NUMBERS: ClassVar[tuple[str, ...]] = ()
    """Keys that name columns of numbers."""

    @property
    def of_points(self) -> bool:
        """Return whether the rows are those of simulations."""
        return self.analysis is None and self.schedule is None

    @property
    def of_links(self) -> bool:
        """Return whether it reads links one by one."""
        return self.table == LINK_LOAD_TABLE

    @property
    def draws_jobs(self) -> bool:
        """Return whether it draws the jobs of runs of a schedule."""
        return False

    def _named(self, keys: Iterable[str]) -> Iterator[str]:
        for value in (getattr(self, key) for key in keys):
            yield from (value,) if isinstance(value, str) else value or ()

    def axes(self) -> set[str]:
        """Return the names of the axes that it mentions."""
        return set(self._named(self.AXES))

    def numbers(self) -> tuple[str, ...]:
        """Return the names of the columns of numbers that it asks for."""
        return tuple(self._named(self.NUMBERS))

    def _check_numbers(self) -> None:
        # Which numbers an analysis has is known only together with the study.
        for column in self.numbers() if self.analysis is None else ():
            check_metric(self.table, column)


def suits_log_scale(labels: Collection[float]) -> bool:
    """Return whether numbers are ratios or sizes, for a logarithmic scale: above 0, the largest four times the least.

    Examples
    --------
    >>> suits_log_scale([0.5, 1, 2]), suits_log_scale([1, 2, 3]), suits_log_scale([0, 8])
    (True, False, False)
    """
    return 0 < 4 * min(labels) <= max(labels)


def unit_factor(column: str, unit: str) -> float:
    """Return the number by which a column's values are multiplied to be in `unit`.

    Raises ConfigError if `unit` is none of the column's, which has one.

    Examples
    --------
    >>> unit_factor("runtime_ns", "ms")
    1e-06
    """
    base_unit = column_unit(column) or ""
    return to_unit(f"1 {base_unit}", unit, base_unit)


def check_unit(key: str, column: str, unit: str | None) -> None:
    """Refuse a unit, which stands at `key`, in which the numbers of a column cannot be shown.

    Raises ConfigError if the column has no unit, or one of another dimension.
    """
    if unit is None:
        return
    if column_unit(column) is None:
        raise ConfigError(f"column {column} has no unit", "leave it out", (key,), unit, "conflicting-keys")
    try:
        unit_factor(column, unit)
    except ConfigError:
        problem = f"not a unit of {column}, which is in {column_unit(column)}"
        raise ConfigError(problem, "take one like ms, MB or GB/s", (key,), unit, "invalid-quantity") from None


def as_tuple(value: Any) -> Any:
    """Let one name stand for a list of one."""
    return (value,) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]
FigureId = Annotated[
    str, Name("[a-z0-9][a-z0-9-]{0,63}", "take small letters, digits and '-', with a letter or digit first")
]


class Picture(Model):
    """What every figure has."""

    id: FigureId = Field(description="name of the file and of the anchor in the page")
    title: str = Field(min_length=1, max_length=200, description="what the figure shows, above it")
    caption: str = Field("", max_length=2000, description="what the reader should see, below it")
    columns: str | None = Field(None, description="axis with one column of panels for each label")


class Panels(Picture):
    """What a figure of rows of panels has, too."""

    rows: str | None = Field(None, description="axis with one row of panels for each label")


class JobsFigure(Selection, Picture):
    """One figure of the jobs of one run: the first that fulfils `where`, of the first seed unless `where` says another.

    `timeline`: busy nodes by size class, idle ones by cause, and the queue, over time. `gantt`: midplanes over time, a
    box a job, hatched where a midplane is idle for want of cables.
    """

    AXES: ClassVar[tuple[str, ...]] = ("where", "columns")

    kind: Literal["timeline", "gantt"] = Field(description="what is drawn of the run")
    from_s: Moment | None = Field(None, alias="from", description="where the window begins")
    to_s: Moment | None = Field(None, alias="to", description="where it ends")

    @model_validator(mode="after")
    def _is_of_a_schedule(self) -> JobsFigure:
        if self.schedule is None:
            problem = "this kind draws the jobs of a schedule"
            raise ConfigError(problem, "write schedule: NAME", ("schedule",), code=_NO_SCHEDULE)
        return self

    @property
    def draws_jobs(self) -> bool:
        """Return whether it draws the jobs of runs of a schedule."""
        return True


class EcdfFigure(Selection, Panels):
    """Share of the selected values of column `x` that are no larger than x: of links, jobs or rows of an analysis.

    Values of all seeds, and of all that the figure does not tell apart, are taken together. With `schedule`: share of
    the jobs of its runs that wait no longer than x, those of the first seed unless `where` says another.
    """

    AXES: ClassVar[tuple[str, ...]] = ("where", "hue", "columns", "rows")
    NUMBERS: ClassVar[tuple[str, ...]] = ("x",)

    kind: Literal["ecdf"]
    reduce_jobs: Literal["max", "mean", "sum", "each"] = Field(
        "each", description="how the jobs of a point become one number, or each by itself"
    )
    x: str | None = Field(None, description="column of the table along the horizontal; of a schedule it is the wait")
    x_label: str | None = Field(None, max_length=100, description="text along the horizontal")
    unit: str | None = Field(None, description="unit in which x is shown, such as MB")
    hue: Names = Field((), description="axes, or class_nodes of a schedule, told apart by colour")
    x_log: bool = Field(False, description="logarithmic horizontal scale")

    @model_validator(mode="after")
    def _fits_table(self) -> EcdfFigure:
        if self.draws_jobs:
            self._refuse({"x", "x_label", "unit", "rows", "x_log"}, "of a schedule waits are drawn, in hours")
        elif self.x is None:
            remedy = "add x: ... (column of the table), or schedule: NAME"
            raise ConfigError("this key is missing", remedy, ("x",), code="missing-key")
        else:
            self._check_numbers()
            check_unit("unit", self.x, self.unit)
        return self

    @property
    def draws_jobs(self) -> bool:
        """Return whether it draws the jobs of runs of a schedule."""
        return self.schedule is not None


class MachineFigure(Selection, Picture):
    """The machine of one point as a picture: the first point that fulfils `where`, of the first seed it leaves.

    Routers have the colours of the jobs on their nodes. Links have those of their classes, or with `load` of what the
    simulation put on them; this needs `link_loads` for the experiment. Groups stand on a circle, grids are slices,
    trees levels; large machines of groups are drawn in bundles.
    """

    AXES: ClassVar[tuple[str, ...]] = ("where", "columns")

    kind: Literal["machine"]
    load: Literal["bytes", "stall"] | None = Field(None, description="what colours the links; left out: their class")

    @model_validator(mode="after")
    def _is_of_points(self) -> MachineFigure:
        self._refuse({"table", "analysis", "schedule", "reduce_jobs"}, "a picture of a machine is of one point")
        return self

    @property
    def of_links(self) -> bool:
        """Return whether it reads links one by one."""
        return self.load is not None


class Figure(Selection, Panels):
    """One figure: `y` against the axis `x`, coloured by `hue`, one panel each value of `columns` and `rows`.

    Lines and bars show the median over seeds with bars from the least to the largest; boxes show all seeds.
    `normalise_to` divides each value by the median over seeds of the otherwise equal points with these labels.
    """

    AXES: ClassVar[tuple[str, ...]] = ("where", "x", "style", "columns", "rows", "hue", "normalise_to")
    NUMBERS: ClassVar[tuple[str, ...]] = ("y", "parts", "interval")

    kind: Literal["line", "bar", "box"] = Field(description="lines, bars or boxes")
    x: str = Field(description="axis of the study along the horizontal")
    y: str = Field(description="column of the table along the vertical")
    x_label: str | None = Field(None, max_length=100, description="text along the horizontal; left out: the axis")
    y_label: str | None = Field(
        None, max_length=100, description="text along the vertical; left out: the column and its unit"
    )
    unit: str | None = Field(None, description="unit in which y is shown, such as ms")
    hue: Names = Field((), description="axes told apart by colour")
    style: str | None = Field(None, description="axis told apart by line style")
    interval: tuple[str, str] | None = Field(None, description="columns that hold the lower and upper end of y")
    normalise_to: dict[str, Label] = Field(
        default_factory=dict, description="labels of the points that y is divided by: {axis: label}"
    )
    parts: Names = Field(
        (), description="of bars: columns that add up to y, drawn above one another in the order of the list"
    )
    show_bound: bool = Field(False, description="also draw the lower bound on the runtime, from the links")
    x_log: bool | None = Field(
        None,
        description="logarithmic horizontal scale of lines; left out: if the labels are numbers above 0 and the "
        "largest is at least four times the least",
    )
    y_log: bool = Field(False, description="logarithmic vertical scale")
    share_y: bool | None = Field(
        None, description="one vertical scale for all panels; left out: unless their largest values differ by ten times"
    )
    from_zero: bool = Field(True, description="the vertical scale of lines and bars begins at 0")

    @model_validator(mode="after")
    def _fits_table(self) -> Figure:
        self._check_numbers()
        kind, line = self.kind, self.kind == "line"
        over_most = self.table == "jobs" and self.reduce_jobs == "max"
        both = "the largest parts may be those of different jobs, and do not add up"
        for key, is_wrong, problem, remedy in (
            ("show_bound", self.y != "runtime_ns", "only runtimes have a bound", "take y: runtime_ns"),
            ("show_bound", kind == "box", "box figures show no bound", "take kind: line"),
            ("show_bound", self.normalise_to, "a normalised time has no bound", "leave one out"),
            ("parts", kind != "bar", f"{kind} figures have no parts", "take kind: bar"),
            ("parts", self.normalise_to, "a normalised value has no parts", "leave one out"),
            ("reduce_jobs", self.parts and over_most, both, "take each, mean or sum"),
            ("interval", self.normalise_to, "a normalised value has no interval", "leave one out"),
            ("interval", kind == "box", "box figures show no interval", "leave it out"),
            ("style", not line, f"{kind} figures have no style", "take hue: [a, b]"),
            ("unit", self.normalise_to, "normalised values have no unit", "leave it out"),
            ("x_log", not line, f"{kind} figures have no scale along x", "leave it out"),
        ):
            if getattr(self, key) and is_wrong:
                raise ConfigError(problem, remedy, (key,), getattr(self, key), "conflicting-keys")
        if kind == "bar" and not self.from_zero:
            problem = "a bar shows its value by its length"
            raise ConfigError(problem, "leave it out", ("from_zero",), False, "conflicting-keys")
        check_unit("unit", self.y, self.unit)
        return self


class Across(Selection):
    """The rows of an analysis from which a figure takes the number in `column`."""

    NUMBERS: ClassVar[tuple[str, ...]] = ("column",)

    column: str = Field(description="the number")


class ScatterFigure(Selection, Panels):
    """One mark an observation: column `y` against column `x`, each the median over seeds.

    Each panel says how far both columns put its marks in the same order: the rank correlation from -1 to 1, if there
    are six marks. With `x_analysis`, x is a number of an analysis, such as the price of a machine: of its row that has
    the labels of the mark. With `front`, the marks that no other one of the panel beats are joined.
    """

    AXES: ClassVar[tuple[str, ...]] = ("where", "hue", "style", "columns", "rows")

    kind: Literal["scatter"]
    x: str = Field(description="column of the table, or of `x_analysis`, along the horizontal")
    x_analysis: str | None = Field(
        None, description="analysis that holds x; each of its keys is the name of an axis, or stands in `x_where`"
    )
    x_where: dict[str, Condition] = Field(
        default_factory=dict, description="conditions on the rows of `x_analysis`: {column: label}"
    )
    x_key: dict[str, Label] = Field(
        default_factory=dict, description="labels of axes that `x_analysis` has by other names: {label: its name there}"
    )
    y: str = Field(description="column of the table along the vertical")
    x_label: str | None = Field(None, max_length=100, description="text along the horizontal")
    y_label: str | None = Field(None, max_length=100, description="text along the vertical")
    x_unit: str | None = Field(None, description="unit in which x is shown, such as MB")
    unit: str | None = Field(None, description="unit in which y is shown, such as ms")
    hue: Names = Field((), description="axes told apart by colour")
    style: str | None = Field(None, description="axis told apart by the shape of the marks")
    correlation: RankCorrelation = Field("spearman", description="Spearman's rho, or Kendall's tau-b")
    front: bool = Field(
        False, description="join the marks of each panel that no other one beats: less of x or y, no more of the other"
    )
    x_log: bool = Field(False, description="logarithmic horizontal scale")
    y_log: bool = Field(False, description="logarithmic vertical scale")
    share_x: bool | None = Field(
        None, description="one horizontal scale for all panels; left out: unless the largest values differ by ten times"
    )
    share_y: bool | None = Field(None, description="one vertical scale for all panels; left out: as for share_x")

    @model_validator(mode="after")
    def _fits_table(self) -> ScatterFigure:
        self._check_numbers()
        for key in ("x_where", "x_key"):
            if getattr(self, key) and self.x_analysis is None:
                problem = "there is no analysis whose rows it could choose"
                raise ConfigError(problem, "add x_analysis, or take where", (key,), code="conflicting-keys")
        check_unit("unit", self.y, self.unit)
        check_unit("x_unit", self.x, self.x_unit)
        return self

    def across(self) -> Across | None:
        """Return the selection of rows for x, if x is from another analysis than y."""
        if self.x_analysis is None:
            return None
        return Across(analysis=self.x_analysis, where=self.x_where, column=self.x)

    def numbers(self) -> tuple[str, ...]:
        """Names of the columns of numbers that it draws, without x if that is from another analysis."""
        return (self.y,) if self.x_analysis else (self.x, self.y)


class HeatmapFigure(Selection, Panels):
    """A field of cells, one for each label of axis `x` and of axis `y`, each with its number as text and as colour.

    A number is the median over seeds and over whatever the figure does not tell apart. `normalise_to` divides each
    value by the median over seeds of the otherwise equal points with these labels.
    """

    AXES: ClassVar[tuple[str, ...]] = ("where", "x", "y", "columns", "rows", "normalise_to")
    NUMBERS: ClassVar[tuple[str, ...]] = ("value",)

    kind: Literal["heatmap"]
    x: str = Field(description="axis of the study along the horizontal")
    y: str = Field(description="axis of the study along the vertical")
    value: str = Field(description="column of the table that colours the cells")
    x_label: str | None = Field(None, max_length=100, description="text along the horizontal; left out: the axis")
    y_label: str | None = Field(None, max_length=100, description="text along the vertical; left out: the axis")
    value_label: str | None = Field(None, max_length=100, description="text beside the scale of colours")
    unit: str | None = Field(None, description="unit in which the value is shown, such as ms")
    normalise_to: dict[str, Label] = Field(
        default_factory=dict, description="labels of the points that the value is divided by: {axis: label}"
    )
    log: bool = Field(False, description="logarithmic scale of colours")

    @model_validator(mode="after")
    def _fits_table(self) -> HeatmapFigure:
        self._check_numbers()
        if self.x == self.y:
            raise ConfigError("both axes are the same", "take another one", ("y",), self.y, "duplicate")
        if self.unit and self.normalise_to:
            problem = "normalised values have no unit"
            raise ConfigError(problem, "leave it out", ("unit",), self.unit, "conflicting-keys")
        check_unit("unit", self.value, self.unit)
        return self


TableFigure = Figure | ScatterFigure | HeatmapFigure | EcdfFigure
"""A figure of rows of tables; the others are of machines and of the jobs of a schedule."""

AnyFigure = Annotated[TableFigure | MachineFigure | JobsFigure, Field(discriminator="kind")]


def check_metric(table: str, column: str) -> None:
    """Refuse a column that `table` does not hold as a number. Raises ConfigError naming the columns there are."""
    if column not in METRICS[table]:
        problem, remedy = f"table {table} has no such number", suggestion(column, METRICS[table])
        raise ConfigError(problem, remedy, value=column, code="unknown-name")
