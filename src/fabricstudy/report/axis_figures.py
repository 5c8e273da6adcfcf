"""Line charts, bar charts and box plots of a column of a table against an axis of the study."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter, NullLocator

from fabricstudy.study.figures import BOUND_OF, Figure, suits_log_scale
from fabricstudy.table.files import Tables
from fabricstudy.table.select import VALUE, Observations, label_text, observe

from . import figure_style

_BAR = 0.84
"""Width of all bars at one label, as a share of the distance between labels."""

EDGE_COLOUR = "#222222"
_DOTTED = (0, (1, 1.6))


@dataclass(frozen=True, eq=False)
class _Data:
    """Data of a figure: columns x, y, hue, family, style, column, row and optionally low, high and bound.

    Columns 0, 1, ... are cumulative sums of the parts of a bar. `family` maps each hue to the label of its first axis.
    """

    frame: pd.DataFrame
    basis: str
    hues: list[str]
    family: dict[str, str]
    styles: list[str]
    numeric_x: bool
    xs: list[Any]
    x_log: bool


def draw_axis_figure(figure: Figure, tables: Tables) -> figure_style.Drawing:
    """Draw lines, bars or boxes."""
    data = _data(figure, tables)
    grid = figure_style.panels(figure, data.frame, share_y=_same_y(figure, data.frame))
    width, wide = grid.canvas.get_figwidth(), grid.axes.shape[1]
    if figure.kind != "line":
        width = max(width, wide * (0.13 * len(data.xs) * len(data.hues) + 1))
        grid.canvas.set_figwidth(width)
    for axes, _, part in grid.panels:
        _panel(axes, figure, data, part)
    # Panels may share a scale, so that it is set after all are drawn.
    for axes in grid.axes.flat:
        _scales(axes, figure, data, width / wide - 0.6)
    handles, families = _handles(figure, data), len(set(data.family.values()))
    # One legend column for each family of colours.
    columns = families if families < len(data.hues) == len(handles) else 0
    y_label = figure_style.with_unit(figure.y, figure.y_label, figure.unit)
    return grid.finished(_alt(figure, data, y_label), data.basis, figure.x_label or figure.x, y_label, handles, columns)


def _data(figure: Figure, tables: Tables) -> _Data:
    observed, frame = figure_style.drawn_rows(figure, tables, figure.y)
    drawn = figure_style.mark_labels(frame, figure).assign(
        x=figure_style.axis_values(figure_style.labelled(frame, figure.x)),
        y=figure_style.in_unit(frame[VALUE], figure.y, figure.unit),
    )
    further = dict(zip(("low", "high"), figure.interval or (), strict=False))
    further |= {str(level): column for level, column in enumerate(figure.parts)}
    further |= {"bound": BOUND_OF[figure.y]} if figure.show_bound else {}
    for name, column in further.items():
        observed = observe(tables, figure, column)
        keys = [*observed.keys, "seed"]
        values = observed.frame.set_index(keys)[VALUE].reindex(pd.MultiIndex.from_frame(frame[keys])).to_numpy()
        drawn[name] = figure_style.in_unit(values, figure.y, figure.unit)
    levels = [str(level) for level in range(len(figure.parts))]
    drawn[levels] = drawn[levels].cumsum(axis=1)
    if levels and not np.allclose(drawn[levels[-1]], drawn["y"], rtol=1e-6):
        raise figure_style.NothingToDraw(f"{' and '.join(figure.parts)} do not add up to {figure.y}")
    numeric = pd.api.types.is_numeric_dtype(drawn["x"])
    family, xs = figure_style.hue_families(drawn), figure_style.in_order(drawn["x"])
    x_log = numeric and (suits_log_scale(xs) if figure.x_log is None else figure.x_log)
    basis = _basis(figure, observed, frame, drawn)
    return _Data(drawn, basis, list(family), family, list(drawn["style"].unique()), numeric, xs, x_log)


def _basis(figure: Figure, observed: Observations, frame: pd.DataFrame, drawn: pd.DataFrame) -> str:
    """Return points, seeds, meaning of the whiskers and missing points of a figure."""
    parts, marks = [figure_style.sample_text(observed, frame)], ["x", "hue", "style", "column", "row"]
    over = figure_style.merged_axes(figure, observed, frame, [drawn[name] for name in marks])
    if figure.interval:
        wide = int((drawn["low"] < drawn["high"] * (1 - 1e-9)).sum())
        parts.append(f"whiskers: intervals of {wide} values" if wide else "all values exact")
    elif figure.kind == "box":
        parts.append("box: quartiles and median, whiskers: min and max")
    elif over:
        parts.append(f"median over {' and '.join(over)}, whiskers: min to max")
    if figure.show_bound:
        seeds = " (min over seeds)" * bool((drawn.groupby(marks, dropna=False)["bound"].nunique() > 1).any())
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
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0] if (data.frame["y"] < 0).any() else 0.0))
    if figure.normalise_to or figure.y in ("slowdown", "over_bound", "ratio"):
        figure_style.draw_reference(axes)
    if figure.kind == "line" and data.numeric_x:
        _numeric_ticks(axes, data, width)
    else:
        figure_style.label_ticks(axes, [figure_style.truncate_label(label_text(x)) for x in data.xs], width)


def _numeric_ticks(axes: Axes, data: _Data, width: float) -> None:
    """Put a tick at each value unless they are too close, and a label where there is room."""
    if data.x_log:
        axes.set_xscale("log", base=10 if max(data.xs) > 1000 * min(data.xs) else 2)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter(figure_style.PLAIN_NUMBERS)
    ticks = np.log(data.xs) if data.x_log else np.array(data.xs)
    span = ticks[-1] - ticks[0]
    if len(ticks) <= 12 and (len(ticks) == 1 or np.diff(ticks).min() > 0.05 * span):
        centres = 0.9 * width * (ticks - ticks[0]) / max(span, 1e-9)
        axes.set_xticks(data.xs, figure_style.thin_labels([label_text(x) for x in data.xs], list(centres)))
        axes.xaxis.set_minor_locator(NullLocator())


def _panel(axes: Axes, figure: Figure, data: _Data, part: pd.DataFrame) -> None:
    axes.grid(axis="x", visible=False)
    if figure.kind == "box":
        _boxes(axes, data, part)
    elif figure.kind == "bar":
        for level in reversed(range(max(1, len(figure.parts)))):
            _bars(axes, data, part, level, len(figure.parts))
        if figure.interval:
            _intervals_of_bars(axes, data, part)
        if figure.show_bound:
            _bounds_of_bars(axes, data, part)
    else:
        for hue, style in itertools.product(data.hues, data.styles):
            line = part[(part["hue"] == hue) & (part["style"] == style)]
            if not line.empty:
                _line(axes, figure, data, hue, style, line)


def _line(axes: Axes, figure: Figure, data: _Data, hue: str, style: str, line: pd.DataFrame) -> None:
    by_x = line.groupby("x", sort=False)
    middle = by_x["y"].median()
    order = [x for x in data.xs if x in middle.index]
    middle = middle[order]
    positions = order if data.numeric_x else [data.xs.index(x) for x in order]
    low = by_x["low" if figure.interval else "y"].min()[order]
    high = by_x["high" if figure.interval else "y"].max()[order]
    index = data.hues.index(hue)
    drawn_as: dict[str, Any] = {"color": figure_style.colour(data.family, hue), "zorder": 2 + index * 0.01}
    dashes = None if data.styles == [""] else figure_style.DASHES[data.styles.index(style) % len(figure_style.DASHES)]
    axes.errorbar(
        positions, middle, yerr=np.maximum([middle - low, high - middle], 0), elinewidth=1.0,
        markerfacecolor="white" if index == 0 else drawn_as["color"], capsize=max(5.5 - 1.3 * index, 1.5),
        **figure_style.line_style(index, len(data.hues), dashes), **drawn_as,
    )  # fmt: skip
    if figure.show_bound:
        bound = by_x["bound"].min()[order]
        axes.plot(positions, bound, linestyle=_DOTTED, linewidth=1.3, **drawn_as)


def _bound_text(figure: Figure) -> str:
    return "lower bound on the runtime" if figure.y == "runtime_ns" else "saturation bound"


def _shade(base: Any, level: int, parts: int) -> Any:
    """Lighten the colour of a bar for its upper parts."""
    white = 0.65 * level / max(1, parts - 1)
    return tuple(float(channel + (1 - channel) * white) for channel in base)


def _bars(axes: Axes, data: _Data, part: pd.DataFrame, level: int, parts: int) -> None:
    """Draw bars up to a part of y, in front of those up to the next part; whiskers are those of the sum."""
    ticks, whole = [label_text(x) for x in data.xs], level + 1 >= parts and "low" not in part
    sns.barplot(
        part.assign(x=part["x"].map(label_text)), x="x", y=str(level) if parts else "y", hue="hue", order=ticks,
        hue_order=data.hues, palette=[_shade(figure_style.colour(data.family, hue), level, parts) for hue in data.hues],
        saturation=1, estimator="median", errorbar=(lambda values: (values.min(), values.max())) if whole else None,
        err_kws={"linewidth": 0.9, "color": EDGE_COLOUR}, capsize=0.25, legend=False, ax=axes, width=_BAR,
    )  # fmt: skip
    axes.set(xlabel="", ylabel="")
    for index, bars in enumerate(axes.containers[-len(data.hues) :]):
        for bar in bars:
            bar.set(edgecolor="#444444", linewidth=0.5, hatch=figure_style.hatch(index, len(data.hues)))


def _middle_of_bar(data: _Data, x: Any, hue: str) -> float:
    return float(data.xs.index(x) + (data.hues.index(hue) - (len(data.hues) - 1) / 2) * _BAR / len(data.hues))


def _intervals_of_bars(axes: Axes, data: _Data, part: pd.DataFrame) -> None:
    """Draw a whisker from the lower to the upper end of each bar's value."""
    bars = part.groupby(["x", "hue"], sort=False).agg({"low": "min", "high": "max"}).dropna().reset_index()
    middles = [_middle_of_bar(data, x, hue) for x, hue in zip(bars["x"], bars["hue"], strict=True)]
    half = (bars["high"] - bars["low"]) / 2
    axes.errorbar(
        middles, bars["low"] + half, yerr=half, linestyle="none", color=EDGE_COLOUR, elinewidth=0.9, capsize=4
    )  # fmt: skip


