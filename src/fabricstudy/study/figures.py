"""The grammar of figures: which numbers of which table, and how they are drawn."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from fabricstudy.core.columns import LINK_LOAD_TABLE, METRICS, SCHEDULE_TABLES, column_unit
from fabricstudy.core.errors import suggestion
from fabricstudy.core.model import ConfigError, Model, Name, model_check
from fabricstudy.core.quantities import Moment, to_unit

TableName = Literal[
    "points", "jobs", "marks", "messages", "latency", "links", "link_loads", "interference", "machines", "agreement",
    "predictors", "schedules", "size_classes", "partition_lists",
]  # fmt: skip
RankCorrelation = Literal["spearman", "kendall"]

Label = bool | int | float | str


class LabelRange(Model):
    """Labels from `min` to `max`, both included; either may be left out."""

    min: float | None = Field(None, description="smallest label")
    max: float | None = Field(None, description="largest label")

    @model_check
    def _not_empty(self) -> None:
        if self.min is None and self.max is None:
            raise ConfigError("a range without ends", "write min, max or both", code="out-of-range")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ConfigError(f"min {self.min:g} is above max {self.max:g}", "swap the two", code="out-of-range")


Condition = Label | Annotated[tuple[Label, ...], Field(min_length=1)] | LabelRange
"""One label, a list of labels, or a range of numbers."""


def fulfils(label: object, condition: Condition) -> bool:
    """Return whether a label fulfils a condition; text equals a number with the same digits.

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
        return label in {str(option) for option in wanted}
    # In Python 1 equals True; in a study numbers and truth values differ.
    return any(
        option == label for option in wanted if isinstance(option, bool) != number and not isinstance(option, str)
    )


JobReduction = Literal["max", "mean", "geometric-mean", "sum", "each"]
JOB_REDUCTION = (
    "how the jobs of a point are reduced to one number; the ratio of two geometric means is the geometric mean of the "
    "jobs' ratios, so that no job dominates; each: not at all"
)

NORMALISE_TO = "labels of the points by which the numbers are divided: {axis: label}"


