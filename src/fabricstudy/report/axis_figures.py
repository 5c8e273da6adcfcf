"""Line charts, bar charts and box plots of a column of a table against an axis of the study."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import MatplotlibDeprecationWarning
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter, NullLocator

from fabricstudy.core.phrasing import count_noun
from fabricstudy.core.quantities import label_number, label_numbers
from fabricstudy.study.figures import BOUND_OF, Figure, suits_log_scale
from fabricstudy.table.files import Tables
from fabricstudy.table.select import VALUE, Observations, label_text, observe

from . import figure_style

_BAR = 0.84
"""Width of all bars at one label, as a share of the distance between labels."""

EDGE_COLOUR = "#222222"
_DOTTED = (0, (1, 1.6))


_MARK = ["row", "column", "hue", "style", "x"]
_ENDS = ("pi", 100)
"""Whiskers from the smallest to the largest value."""


@dataclass(frozen=True, eq=False)
class _Data:
    """Rows and marks of a figure: columns row, column, hue, family, style, x and y.

    `marks` has the median of the rows of each mark, their ends as `low` and `high`, the smallest `bound` if drawn, and
    as 0, 1, ... the cumulative sums of the parts of a bar. `x_text` has the label of each x.
    """

    rows: pd.DataFrame
    marks: pd.DataFrame
    looks: figure_style.Looks
    basis: str
    numeric_x: bool
    xs: list[Any]
    x_text: dict[Any, str]
    x_log: bool


def draw_axis_figure(figure: Figure, tables: Tables) -> figure_style.Drawing:
    """Draw lines, bars or boxes."""
    data = _data(figure, tables)
    rows = data.rows if figure.kind == "box" else data.marks
    grid = figure_style.panels(figure, rows, share_y=_same_y(figure, data.rows))
    width, wide = grid.canvas.get_figwidth(), grid.axes.shape[1]
    if figure.kind != "line":
        width = max(width, wide * (0.13 * len(data.xs) * len(data.looks.hues) + 1))
        grid.canvas.set_figwidth(width)
    for axes, _, part in grid.panels:
        axes.grid(axis="x", visible=False)
        if not part.empty:
            {"line": _lines, "bar": _bars, "box": _boxes}[figure.kind](axes, figure, data, part)
    # Panels may share a scale, so that it is set after all are drawn.
    for axes in grid.axes.flat:
        _scales(axes, figure, data, width / wide - 0.6)
    handles, families = _handles(figure, data), len(set(data.looks.family.values()))
    # One legend column for each family of colours.
    columns = families if families < len(data.looks.hues) == len(handles) else 0
    y_label = figure_style.value_label(figure, figure.y, figure.y_label)
    return grid.finished(_alt(figure, data, y_label), data.basis, figure.x_label or figure.x, y_label, handles, columns)


def _data(figure: Figure, tables: Tables) -> _Data:
    observed, frame = figure_style.drawn_rows(figure, tables, figure.y)
    labels = figure_style.labelled(frame, figure.x)
    numbers = label_numbers(labels.unique()) if figure.kind == "line" else None
    drawn = figure_style.mark_labels(frame, figure).assign(
        x=figure_style.axis_values(labels) if numbers is None else labels.map(label_number),
        y=figure_style.in_unit(frame[VALUE], figure.y, figure.unit),
    )
    further = dict(zip(("low", "high"), figure.interval or (), strict=False))
    further |= {str(level): column for level, column in enumerate(figure.parts)}
    further |= {"bound": BOUND_OF[figure.y]} if figure.show_bound else {}
    for name, column in further.items():
        of_column = observe(tables, figure, column)
        keys = [*of_column.keys, "seed"]
        values = of_column.frame.set_index(keys)[VALUE].reindex(pd.MultiIndex.from_frame(frame[keys])).to_numpy()
        drawn[name] = figure_style.in_unit(values, figure.y, figure.unit)
    levels = [str(level) for level in range(len(figure.parts))]
    drawn[levels] = drawn[levels].cumsum(axis=1)
    known = drawn[levels].notna().all(axis=1)
    whole, frame, drawn = len(drawn), frame[known], drawn[known]
    if drawn.empty:
        raise figure_style.NothingToDraw(f"no row has all of {' and '.join(figure.parts)}")
    if levels and not np.allclose(drawn[levels[-1]], drawn["y"], rtol=1e-6):
        raise figure_style.NothingToDraw(f"{' and '.join(figure.parts)} do not add up to {figure.y}")
    numeric, xs = pd.api.types.is_numeric_dtype(drawn["x"]), figure_style.in_order(drawn["x"])
    x_log = numeric and (suits_log_scale(xs) if figure.x_log is None else figure.x_log)
    looks, basis = figure_style.Looks(drawn), _basis(figure, observed, frame, drawn, whole - len(drawn))
    x_text = dict(zip(drawn["x"], labels[known].map(label_text), strict=True))
    return _Data(drawn, _marks(figure, drawn, levels), looks, basis, numeric, xs, x_text, x_log)


def _marks(figure: Figure, drawn: pd.DataFrame, levels: list[str]) -> pd.DataFrame:
    """Return one row per mark."""
    low, high = ("low", "high") if figure.interval else ("y", "y")
    groups = drawn.groupby(_MARK, sort=False)
    marks: pd.DataFrame = groups[["y", *levels]].median()
    ends = {"low": groups[low].min(), "high": groups[high].max()}
    marks = marks.assign(**{name: values.fillna(marks["y"]) for name, values in ends.items()})
    marks["low"], marks["high"] = marks[["low", "y"]].min(axis=1), marks[["high", "y"]].max(axis=1)
    return (marks.assign(bound=groups["bound"].min()) if figure.show_bound else marks).reset_index()


def _with_ends(marks: pd.DataFrame, y: str = "y") -> pd.DataFrame:
    """Return the marks, and the ends of their intervals as further rows: the median of the three is the mark."""
    wide = marks[marks["low"] < marks["high"]]
    return pd.concat([marks, *(wide.assign(**{y: wide[end]}) for end in ("low", "high"))])


def _basis(figure: Figure, observed: Observations, frame: pd.DataFrame, drawn: pd.DataFrame, partless: int) -> str:
    """Return points, seeds, meaning of the whiskers and missing points of a figure."""
    parts = [figure_style.sample_text(observed, frame)]
    parts += [f"{count_noun(partless, 'value')} without all parts excluded"] * (partless > 0)
    over = figure_style.merged_axes(figure, observed, frame, [drawn[name] for name in _MARK])
    if figure.interval:
        wide = int((drawn["low"] < drawn["high"] * (1 - 1e-9)).sum())
        parts.append(f"whiskers: intervals of {wide} values" if wide else "all values exact")
    elif figure.kind == "box":
        parts.append("box: quartiles and median, whiskers: min and max")
    elif over:
        parts.append(f"median over {' and '.join(over)}, whiskers: min to max")
    if figure.show_bound:
        seeds = " (min over seeds)" * bool((drawn.groupby(_MARK, dropna=False)["bound"].nunique() > 1).any())
        parts.append(f"dotted: {_bound_text(figure)}{seeds}")
    parts += figure_style.dropped_note(drawn["y"], figure.y_log)
    parts += ["scales differ between panels"] * (not _same_y(figure, drawn))
    return figure_style.footnote(figure, observed, frame, parts)


def _same_y(figure: Figure, drawn: pd.DataFrame) -> bool:
    return figure_style.shares_scale(figure.share_y, drawn, "y", figure.y_log)


def _scales(axes: Axes, figure: Figure, data: _Data, width: float) -> None:
    if figure.y_log:
        figure_style.log_ticks(axes)
    elif figure.kind == "bar" or (figure.kind == "line" and figure.from_zero and not figure.normalise_to):
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0] if (data.rows["y"] < 0).any() else 0.0))
    if figure.normalise_to or figure.y in ("slowdown", "over_bound", "ratio"):
        figure_style.draw_reference(axes)
    if figure.kind == "line" and data.numeric_x:
        _numeric_ticks(axes, data, width)
    else:
        count = len(data.xs)
        figure_style.label_ticks(axes, range(count), [data.x_text[x] for x in data.xs], width / count)
        axes.set_xlim(-0.5, count - 0.5)


def _numeric_ticks(axes: Axes, data: _Data, width: float) -> None:
    """Put a tick at each value, of quantities at those that are not too close; other numbers have even ticks then."""
    if data.x_log:
        axes.set_xscale("log", base=10 if max(data.xs) > 1000 * min(data.xs) else 2)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter(figure_style.PLAIN_NUMBERS)
    positions = np.log(data.xs) if data.x_log else np.array(data.xs)
    ticks, span = [0], positions[-1] - positions[0]
    for index in range(1, len(positions)):
        if positions[index] - positions[ticks[-1]] > 0.05 * span:
            ticks.append(index)
    if data.x_text[data.xs[0]][-1].isalpha() or len(ticks) == len(positions) <= 12:
        xs = [data.xs[index] for index in ticks]
        distance = 0.9 * width * (np.diff(positions[ticks]).min() / span if len(ticks) > 1 else 1.0)
        figure_style.label_ticks(axes, xs, [data.x_text[x] for x in xs], distance)
        axes.xaxis.set_minor_locator(NullLocator())


def _lines(axes: Axes, figure: Figure, data: _Data, part: pd.DataFrame) -> None:
    part = part if data.numeric_x else part.assign(x=part["x"].map(data.xs.index))
    sns.lineplot(
        _with_ends(part), x="x", y="y", estimator="median", errorbar=_ENDS, err_style="bars",
        err_kws={"elinewidth": 1.0, "capsize": 3.5}, ax=axes, **data.looks.lines(),
    )  # fmt: skip
    for line in axes.lines:
        if line.get_linestyle() != "None":
            # Marks of earlier lines are larger, and so visible below equal ones.
            line.set(markersize=1.5 + 3.2 * line.get_linewidth(), markeredgewidth=0.5)
    if figure.show_bound:
        sns.lineplot(
            part, x="x", y="bound", hue="hue", palette=data.looks.palette, units="style", estimator=None,
            linestyle=_DOTTED, linewidth=1.3, legend=False, ax=axes,
        )  # fmt: skip


def _bound_text(figure: Figure) -> str:
    return "lower bound on the runtime" if figure.y == "runtime_ns" else "saturation bound"


def _shade(base: Any, level: int, parts: int) -> tuple[float, ...]:
    """Lighten the colour of a bar for its upper parts."""
    return figure_style.lighten(base, 0.65 * level / max(1, parts - 1))


def _bars(axes: Axes, figure: Figure, data: _Data, part: pd.DataFrame) -> None:
    """Draw bars, those up to a part of y in front of those up to the next part, with whiskers of the whole."""
    part = part.assign(x=part["x"].map(label_text))
    hues, parts = data.looks.hues, len(figure.parts)
    options: dict[str, Any] = {"x": "x", "hue": "hue", "order": [label_text(x) for x in data.xs], "hue_order": hues,
                               "legend": False, "ax": axes}  # fmt: skip
    for level in reversed(range(max(1, parts))):
        whole, y = level + 1 >= parts, str(level) if parts else "y"
        colours = [_shade(data.looks.palette[hue], level, parts) for hue in hues]
        sns.barplot(
            _with_ends(part, y) if whole else part, y=y, palette=colours, saturation=1, estimator="median",
            errorbar=_ENDS if whole else None, err_kws={"linewidth": 0.9, "color": EDGE_COLOUR}, capsize=0.25,
            width=_BAR, **options,
        )  # fmt: skip
        for index, bars in enumerate(axes.containers[-len(hues) :]):
            for bar in bars:
                bar.set(edgecolor="#444444", linewidth=0.5, hatch=figure_style.hatch(index, len(hues)))
    if figure.show_bound:
        sns.barplot(
            part, y="bound", palette=[EDGE_COLOUR] * len(hues), fill=False, linestyle=(0, (1, 1)), linewidth=1.2,
            errorbar=None, width=_BAR, **options,
        )  # fmt: skip


def _boxes(axes: Axes, figure: Figure, data: _Data, part: pd.DataFrame) -> None:
    options: dict[str, Any] = {
        "data": part.assign(x=part["x"].map(label_text)), "x": "x", "y": "y", "hue": "hue", "legend": False, "ax": axes,
        "order": [label_text(x) for x in data.xs], "hue_order": data.looks.hues, "palette": data.looks.palette,
    }  # fmt: skip
    with warnings.catch_warnings():  # seaborn 0.13 passes an argument that Matplotlib 3.11 deprecates
        warnings.simplefilter("ignore", MatplotlibDeprecationWarning)
        sns.boxplot(
            **options, saturation=1, width=0.8, gap=0.2, whis=(0, 100), linewidth=0.9, linecolor=EDGE_COLOUR,
            boxprops={"alpha": 0.45},
        )  # fmt: skip
    np.random.seed(0)  # seaborn draws the jitter by the global generator
    sns.stripplot(**options, dodge=True, jitter=0.2, size=2.5, zorder=3, rasterized=len(part) > 200)


def _handles(figure: Figure, data: _Data) -> list[Any]:
    looks, edge = data.looks, {"edgecolor": "#444444", "linewidth": 0.5}
    handles: list[Any] = []
    if figure.kind == "line":
        handles = looks.handles()
    for index, hue in enumerate(looks.hues if figure.kind != "line" and looks.hues != [""] else []):
        hatched = figure_style.hatch(index, len(looks.hues)) if figure.kind == "bar" else ""
        label = figure_style.legend_label(hue)
        handles.append(Patch(facecolor=looks.palette[hue], label=label, hatch=hatched, **edge))  # type: ignore[arg-type]
    base = looks.palette[""] if looks.hues == [""] else (0.35, 0.35, 0.35)
    for level, column in reversed(list(enumerate(figure.parts))):
        label = figure_style.legend_label(figure_style.column_text(column))
        handles.append(Patch(facecolor=_shade(base, level, len(figure.parts)), label=label, **edge))  # type: ignore[arg-type]
    if figure.show_bound:
        handles.append(Line2D([], [], color="#444444", linestyle=_DOTTED, linewidth=1.3, label=_bound_text(figure)))
    return handles


def _alt(figure: Figure, data: _Data, y_label: str) -> str:
    kind = {"line": "Line chart", "bar": "Bar chart", "box": "Box plot"}[figure.kind]
    head = [
        f"{kind}: {y_label} against {figure.x_label or figure.x}",
        *figure_style.grouping_text(figure, "line style"),
    ]
    head += [f"in parts from below: {', '.join(map(figure_style.column_text, figure.parts))}"] * bool(figure.parts)
    lines = []
    for key, part in data.marks.groupby(["row", "column", "hue", "style"], sort=False):
        middle = part.set_index("x")["y"].reindex([x for x in data.xs if x in set(part["x"])])
        name = ", ".join(str(label) for label in key if label) or "all"
        first, last = (f"{middle.iloc[i]:.3g} at {data.x_text[middle.index[i]]}" for i in (0, -1))
        lines.append(f"{name}: {first}" + (f", {last}" if len(middle) > 1 else ""))
    more = f"; and {len(lines) - 12} more series" * (len(lines) > 12)
    return f"{', '.join(head)}. Medians: {'; '.join(lines[:12])}{more}"
