"""Style, colours, labels, ticks, legends and footnotes of all figures of tables."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from fabricstudy.core.columns import KEYS, NAMES, UNIT_SYMBOL, column_unit, names_of
from fabricstudy.core.phrasing import count_noun
from fabricstudy.study.figures import Figure, HeatmapFigure, ScatterFigure, TableFigure, unit_factor
from fabricstudy.table.files import Tables
from fabricstudy.table.select import AGAINST, VALUE, Observations, join, label_text, mask, medians, observe

from .text import comparison_count_text

STYLE = {
    **sns.axes_style("whitegrid"),
    "font.family": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.labelsize": 9.0,
    "axes.titlesize": 9.0,
    "legend.fontsize": 8.5,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "grid.color": "#dddddd",
    "axes.edgecolor": "#666666",
    "axes.linewidth": 0.8,
    # Labels are text, never formulas.
    "text.parse_math": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "fabricstudy",
    "pdf.fonttype": 42,
}
MARKERS = "osD^vPX*<>"
DASHES: tuple[Any, ...] = ("", (4, 1.6), (5, 1.5, 1, 1.5), (1, 1.2))
HATCHES = ("", "///", "\\\\\\", "xx", "..", "--", "||", "++", "oo", "**")
PLAIN_HUES = 4
"""Bars are hatched if there are more hues."""

_OF_ROWS = {name for table in KEYS for name in (*KEYS[table], *NAMES.get(table, ()))} - set(names_of("points"))
"""Columns that identify the rows of one point."""

SEEDED = ("points", "runs")
"""Kinds of rows that have seeds."""

MAX_SHARED_SCALE_RATIO = 10.0
"""Panels whose largest values differ by more have separate scales."""

TELEPHONE_INCHES = 3.8
"""Width of a figure that is in view in a window of 390 px."""

CHARACTER_INCHES = 0.09
"""Width of a character of a tick label."""

PLAIN_NUMBERS = FuncFormatter(lambda value, _: f"{value:.9g}")


class Drawing(NamedTuple):
    """A canvas, its alternative text, its footnote and the number of panels side by side."""

    canvas: Canvas
    description: str
    basis: str
    panels: int


@dataclass(frozen=True)
class InputFiles:
    """Files other than tables that figures read: definitions of machines and workloads, histories of scheduled runs."""

    machines: tuple[Path, ...] = ()
    workloads: tuple[Path, ...] = ()
    histories: tuple[Path, ...] = ()


NO_FILES = InputFiles()


class NothingToDraw(Exception):
    """A figure has no rows or runs, or too many; the message is the reason."""


def no_rows(figure: TableFigure, *observed: Observations) -> NothingToDraw:
    """Return the error of a figure that selects no row with a value."""
    gap = next((selection.gap() for selection in observed if selection.gap()), "")
    return NothingToDraw(f"table {figure.table} has no such rows{'; ' * bool(gap)}{gap}")


def drawn_rows(figure: TableFigure, tables: Tables, column: str) -> tuple[Observations, pd.DataFrame]:
    """Return the observations of a figure and the rows to draw.

    With `normalise_to` values are divided by those of the reference points with the same seed, for which `where`
    counts on other axes only; values without one are left out.
    """
    observed = observe(tables, figure, column)
    frame, to = observed.frame, getattr(figure, "normalise_to", None)
    if to:
        shared = [*(name for name in observed.keys if name not in to), "seed"]
        others = {name: wanted for name, wanted in figure.where.items() if name not in to}
        references = observe(tables, figure.model_copy(update={"where": others}), column, [to]).frame
        joined = join(frame, medians(references, shared), shared)
        frame = joined.assign(**{VALUE: joined[VALUE] / joined[AGAINST]})
    if frame.empty:
        raise no_rows(figure, observed)
    return observed, frame


def draw_reference(axes: Axes) -> None:
    """Draw a line at 1, where ratios are those of the reference."""
    axes.axhline(1, color="#333333", linewidth=0.8, zorder=0.5)


def in_unit(values: Any, column: str, unit: str | None) -> Any:
    """Convert the values of a column to the unit drawn."""
    return values * unit_factor(column, unit) if unit else values


def labelled(frame: pd.DataFrame, name: str) -> pd.Series[Any]:
    """Return the labels of an axis, for jobs of one name each this name, followed by the number if several share it.

    Examples
    --------
    >>> labelled(pd.DataFrame({"job": [0, 1], "job_name": ["halo", "io"]}), "job").tolist()
    ['halo', 'io']
    >>> labelled(pd.DataFrame({"job": [0, 1], "job_name": ["app", "app"]}), "job").tolist()
    ['app 0', 'app 1']
    """
    if name != "job" or "job_name" not in frame:
        return frame[name]
    pairs = frame[["job", "job_name"]].drop_duplicates()
    if not pairs["job"].is_unique:
        return frame[name]
    names = frame["job_name"].astype(str)
    return names if pairs["job_name"].is_unique else names + " " + frame["job"].astype(str)


def shares_scale(setting: bool | None, drawn: pd.DataFrame, column: str, log: bool) -> bool:
    """Return whether panels share a scale: by the setting, else unless their maxima differ by more than ten times."""
    if setting is not None:
        return setting
    largest = drawn[column].abs().groupby([drawn["row"], drawn["column"]]).max()
    return log or bool(largest.max() <= MAX_SHARED_SCALE_RATIO * largest.min())


def joint_labels(frame: pd.DataFrame, names: Sequence[str]) -> pd.Series[Any]:
    """Return the joint labels of one or several axes as text."""
    texts = [labelled(frame, name).map(label_text) for name in names]
    if not texts:
        return pd.Series("", index=frame.index)
    return pd.Series([", ".join(row) for row in zip(*texts, strict=True)], index=frame.index)


def mark_labels(frame: pd.DataFrame, figure: TableFigure) -> pd.DataFrame:
    """Return columns hue, family (the label of the first hue axis), style, column and row of the marks of a figure."""
    hues, style = getattr(figure, "hue", ()), getattr(figure, "style", None)
    axes = {"hue": hues, "family": hues[:1], "style": [style], "column": [figure.columns], "row": [figure.rows]}
    return pd.DataFrame({name: joint_labels(frame, [axis for axis in given if axis]) for name, given in axes.items()})


def lighten(colour: Sequence[float], white: float) -> tuple[float, ...]:
    """Blend a colour with white, up to 1."""
    return tuple(channel + (1 - channel) * white for channel in colour)


def palette(family: Mapping[str, str]) -> dict[str, Any]:
    """Return the colour of each hue; of two axes the first sets the colour and the second its lightness."""
    hues, firsts = list(family), list(dict.fromkeys(family.values()))
    if len(firsts) == len(hues) or len(firsts) > 10:
        name = "colorblind" if len(hues) <= 10 else "viridis"
        return dict(zip(hues, sns.color_palette(name, len(hues)), strict=True))
    colours: dict[str, Any] = {}
    for first, base in zip(firsts, sns.color_palette("colorblind", len(firsts)), strict=True):
        members = [hue for hue in hues if family[hue] == first]
        step = 0.7 / max(len(members) - 1, 1)
        colours |= {hue: lighten(base, step * number) for number, hue in enumerate(members)}
    return {hue: colours[hue] for hue in hues}


class Looks:
    """Colours of the hues of a figure, and marker and dashes of its styles or, without styles, of its hues.

    Earlier lines are wider, so that all are visible.
    """

    def __init__(self, marks: pd.DataFrame) -> None:
        self.family: dict[str, str] = dict(zip(marks["hue"], marks["family"], strict=True))
        self.hues, self.styles = list(self.family), list(marks["style"].unique())
        self.palette = palette(self.family)
        self.by = "hue" if self.styles == [""] else "style"
        labels, last = self.hues if self.by == "hue" else self.styles, len(self.hues) - 1
        self.markers = {label: MARKERS[index % len(MARKERS)] for index, label in enumerate(labels)}
        self.dashes = {label: DASHES[index % len(DASHES)] for index, label in enumerate(labels)}
        self.widths = {hue: 1.4 + 1.6 * (last - index) / max(last, 1) for index, hue in enumerate(self.hues)}

    def marks(self) -> dict[str, Any]:
        """Return the options of seaborn for colours and markers."""
        return {"hue": "hue", "hue_order": self.hues, "palette": self.palette, "style": self.by,
                "style_order": list(self.markers), "markers": self.markers, "legend": False}  # fmt: skip

    def lines(self) -> dict[str, Any]:
        """Return the options of seaborn for lines."""
        return {**self.marks(), "dashes": self.dashes, "size": "hue", "sizes": self.widths}

    def line(self, hue: str, **look: Any) -> dict[str, Any]:
        """Return the options of matplotlib for the line of a hue; `look` has precedence."""
        label = hue if self.by == "hue" else self.styles[0]
        dashes = self.dashes[label]
        return {"color": self.palette[hue], "marker": self.markers[label], "linewidth": self.widths[hue],
                "linestyle": (0, dashes) if dashes else "-", **look}  # fmt: skip

    def handles(self, **look: Any) -> list[Line2D]:
        """Return the legend entries of lines, or of marks if `look` has no line style."""
        hues = [] if self.hues == [""] else self.hues
        handles = [legend_line(hue, **self.line(hue, **look)) for hue in hues]
        if self.by == "style":
            for handle in handles:
                handle.set(marker="s", linestyle="")
            for style, dashes in self.dashes.items():
                line = {"linestyle": (0, dashes) if dashes else "-", "marker": self.markers[style], **look}
                handles.append(legend_line(style, color="#444444", **line))
        return handles


class Panel(NamedTuple):
    """Axes of a panel, its labels and its rows of a frame."""

    axes: Axes
    labels: tuple[str, str]
    rows: pd.DataFrame

    def describe(self, description: str) -> str:
        """Return the labels followed by `description`."""
        return ": ".join(text for text in (*self.labels, description) if text)


class PanelGrid(NamedTuple):
    """A canvas with a panel for each pair of labels, row by row; without rows, axes at the end can be unused."""

    canvas: Canvas
    axes: Any
    panels: list[Panel]

    def finished(
        self, description: str, basis: str, x_label: str, y_label: str, handles: Sequence[Any], columns: int = 0
    ) -> Drawing:
        """Add axis labels at the edges, a legend above the panels and the footnote."""
        for axes in self.axes.flat:
            axes.set(xlabel="", ylabel="")
        for axes in self.axes.flat[len(self.panels) - self.axes.shape[1] : len(self.panels)]:
            axes.set_xlabel(x_label)
        for axes in self.axes[:, 0]:
            axes.set_ylabel(textwrap.fill(y_label, 32))
        add_legend(self.canvas, handles, columns)
        add_footnote(self.canvas, basis)
        return Drawing(self.canvas, description, basis, self.axes.shape[1])


_CHARACTERS_PER_INCH = 13
"""Of a title, at least."""

MOST_PANELS = 4
"""Panels side by side that fit a window of 1,280 px; more are wrapped if nothing is in rows."""


def panels(figure: TableFigure, frame: pd.DataFrame, share_x: bool = True, share_y: bool = True) -> PanelGrid:
    """Return titled panels, one for each pair of labels in the columns ``row`` and ``column`` of a frame."""
    rows, columns = (list(dict.fromkeys(frame[name])) for name in ("row", "column"))
    high = len(rows) if len(rows) > 1 else -(-len(columns) // MOST_PANELS)
    wide = -(-len(rows) * len(columns) // high)
    width = 7.6 if wide < 3 else 3.1 * wide
    fitting = int(_CHARACTERS_PER_INCH * width / wide)
    canvas = Canvas(figsize=(width, 2.75 * high + 1.0), layout="constrained")
    grid = canvas.subplots(high, wide, sharex=share_x, sharey=share_y, squeeze=False)
    filled, pairs = [], list(itertools.product(rows, columns))
    for index in range(len(pairs), grid.size):
        grid.flat[index].set_visible(False)
        grid.flat[index - wide].tick_params(labelbottom=True)
    for axes, (row, column) in zip(grid.flat, pairs, strict=False):
        named = ((figure.rows, row), (figure.columns, column))
        parts = [f"{axis}: {truncate_label(label)}" for axis, label in named if axis]
        separator = ", " if len(", ".join(parts)) <= fitting else ",\n"
        axes.set_title(separator.join(textwrap.fill(part, fitting) for part in parts))
        filled.append(Panel(axes, (row, column), frame[(frame["row"] == row) & (frame["column"] == column)]))
    return PanelGrid(canvas, grid, filled)


def axis_values(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return the labels along an axis as numbers if all are, else as text."""
    numeric = pd.api.types.is_numeric_dtype(column) and not (pd.api.types.is_bool_dtype(column) or column.hasnans)
    return column.astype(float) if numeric else column.map(label_text)