class Selection(Model):
    """Rows of one table: those of one experiment whose labels fulfil all conditions in `where`.

    The jobs of a point are one observation, such as their maximum (`reduce_jobs`), one for each name (`job_name`), or
    one each, identified by number (`job`) or name. With `analysis` the rows are those of a named analysis, with
    conditions on any column; with `schedule` those of a named schedule.
    """

    table: TableName = Field("jobs", description="table to read")
    analysis: str | None = Field(None, description="analysis to read, instead of simulations")
    schedule: str | None = Field(None, description="schedule to read; `table` is then `schedules` by default")
    experiment: str = Field("main", description="experiment to read")
    where: dict[str, Condition] = Field(
        default_factory=dict, description="conditions on axes and keys: {axis: label, [labels] or {min, max}}"
    )
    reduce_jobs: JobReduction = Field("max", description=JOB_REDUCTION)

    @model_validator(mode="before")
    @classmethod
    def _of_schedules(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("schedule") is not None and "table" not in value:
            return {**value, "table": "schedules"}
        return value

    @model_check
    def _one_source(self) -> None:
        if (self.schedule is not None) != (self.table in SCHEDULE_TABLES):
            remedy = f"write schedule: NAME, and one of {', '.join(SCHEDULE_TABLES)}"
            raise ConfigError("tables of schedules need the name of one", remedy, ("schedule",), code="unknown-name")
        unused = self.model_fields_set & {"analysis", "experiment", "reduce_jobs"}
        if self.schedule is not None and unused:
            raise ValueError(f"`{min(unused)}` has no effect with a schedule; leave one of them out")
        if self.analysis is not None:
            self._refuse({"table", "experiment", "reduce_jobs"}, "an analysis has no such key")

    def _refuse(self, keys: Collection[str], problem: str) -> None:
        """Refuse keys that have no meaning here, if the study sets one."""
        unfit = sorted(self.model_fields_set.intersection(keys))
        if unfit:
            raise ConfigError(problem, "leave it out", (unfit[0],), code="conflicting-keys")

    AXES: ClassVar[tuple[str, ...]] = ("where",)
    """Keys that name axes: a name, names, or a mapping of them."""

    NUMBERS: ClassVar[tuple[str, ...]] = ()
    """Keys that name columns of numbers."""

    DRAWS_JOBS: ClassVar[bool] = False
    """Whether it draws, of a schedule, the jobs and not rows of a table."""

    @property
    def of_points(self) -> bool:
        """Return whether it reads rows of simulations."""
        return self.analysis is None and self.schedule is None

    @property
    def of_links(self) -> bool:
        """Return whether it reads single links."""
        return self.table == LINK_LOAD_TABLE

    @property
    def draws_jobs(self) -> bool:
        """Return whether it draws the jobs of a schedule."""
        return self.DRAWS_JOBS and self.schedule is not None

    def _named(self, keys: Iterable[str]) -> Iterator[str]:
        for value in (getattr(self, key) for key in keys):
            yield from (value,) if isinstance(value, str) else value or ()

    def axes(self) -> set[str]:
        """Return the names of the axes that it uses."""
        return set(self._named(self.AXES))

    def numbers(self) -> tuple[str, ...]:
        """Return the names of the columns of numbers that it reads."""
        return tuple(self._named(self.NUMBERS))

    def _check_numbers(self) -> None:
        # The numbers of an analysis are only known together with the study.
        for column in self.numbers() if self.analysis is None else ():
            check_metric(self.table, column)


def suits_log_scale(labels: Collection[float]) -> bool:
    """Return whether numbers suit a logarithmic scale: above 0, and the largest at least four times the smallest.

    Examples
    --------
    >>> suits_log_scale([0.5, 1, 2]), suits_log_scale([1, 2, 3]), suits_log_scale([0, 8])
    (True, False, False)
    """
    return 0 < 4 * min(labels) <= max(labels)


def unit_factor(column: str, unit: str) -> float:
    """Return the factor that converts a column's values to `unit`. Raises ConfigError for another dimension.

    Examples
    --------
    >>> unit_factor("runtime_ns", "ms")
    1e-06
    """
    base_unit = column_unit(column) or ""
    return to_unit(f"1 {base_unit}", unit, base_unit)


_EXAMPLE_UNITS = {
    "nanosecond": "ns, us, ms or s",
    "second": "s, min or h",
    "byte": "B, kB, MiB or GB",
    "byte/second": "MB/s, GB/s or Gbit/s",
}


def check_unit(key: str, column: str, unit: str | None, normalise_to: Mapping[str, Label] | None = None) -> None:
    """Refuse a unit, which is at `key`, that does not suit the numbers of a column.

    Raises ConfigError if the column has no unit, or one of another dimension, or its numbers are normalised.
    """
    if unit is None:
        return
    if normalise_to:
        raise ConfigError("normalised values have no unit", "leave it out", (key,), unit, "conflicting-keys")
    if column_unit(column) is None:
        raise ConfigError(f"column {column} has no unit", "leave it out", (key,), unit, "conflicting-keys")
    try:
        unit_factor(column, unit)
    except ConfigError:
        base_unit = column_unit(column) or ""
        problem = f"not a unit of {column}, which is in {base_unit}"
        raise ConfigError(problem, f"use {_EXAMPLE_UNITS[base_unit]}", (key,), unit, "invalid-quantity") from None


def as_tuple(value: Any) -> Any:
    """Expand a name to a list of one."""
    return (value,) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]
FigureId = Annotated[
    str, Name("[a-z0-9][a-z0-9-]{0,63}", "use lower-case letters, digits and '-', with a letter or digit first")
]


class Picture(Model):
    """Keys of every figure."""

    id: FigureId = Field(description="name of the file, and anchor in the page")
    title: str = Field(min_length=1, max_length=200, description="what the figure shows, above it")
    caption: str = Field("", max_length=2000, description="what to notice, below it")
    columns: str | None = Field(None, description="axis with one column of panels for each label")


class Panels(Picture):
    """Keys of figures with rows of panels."""

    rows: str | None = Field(None, description="axis with one row of panels for each label")


class JobsFigure(Selection, Picture):
    """The jobs of one run: the first that fulfils `where`, of the first seed unless `where` has another one.

    `timeline`: busy nodes by size class, idle ones by cause, and the queue, over time. `gantt`: midplanes over time, a
    box a job, hatched where a midplane is idle for lack of cables. Without a schedule, `gantt` shows the ranks of one
    point over time, at most 64 of programs with dependencies, on packet and CAMINOS: full bars are computation, half
    bars what a rank sends (above) and receives (below), by mark; the rest is gray.
    """

    AXES = ("where", "columns")
    DRAWS_JOBS = True

    kind: Literal["timeline", "gantt"] = Field(description="kind of the drawing")
    from_s: Moment | None = Field(None, alias="from", description="start of the time window")
    to_s: Moment | None = Field(None, alias="to", description="its end")

    @model_check
    def _is_of_a_schedule(self) -> None:
        if self.kind == "gantt" and self.of_points:
            self._refuse({"table", "reduce_jobs"}, "a Gantt chart shows the operations of one point")
        elif self.schedule is None:
            problem = "this kind draws the jobs of a schedule"
            raise ConfigError(problem, "write schedule: NAME", ("schedule",), code="unknown-name")