def _bounds_of_bars(axes: Axes, data: _Data, part: pd.DataFrame) -> None:
    """Mark the lower bound in each bar."""
    width = _BAR / len(data.hues)
    bounds = part.groupby(["x", "hue"], sort=False)["bound"].min().dropna().reset_index()
    for x, hue, bound in bounds.itertuples(index=False):
        middle = _middle_of_bar(data, x, hue)
        ends = [middle - 0.42 * width, middle + 0.42 * width]
        axes.plot(ends, [bound, bound], linestyle=(0, (1, 1)), color=EDGE_COLOUR, linewidth=1.6)


def _boxes(axes: Axes, data: _Data, part: pd.DataFrame) -> None:
    width = 0.7 / len(data.hues)
    for hue_index, hue in enumerate(data.hues):
        shade = figure_style.colour(data.family, hue)
        for tick, x in enumerate(data.xs):
            values = part.loc[(part["hue"] == hue) & (part["x"] == x), "y"]
            if values.empty:
                continue
            centre = tick + (hue_index - (len(data.hues) - 1) / 2) * width
            axes.boxplot(
                [values], positions=[centre], widths=0.85 * width, whis=(0, 100), patch_artist=True, manage_ticks=False,
                boxprops={"facecolor": (*shade, 0.45), "linewidth": 0.9}, medianprops={"color": EDGE_COLOUR},
                whiskerprops={"linewidth": 0.9}, capprops={"linewidth": 0.9},
            )  # fmt: skip
            # Steps of the golden ratio spread the points evenly and deterministically.
            offset = (np.arange(len(values)) * 0.618 % 1 - 0.5) * 0.6 * width
            axes.plot(centre + offset, values, ".", color=shade, markersize=4, zorder=3, rasterized=len(values) > 200)


