"""What a study may say about figures: which numbers of which table, drawn how."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from fabricstudy.model import ConfigError, Model, Name
from fabricstudy.quantities import to_unit

TableName = Literal["points", "jobs", "links", "interference", "machines", "agreement"]

METRICS: dict[str, tuple[str, ...]] = {
    "points": ("cpu_s", "wall_s", "memory_bytes", "overhead_cpu_s"),
    "jobs": (
        "runtime_ns", "bound_ns", "over_bound", "alone_ns", "slowdown", "rate_Bps", "hop_bytes", "hops_mean",
        "bytes", "messages",
    ),
    "links": (
        "load_mean_bytes", "load_max_bytes", "load_used_bytes", "imbalance", "busy_max_ns", "used", "links",
        "packets", "stall_mean_ns", "stall_max_ns",
    ),
    "interference": (
        "slowdown", "variation", "mls", "tls", "links_shared", "mls_routes", "tls_routes", "links_shared_routes",
    ),
    "machines": (
        "bisection_Bps", "bisection_lower_Bps", "bisection_upper_Bps", "nodes", "routers", "cables", "radix",
        "diameter", "mean_hops",
    ),
    "agreement": ("ratio",),
}  # fmt: skip
"""Columns of each table that hold a number to draw or to judge."""

KEYS: dict[str, tuple[str, ...]] = {
    "points": ("engine",),
    "jobs": ("engine", "job"),
    "links": ("engine", "class"),
    "interference": ("engine", "job"),
    "machines": (),
    "agreement": ("pair", "job"),
}
"""Columns of each table that tell its rows apart, besides the study's axes and the seed."""

NAMES: dict[str, dict[str, str]] = {"jobs": {"job_name": "job"}, "interference": {"job_name": "job"}}
"""Columns that name what a key numbers, and that key; they stand in its place where a study mentions them."""

UNIT_OF_SUFFIX = {"ns": "nanosecond", "s": "second", "bytes": "byte", "Bps": "byte/second"}
"""Unit that the last part of a column's name stands for."""

Label = bool | int | float | str


class Range(Model):
    """Labels from `min` to `max`, both included; either may be left out."""

    min: float | None = Field(None, description="least label")
    max: float | None = Field(None, description="largest label")

    @model_validator(mode="after")
    def _not_empty(self) -> Range:
        if self.min is None and self.max is None:
            raise ValueError("an empty range; give min, max or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:g} is larger than max {self.max:g}; swap them")
        return self


Condition = Label | Annotated[tuple[Label, ...], Field(min_length=1)] | Range
"""One label, a list of labels, or a range of numbers."""


class Selection(Model):
    """Rows of one table: those of one experiment whose labels fulfil every condition in `where`.

    The jobs of a point count as one observation: their largest number (`over_jobs: max`), their mean or sum, or
    each by itself, told apart by its number (`job`) or its name (`job_name`). With `analysis` the rows are those
    of a named analysis, and conditions may be on any column.
    """

    table: TableName = Field("jobs", description="table to read")
    analysis: str | None = Field(None, description="analysis whose rows are taken, in place of those of simulations")
    experiment: str = Field("main", description="experiment whose rows are taken")
    where: dict[str, Condition] = Field(
        default_factory=dict, description="conditions on axes and keys: {axis: label, [labels] or {min, max}}"
    )
    over_jobs: Literal["max", "mean", "sum", "each"] = Field(
        "max", description="how the jobs of a point become one number, or each by itself"
    )

    @model_validator(mode="after")
    def _one_source(self) -> Selection:
        both = self.model_fields_set & {"table", "experiment", "over_jobs"}
        if self.analysis is not None and both:
            raise ValueError(f"`{sorted(both)[0]}` means nothing for an analysis; leave one of them out")
        return self

    def axes(self) -> set[str]:
        """Names of the axes that the selection mentions."""
        return set(self.where)

    def numbers(self) -> tuple[str, ...]:
        """Names of the columns of numbers that it asks for."""
        return ()

    def _check_numbers(self) -> None:
        # Which numbers an analysis has is known only together with the study.
        for column in self.numbers() if self.analysis is None else ():
            check_metric(self.table, column)


def column_unit(column: str) -> str | None:
    """Give the unit that a column's name ends in, or None for a plain number.

    Examples
    --------
    >>> column_unit("runtime_ns"), column_unit("slowdown")
    ('nanosecond', None)
    """
    return UNIT_OF_SUFFIX.get(column.rsplit("_", 1)[-1]) if "_" in column or column == "bytes" else None