class EcdfFigure(Selection, Panels):
    """Cumulative distribution of column `x` over the selected links, jobs or rows of an analysis.

    Values of all seeds, and of all labels that the figure does not distinguish, are pooled. With `schedule`: of the
    waits of the jobs of its runs, of the first seed unless `where` has another one.
    """

    AXES = ("where", "hue", "columns", "rows")
    NUMBERS = ("x",)
    DRAWS_JOBS = True

    kind: Literal["ecdf"]
    reduce_jobs: JobReduction = Field("each", description=JOB_REDUCTION)
    x: str | None = Field(None, description="column of the table on the x axis; of a schedule it is the wait")
    x_label: str | None = Field(None, max_length=100, description="label of the x axis")
    unit: str | None = Field(None, description="unit of x, such as MB")
    hue: Names = Field((), description="axes, or class_nodes of a schedule, distinguished by colour")
    x_log: bool = Field(False, description="logarithmic x axis")

    @model_check
    def _fits_table(self) -> None:
        if self.draws_jobs:
            self._refuse({"x", "x_label", "unit", "rows", "x_log"}, "a schedule figure plots wait times, in hours")
        elif self.x is None:
            remedy = "add x: ... (column of the table), or schedule: NAME"
            raise ConfigError("this key is missing", remedy, ("x",), code="missing-key")
        else:
            self._check_numbers()
            check_unit("unit", self.x, self.unit)


class MachineFigure(Selection, Picture):
    """A picture of the machine of one point: the first that fulfils `where`, of the first seed that does.

    Routers have the colours of the jobs on their nodes, links those of their class, or with `load` of their simulated
    load, which needs `link_loads` for the experiment. Groups are on a circle, grids are slices, trees levels; large
    machines of groups are drawn as bundles of cables.
    """

    AXES = ("where", "columns")

    kind: Literal["machine"]
    load: Literal["bytes", "stall"] | None = Field(None, description="colour of the links; default: their class")

    @model_check
    def _is_of_points(self) -> None:
        self._refuse({"table", "analysis", "schedule", "reduce_jobs"}, "a machine figure shows one point")

    @property
    def of_links(self) -> bool:
        return self.load is not None


BOUND_OF = {"runtime_ns": "bound_ns", "saturation_load": "saturation_bound"}
"""Columns that have a bound, each with the column of the bound."""


class Figure(Selection, Panels):
    """Column `y` against the axis `x`, coloured by `hue`, with a panel for each value of `columns` and `rows`.

    Lines and bars show the median over seeds with error bars from the minimum to the maximum; boxes show all seeds.
    `normalise_to` divides each value by the median over seeds of the otherwise equal points with these labels.
    """

    AXES = ("where", "x", "style", "columns", "rows", "hue", "normalise_to")
    NUMBERS = ("y", "parts", "interval")

    kind: Literal["line", "bar", "box"] = Field(description="lines, bars or boxes")
    x: str = Field(description="axis of the study on the x axis")
    y: str = Field(description="column of the table on the y axis")
    x_label: str | None = Field(None, max_length=100, description="label of the x axis; default: the axis")
    y_label: str | None = Field(None, max_length=100, description="label of the y axis; default: column and unit")
    unit: str | None = Field(None, description="unit of y, such as ms")
    hue: Names = Field((), description="axes distinguished by colour")
    style: str | None = Field(None, description="axis distinguished by line style")
    interval: tuple[str, str] | None = Field(None, description="columns of the lower and upper end of y")
    normalise_to: dict[str, Label] = Field(default_factory=dict, description=NORMALISE_TO)
    parts: Names = Field((), description="of bars: columns that add up to y, stacked in the order of the list")
    show_bound: bool = Field(
        False, description="also draw the lower bound on the runtime, or the upper bound of the saturation load"
    )
    x_log: bool | None = Field(
        None,
        description="logarithmic x axis of lines; default: if the labels are numbers or quantities above 0, and the "
        "largest is at least four times the smallest",
    )
    y_log: bool = Field(False, description="logarithmic y axis")
    share_y: bool | None = Field(
        None, description="one y axis for all panels; default: unless their largest values differ tenfold"
    )
    from_zero: bool = Field(True, description="the y axis of lines and bars begins at 0")

    @model_check
    def _fits_table(self) -> None:
        self._check_numbers()
        kind, line = self.kind, self.kind == "line"
        no_sum = self.table == "jobs" and self.reduce_jobs in ("max", "geometric-mean")
        parts_of_jobs = "the largest parts of several jobs, and their geometric means, do not add up"
        for key, is_wrong, problem, remedy in (
            ("show_bound", self.y not in BOUND_OF, "this column has no bound", f"write y: {' or '.join(BOUND_OF)}"),
            ("show_bound", kind == "box", "box figures show no lower bound", "write kind: line"),
            ("show_bound", self.normalise_to, "a normalised time has no lower bound", "leave one out"),
            ("parts", kind != "bar", f"{kind} figures have no parts", "write kind: bar"),
            ("parts", self.normalise_to, "a normalised value has no parts", "leave one out"),
            ("reduce_jobs", self.parts and no_sum, parts_of_jobs, "write each, mean or sum"),
            ("interval", self.normalise_to, "a normalised value has no interval", "leave one out"),
            ("interval", kind == "box", "box figures show no interval", "leave it out"),
            ("style", not line, f"{kind} figures have no line style", "write hue: [a, b]"),
            ("x_log", not line, f"the x axis of {kind} figures has no scale", "leave it out"),
        ):
            if getattr(self, key) and is_wrong:
                raise ConfigError(problem, remedy, (key,), getattr(self, key), "conflicting-keys")
        if kind == "bar" and not self.from_zero:
            problem = "the axis of bars begins at 0"
            raise ConfigError(problem, "leave it out", ("from_zero",), False, "conflicting-keys")
        check_unit("unit", self.y, self.unit, self.normalise_to)