def in_order(labels: pd.Series[Any]) -> list[Any]:
    """Return the distinct labels of an axis: numbers sorted, text in the order of the study."""
    distinct = list(dict.fromkeys(labels))
    return sorted(distinct) if pd.api.types.is_numeric_dtype(labels) else distinct


def sample_text(observed: Observations, frame: pd.DataFrame) -> str:
    """Count the points and seeds of the rows drawn."""
    seeds = f", {count_noun(frame['seed'].nunique(), 'seed')}" * (observed.noun in SEEDED)
    noun = "pair" if "pair" in observed.keys else observed.noun[:-1]
    return f"n = {count_noun(drawn_count(observed, frame), noun)}{seeds}"


def drawn_count(observed: Observations, frame: pd.DataFrame) -> int:
    """Return the number of points, machines, runs or rows of a frame."""
    if observed.noun == "rows":
        return len(frame)
    ids = [name for name in ("point_id", "machine_id", "run_id") if name in frame][:1]
    of_point = [key for key in observed.keys if key not in _OF_ROWS]
    return len(frame[[*ids, *of_point, "seed"]].drop_duplicates())


def dropped_note(values: pd.Series[Any], log: bool) -> list[str]:
    """Return a note on the values that a logarithmic scale cannot show. Raises NothingToDraw if these are all."""
    count = int((values <= 0).sum()) if log else 0
    if log and count == len(values):
        raise NothingToDraw("no value is above zero; a logarithmic scale needs positive values")
    return [f"{count_noun(count, 'value')} not above zero cannot be drawn on a logarithmic scale"] * bool(count)