def unit_factor(column: str, unit: str) -> float:
    """Give the number by which a column's values are multiplied to be in `unit`.

    Raises
    ------
    ValueError
        If the column has no unit, or `unit` is none of its kind.

    Examples
    --------
    >>> unit_factor("runtime_ns", "ms")
    1e-06
    """
    own = column_unit(column)
    if own is None:
        raise ValueError(f"column {column} has no unit; leave `unit` out")
    return to_unit(f"1 {own}", unit, own)


def as_tuple(value: Any) -> Any:
    """Let one name stand for a list of one."""
    return (value,) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]


FigureId = Annotated[
    str, Name("[a-z0-9][a-z0-9-]{0,63}", "take small letters, digits and '-', with a letter or digit first")
]


class Figure(Selection):
    """One figure: `y` against the axis `x`, coloured by `hue`, one panel each value of `columns` and `rows`.

    Lines and bars show the median over seeds with bars from the least to the largest; boxes show all seeds.
    `normalise_to` divides each value by the median over seeds of the otherwise equal points with these labels.
    """

    id: FigureId = Field(description="name of the file and of the anchor in the page")
    kind: Literal["line", "bar", "box"] = Field(description="lines, bars or boxes")
    title: str = Field(min_length=1, max_length=200, description="what the figure shows, above it")
    caption: str = Field("", max_length=2000, description="what the reader should see, below it")
    x: str = Field(description="axis of the study along the horizontal")
    y: str = Field(description="column of the table along the vertical")
    x_label: str | None = Field(None, max_length=100, description="text along the horizontal; left out: the axis")
    y_label: str | None = Field(
        None, max_length=100, description="text along the vertical; left out: the column and its unit"
    )
    unit: str | None = Field(None, description="unit in which y is shown, such as ms")
    hue: Names = Field((), description="axes told apart by colour")
    style: str | None = Field(None, description="axis told apart by line style")
    columns: str | None = Field(None, description="axis with one column of panels for each label")
    rows: str | None = Field(None, description="axis with one row of panels for each label")
    interval: tuple[str, str] | None = Field(None, description="columns that hold the lower and upper end of y")
    normalise_to: dict[str, Label] = Field(
        default_factory=dict, description="labels of the points that y is divided by: {axis: label}"
    )
    show_bound: bool = Field(False, description="also draw the bound on the runtime")
    x_log: bool = Field(False, description="logarithmic horizontal scale")
    y_log: bool = Field(False, description="logarithmic vertical scale")
    same_y: bool = Field(True, description="one vertical scale for all panels")

    @model_validator(mode="after")
    def _fits_table(self) -> Figure:
        self._check_numbers()
        if self.show_bound and self.y != "runtime_ns":
            raise ValueError("show_bound needs y: runtime_ns; change y or leave show_bound out")
        if self.show_bound and self.kind != "line":
            raise ValueError(f"show_bound cannot be drawn in kind {self.kind}; take kind: line")
        if self.show_bound and self.normalise_to:
            raise ValueError("show_bound and normalise_to exclude each other; leave one out")
        if self.interval and (self.normalise_to or self.kind == "box"):
            raise ValueError("interval cannot be drawn with normalise_to or kind box; leave one out")
        if self.style and self.kind != "line":
            raise ValueError(f"style cannot be drawn in kind {self.kind}; use hue: [a, b], or kind: line")
        if self.unit is not None and self.normalise_to:
            raise ValueError("normalised values have no unit; leave `unit` out")
        if self.unit is not None:
            try:
                unit_factor(self.y, self.unit)
            except ConfigError as error:
                remedy = f"take one of the kind of {column_unit(self.y)}"
                raise ConfigError(error.problem, remedy, ("unit",), self.unit, error.code) from None
        return self

    def axes(self) -> set[str]:
        """Names of the axes that the figure mentions."""
        single = {name for name in (self.x, self.style, self.columns, self.rows) if name}
        return set(self.where) | single | set(self.hue) | set(self.normalise_to)

    def numbers(self) -> tuple[str, ...]:
        """Names of the columns of numbers that it draws."""
        return (self.y, *(self.interval or ()))


def check_metric(table: str, column: str) -> None:
    """Refuse a column that `table` does not hold as a number.

    Raises
    ------
    ConfigError
        Naming the columns there are.
    """
    if column not in METRICS[table]:
        remedy = f"take one of {', '.join(METRICS[table])}"
        raise ConfigError(f"table {table} has no number '{column}'", remedy, value=column, code="no-such-column")