class Across(Selection):
    """The rows of an analysis that a figure reads the numbers in `column` from."""

    NUMBERS = ("column",)

    column: str = Field(description="column of the number")


_OF_ONE_MACHINE = ("points", "jobs", "marks", "messages", "latency", "links", "link_loads", "interference")
"""Tables with rows of one point, which has one machine."""


class ScatterFigure(Selection, Panels):
    """Column `y` against column `x`, a mark for each observation, both medians over seeds.

    Each panel of at least six marks shows the rank correlation of both columns, from -1 to 1. With `x_analysis`, x
    is a number of an analysis, such as the price of a machine, in the row with the labels of the mark. With
    `x_table: machines`, x is a number of the machine of the mark, such as its `bisection_upper_Bps`. With `front`, a
    line joins the Pareto-efficient marks of each panel. `normalise_to` divides each value of y by the median over
    seeds of the otherwise equal points with these labels.
    """

    AXES = ("where", "hue", "style", "columns", "rows", "normalise_to")

    kind: Literal["scatter"]
    x: str = Field(description="column of the table, of `x_table` or of `x_analysis`, on the x axis")
    x_table: Literal["machines"] | None = Field(
        None, description="table with the column x, if it is not `table`: that of the machines of the points"
    )
    x_analysis: str | None = Field(
        None, description="analysis with the column x; each of its keys is an axis, or is in `x_where`"
    )
    x_where: dict[str, Condition] = Field(
        default_factory=dict, description="conditions on the rows of `x_analysis`: {column: label}"
    )
    x_key: dict[str, Label] = Field(
        default_factory=dict, description="labels of axes with another label in `x_analysis`: {label: label there}"
    )
    y: str = Field(description="column of the table on the y axis")
    x_label: str | None = Field(None, max_length=100, description="label of the x axis")
    y_label: str | None = Field(None, max_length=100, description="label of the y axis")
    x_unit: str | None = Field(None, description="unit of x, such as MB")
    unit: str | None = Field(None, description="unit of y, such as ms")
    hue: Names = Field((), description="axes distinguished by colour")
    style: str | None = Field(None, description="axis distinguished by the shape of the marks")
    normalise_to: dict[str, Label] = Field(default_factory=dict, description=NORMALISE_TO)
    correlation: RankCorrelation = Field("spearman", description="Spearman's rho, or Kendall's tau-b")
    front: bool = Field(False, description="join the Pareto-efficient marks of each panel, with small x and y")
    x_log: bool = Field(False, description="logarithmic x axis")
    y_log: bool = Field(False, description="logarithmic y axis")
    share_x: bool | None = Field(
        None, description="one x axis for all panels; default: unless their largest values differ tenfold"
    )
    share_y: bool | None = Field(None, description="one y axis for all panels; default: as for share_x")

    @model_check
    def _fits_table(self) -> None:
        self._check_numbers()
        for key in ("x_where", "x_key"):
            if getattr(self, key) and self.x_analysis is None:
                problem = "this key needs x_analysis"
                raise ConfigError(problem, "add x_analysis, or use where", (key,), code="conflicting-keys")
        if self.x_table is not None:
            self._check_machine_column()
        check_unit("unit", self.y, self.unit, self.normalise_to)
        check_unit("x_unit", self.x, self.x_unit)

    def _check_machine_column(self) -> None:
        if self.x_analysis is not None:
            problem, remedy = "x is from a table or from an analysis", "leave one of them out"
            raise ConfigError(problem, remedy, ("x_table",), code="conflicting-keys")
        if not self.of_points or self.table not in _OF_ONE_MACHINE:
            problem, remedy = "the rows that are drawn are not those of one machine", "leave it out"
            raise ConfigError(problem, remedy, ("x_table",), code="conflicting-keys")
        check_metric("machines", self.x)

    def across(self) -> Across | None:
        """Return the selection of rows for x, if x is from another analysis than y."""
        if self.x_analysis is None:
            return None
        return Across(analysis=self.x_analysis, where=self.x_where, column=self.x)

    def numbers(self) -> tuple[str, ...]:
        """Return the columns of numbers that it draws, without x from elsewhere."""
        return (self.y,) if self.x_analysis or self.x_table else (self.x, self.y)