def hatch(index: int, count: int) -> str:
    """Return the hatch of the bars of a hue, none if there are few hues."""
    return HATCHES[index % len(HATCHES)] if count > PLAIN_HUES else ""


def merged_axes(
    figure: TableFigure, observed: Observations, frame: pd.DataFrame, marks: list[pd.Series[Any]]
) -> list[str]:
    """Return the axes over which each mark is a median, the seeds first."""
    groups = frame[[name for name in observed.keys if name not in figure.axes()]].groupby(marks, dropna=False)
    over = [str(name) for name, most in groups.nunique(dropna=False).max().items() if most > 1]
    return ["seeds"] * (observed.noun in SEEDED and frame["seed"].nunique() > 1) + over


def footnote(figure: TableFigure, observed: Observations, frame: pd.DataFrame, parts: Iterable[str]) -> str:
    """Return a footnote: the parts, missing observations and, of a normalised figure, the number of pairs."""
    notes, to = [*parts, observed.note()], getattr(figure, "normalise_to", None)
    if to:
        compared = [rows.loc[~mask(rows, to), [*observed.keys, "seed"]] for rows in (frame, observed.frame)]
        pairs, planned = (len(rows[observed.keys].drop_duplicates()) for rows in compared)
        lost = len(compared[1].drop_duplicates()) - len(compared[0].drop_duplicates())
        by_seed = ", seed by seed" * (frame["seed"].nunique() > 1)
        notes.append(
            comparison_count_text(pairs, planned)
            + by_seed
            + f"; {lost} values without a reference are excluded" * (lost > 0)
        )
    return "; ".join(notes) + "."