def _handles(figure: Figure, data: _Data) -> list[Any]:
    handles: list[Any] = []
    has_styles = data.styles != [""]
    edge: dict[str, Any] = {"edgecolor": "#444444", "linewidth": 0.5}
    for index, hue in enumerate(data.hues if data.hues != [""] else []):
        shade = figure_style.colour(data.family, hue)
        if figure.kind == "line":
            look = figure_style.line_style(index, len(data.hues), "-" if has_styles else None)
            face = "white" if index == 0 else shade
            handles.append(figure_style.legend_line(hue, color=shade, markerfacecolor=face, **look))
        else:
            hatched = figure_style.hatch(index, len(data.hues)) if figure.kind == "bar" else ""
            handles.append(Patch(facecolor=shade, label=figure_style.legend_label(hue), hatch=hatched, **edge))
    base = figure_style.colour(data.family, "") if data.hues == [""] else (0.35, 0.35, 0.35)
    for level, column in reversed(list(enumerate(figure.parts))):
        label = figure_style.legend_label(figure_style.column_text(column))
        handles.append(Patch(facecolor=_shade(base, level, len(figure.parts)), label=label, **edge))
    for index, style in enumerate(data.styles if has_styles else []):
        dashes = figure_style.DASHES[index % len(figure_style.DASHES)]
        handles.append(figure_style.legend_line(style, color="#444444", linestyle=dashes))
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
    for key, part in data.frame.groupby(["row", "column", "hue", "style"], sort=False):
        middle = part.groupby("x", sort=False)["y"].median()
        middle = middle[[x for x in data.xs if x in middle.index]]
        name = ", ".join(str(label) for label in key if label) or "all"
        first, last = (f"{middle.iloc[i]:.3g} at {label_text(middle.index[i])}" for i in (0, -1))
        lines.append(f"{name}: {first}" + (f", {last}" if len(middle) > 1 else ""))
    more = f"; and {len(lines) - 12} more series" * (len(lines) > 12)
    return f"{', '.join(head)}. Medians: {'; '.join(lines[:12])}{more}"