class HeatmapFigure(Selection, Panels):
    """A heatmap: a cell for each pair of labels of the axes `x` and `y`, with its number as text and as colour.

    A number is the median over seeds and over all labels that the figure does not distinguish. `normalise_to` divides
    each value by the median over seeds of the otherwise equal points with these labels.
    """

    AXES = ("where", "x", "y", "columns", "rows", "normalise_to")
    NUMBERS = ("value",)

    kind: Literal["heatmap"]
    x: str = Field(description="axis of the study on the x axis")
    y: str = Field(description="axis of the study on the y axis")
    value: str = Field(description="column of the table that colours the cells")
    x_label: str | None = Field(None, max_length=100, description="label of the x axis; default: the axis")
    y_label: str | None = Field(None, max_length=100, description="label of the y axis; default: the axis")
    value_label: str | None = Field(None, max_length=100, description="label of the colour bar")
    unit: str | None = Field(None, description="unit of the value, such as ms")
    normalise_to: dict[str, Label] = Field(default_factory=dict, description=NORMALISE_TO)
    log: bool = Field(False, description="logarithmic scale of colours")

    @model_check
    def _fits_table(self) -> None:
        self._check_numbers()
        if self.x == self.y:
            raise ConfigError("both axes are the same", "use another one", ("y",), self.y, "duplicate")
        check_unit("unit", self.value, self.unit, self.normalise_to)


class LoadFigure(Selection, Panels):
    """Latency, or accepted load, against offered load, a line for each `hue`; medians over seeds.

    `load-latency` shows column `y` up to `y_max` times the latency without load (dashed), and the saturation bound as a
    dotted vertical line. `load-throughput` shows the accepted load beside that of the worst node (thin), with the
    saturation bound as a dotted horizontal line. Marks of runs that did not sustain their load, or had not settled, are
    hollow; saturated ones have no latency, and are at the upper edge.
    """

    AXES = ("where", "hue", "columns", "rows")
    NUMBERS = ("y",)

    kind: Literal["load-latency", "load-throughput"] = Field(description="kind of the drawing")
    table: Literal["latency"] = Field("latency", description="table to read")
    y: str = Field("latency_mean_ns", description="column of the latency")
    unit: str | None = Field(None, description="unit of the latency, such as us")
    y_max: float = Field(5.0, gt=1, le=1000, description="end of the y axis, over the highest latency without load")
    hue: Names = Field((), description="axes distinguished by colour")

    @model_check
    def _fits_table(self) -> None:
        self._refuse({"analysis", "schedule", "reduce_jobs"}, "a load figure shows offered traffic")
        if self.kind == "load-throughput":
            self._refuse({"y", "unit", "y_max"}, "load-throughput shows loads")
        elif not self.y.startswith(("latency_", "network_latency_")):
            raise ConfigError("not a latency", "use one like latency_p99_ns", ("y",), self.y, "unknown-name")
        self._check_numbers()
        check_unit("unit", self.y, self.unit)


TableFigure = Figure | ScatterFigure | HeatmapFigure | EcdfFigure | LoadFigure
"""A figure of rows of tables; the others are of machines and of the jobs of a schedule."""

AnyFigure = Annotated[TableFigure | MachineFigure | JobsFigure, Field(discriminator="kind")]


def check_metric(table: str, column: str) -> None:
    """Refuse a column that `table` does not hold as a number. Raises ConfigError naming the columns there are."""
    if column not in METRICS[table]:
        problem, remedy = f"table {table} has no such number", suggestion(column, METRICS[table])
        raise ConfigError(problem, remedy, value=column, code="unknown-name")