def value_label(figure: Figure | ScatterFigure | HeatmapFigure, column: str, label: str | None) -> str:
    """Return the label of the axis of values, for normalised ones with the labels that they are relative to."""
    if label or not figure.normalise_to:
        return with_unit(column, label, figure.unit)
    reference = ", ".join(f"{axis} {label_text(value)}" for axis, value in figure.normalise_to.items())
    return f"{column_text(column)} relative to {reference}"


def with_unit(column: str, label: str | None, unit: str | None) -> str:
    """Return the label of the study, or the column in words and its unit; with `unit`, the one drawn.

    Examples
    --------
    >>> with_unit("runtime_ns", None, "ms"), with_unit("runtime_ns", None, None), with_unit("slowdown", "slower", None)
    ('runtime (ms)', 'runtime (ns)', 'slower')
    """
    in_name = label or column_unit(column) == "byte"  # such as "bytes sent"
    unit = unit or ("" if in_name else UNIT_SYMBOL.get(column_unit(column) or "", ""))
    return f"{label or column_text(column)}{f' ({unit})' if unit else ''}"


_TEXTS = {"communication_ns": "communication and waiting"}
"""Labels of columns that say more than their name."""


def column_text(column: str) -> str:
    """Return a column in words, without its unit.

    Examples
    --------
    >>> column_text("hop_bytes"), column_text("over_bound"), column_text("communication_ns")
    ('hop bytes', 'over bound', 'communication and waiting')
    """
    words = (column.rsplit("_", 1)[0] if column_unit(column) not in (None, "byte") else column).replace("_", " ")
    return _TEXTS.get(column, words)


def add_footnote(canvas: Canvas, text: str) -> None:
    """Add a footnote."""
    canvas.supxlabel(textwrap.fill(text, int(canvas.get_figwidth() * 14)), fontsize=8.5, color="#444444")


def add_legend(canvas: Canvas, handles: Sequence[Any], columns: int = 0) -> None:
    """Add a legend above the panels, in `columns` or in as few lines as fit on a telephone, on the left."""
    if not handles:
        return
    longest = max(len(handle.get_label()) for handle in handles)
    fitting = max(1, int(TELEPHONE_INCHES / (0.65 + 0.075 * longest)))
    columns = min(columns or -(-len(handles) // -(-len(handles) // fitting)), fitting)
    # A long legend shall not take the height of the panels.
    canvas.set_figheight(canvas.get_figheight() + 0.2 * max(0, -(-len(handles) // columns) - 3))
    canvas.legend(handles=handles, loc="outside upper left", ncols=columns, frameon=False)


def log_ticks(axes: Axes) -> None:
    """Make the vertical scale logarithmic, with as many ticks per decade as fit."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    steps = (1, 1.5, 2, 3, 4, 5, 7) if high < 8 * low else (1, 2, 5) if high < 1000 * low else (1,)
    axes.yaxis.set_major_locator(LogLocator(subs=steps))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(PLAIN_NUMBERS)


def label_ticks(axes: Axes, positions: Sequence[float], labels: list[str], distance: float) -> None:
    """Set tick labels, slanted if they do not fit into their least `distance` in inches."""
    axes.set_xticks(positions, [truncate_label(label) for label in labels])
    if CHARACTER_INCHES * (max(map(len, labels)) + 1) > distance:
        axes.tick_params(axis="x", rotation=30)
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right")


def legend_line(label: str, **look: Any) -> Line2D:
    """Return a legend entry for a line or mark."""
    return Line2D([], [], label=legend_label(label), **look)


def legend_label(label: str) -> str:
    """Return a label for a legend; matplotlib omits those that begin with an underscore."""
    return f" {truncate_label(label)}" if label.startswith("_") else truncate_label(label)


def grouping_text(figure: Figure | ScatterFigure, style: str) -> list[str]:
    """Describe the grouping of the marks; `style` names the axis of styles."""
    split = [f"coloured by {' and '.join(figure.hue)}"] * bool(figure.hue)
    split += [f"{style} by {figure.style}"] * bool(figure.style)
    return split + [f"one panel for each {name}" for name in (figure.columns, figure.rows) if name]


def truncate_label(label: str) -> str:
    """Truncate a long label; the alternative text has all of it."""
    return label if len(label) <= 40 else f"{label[:39]}…"
