"""One declared figure and the tables -> a picture, its alt text and what it rests on."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from fabricstudy.columns import column_unit
from fabricstudy.study.figures import AnyFigure, Figure, JobsFigure, unit_factor
from fabricstudy.study.model import Study
from fabricstudy.table.select import AGAINST, VALUE, Observations, join, label_text, mask, medians, observe
from fabricstudy.table.store import Tables

from .job_figures import NothingToDraw, canvas_of, runs_of
from .text import counted_pairs

_STYLE = {
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
    # Labels of a study are text, never formulas.
    "text.parse_math": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "fabricstudy",
    "pdf.fonttype": 42,
}
_MARKERS = "osD^vPX*<>"
_DASHES: tuple[Any, ...] = ("-", "--", "-.", (0, (1, 1.2)))


@dataclass(frozen=True)
class Drawn:
    """A figure as drawn.

    Parameters
    ----------
    figure : Figure
        As declared.
    svg, pdf : bytes
        The picture in both formats; empty where there is nothing to draw.
    alt : str
        What the picture shows, in words.
    basis : str
        Points, seeds, meaning of the bars and what is missing; it also stands in the picture.
    panels : int
        Panels side by side.
    """

    figure: AnyFigure
    svg: bytes
    pdf: bytes
    alt: str
    basis: str
    panels: int


@dataclass(frozen=True, eq=False)
class _Data:
    """What is drawn: columns x, y, hue, style, column, row, seed and, where asked for, low, high and bound.

    `family` gives for each hue the label of its first axis.
    """

    frame: pd.DataFrame
    basis: str
    hues: list[str]
    family: dict[str, str]
    styles: list[str]
    columns: list[str]
    rows: list[str]
    numeric_x: bool
    xs: list[Any]
    noise: tuple[float, float] | None = None


def draw(figure: AnyFigure, tables: Tables, study: Study | None = None) -> Drawn:
    """Draw a figure of a study, which those of the jobs of a schedule need; where nothing can be drawn, say why."""
    if isinstance(figure, JobsFigure):
        assert study is not None
        return _draw_jobs(figure, tables, study)
    seen = observe(tables, figure, figure.y)
    data = _data(figure, tables, seen)
    if data.frame.empty:
        gap = seen.gap()
        reason = f"Nothing to draw: table {figure.table} has no such rows{'; ' * bool(gap)}{gap}."
        return Drawn(figure, b"", b"", "", reason, 1)
    with mpl.rc_context(_STYLE):
        svg, pdf = _saved(figure, _canvas(figure, data))
    return Drawn(figure, svg, pdf, _alt(figure, data), data.basis, len(data.columns))


def _draw_jobs(figure: JobsFigure, tables: Tables, study: Study) -> Drawn:
    with mpl.rc_context(_STYLE):
        try:
            runs = runs_of(figure, study, tables)
            canvas, words = canvas_of(figure, runs)
        except NothingToDraw as reason:
            return Drawn(figure, b"", b"", "", f"Nothing to draw: {reason}.", 1)
        rows = [row for own in runs.values() for row, _ in own]
        basis = f"n = {len(rows)} run{'s' * (len(rows) != 1)}, seed {rows[0].seed}."
        canvas.supxlabel(basis, fontsize=8.5, color="#444444")
        svg, pdf = _saved(figure, canvas)
    names = {"timeline": "Machine over time", "gantt": "Gantt chart of midplanes", "ecdf": "Waits, cumulative"}
    return Drawn(figure, svg, pdf, f"{names[figure.kind]}. {words}.", basis, len(runs))


def _saved(figure: AnyFigure, canvas: Canvas) -> tuple[bytes, bytes]:
    svg, pdf = io.BytesIO(), io.BytesIO()
    canvas.savefig(svg, format="svg", metadata={"Date": None, "Title": figure.title})
    canvas.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Title": figure.title})
    return svg.getvalue(), pdf.getvalue()


def _data(figure: Figure, tables: Tables, seen: Observations) -> _Data:
    frame = seen.frame
    scale = unit_factor(figure.y, figure.unit) if figure.unit else 1.0
    if figure.normalise_to:
        frame = _normalised(figure, frame, seen.keys)
    drawn = pd.DataFrame(
        {
            "y": frame[VALUE] * scale,
            "seed": frame["seed"],
            "hue": _joined(frame, figure.hue),
            "style": _joined(frame, (figure.style,) if figure.style else ()),
            "column": _joined(frame, (figure.columns,) if figure.columns else ()),
            "row": _joined(frame, (figure.rows,) if figure.rows else ()),
        }
    )
    for name, column in _beside(figure).items():
        other = observe(tables, figure, column)
        values = other.frame.set_index([*other.keys, "seed"])[VALUE]
        drawn[name] = values.reindex(pd.MultiIndex.from_frame(frame[[*other.keys, "seed"]])).to_numpy() * scale
    x = frame[figure.x]
    numeric = pd.api.types.is_numeric_dtype(x) and not (pd.api.types.is_bool_dtype(x) or x.hasnans)
    drawn["x"] = x.astype(float) if numeric else x.map(label_text)
    xs = sorted(drawn["x"].unique()) if numeric else list(dict.fromkeys(drawn["x"]))
    noise = _noise(figure, tables)
    basis = _basis(figure, seen, frame, drawn, noise)
    hues, styles, columns, rows = (list(dict.fromkeys(drawn[name])) for name in ("hue", "style", "column", "row"))
    first = frame[figure.hue[0]].map(label_text) if figure.hue else drawn["hue"]
    family = dict(zip(drawn["hue"], first, strict=True))
    return _Data(drawn, basis, hues, family, styles, columns, rows, numeric, xs, noise)


def _noise(figure: Figure, tables: Tables) -> tuple[float, float] | None:
    """Slowdowns of jobs that share no link, from which others cannot be told; None where no floor is known."""
    if figure.y != "slowdown" or figure.normalise_to:
        return None
    rows = tables.interference[tables.interference["experiment"] == figure.experiment]
    low, high = rows["noise_low"].min(), rows["noise_high"].max()
    return None if pd.isna(low) else (min(float(low), 1.0), max(float(high), 1.0))


def _beside(figure: Figure) -> dict[str, str]:
    """Columns of the table that are drawn beside y."""
    found = dict(zip(("low", "high"), figure.interval, strict=True)) if figure.interval else {}
    return {**found, "bound": "bound_ns"} if figure.show_bound else found


def _joined(frame: pd.DataFrame, names: Sequence[str]) -> pd.Series[Any]:
    """Labels of one axis or several, as one text."""
    texts = [frame[name].map(label_text) for name in names]
    if not texts:
        return pd.Series("", index=frame.index)
    return pd.Series([", ".join(row) for row in zip(*texts, strict=True)], index=frame.index)


def _normalised(figure: Figure, frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Divide by the median over seeds of the base points; values without one are left out."""
    others = [name for name in keys if name not in figure.normalise_to]
    base = medians(frame[mask(frame, figure.normalise_to)], others)
    both = join(frame, base, others)
    return both.assign(**{VALUE: both[VALUE] / both[AGAINST]})


def _pairs(figure: Figure, frame: pd.DataFrame, keys: list[str]) -> int:
    """Count the points, seeds apart, that are divided by another one."""
    return len(frame.loc[~mask(frame, figure.normalise_to), keys].drop_duplicates())


def _basis(
    figure: Figure,
    seen: Observations,
    frame: pd.DataFrame,
    drawn: pd.DataFrame,
    noise: tuple[float, float] | None,
) -> str:
    """Say how many points and seeds a figure shows, what its bars mean and what is missing."""
    seeds = drawn["seed"].nunique()
    parts = [f"n = {seen.needed - sum(seen.missing.values())} {seen.noun}"]
    # What varies between marks alone, as the message with the pattern, is no part of their median.
    marks = [drawn[name] for name in ("x", "hue", "style", "column", "row")]
    groups = frame[[name for name in seen.keys if name not in figure.axes()]].groupby(marks, dropna=False)
    over = [str(name) for name, most in groups.nunique(dropna=False).max().items() if most > 1]
    if seen.noun in ("points", "runs"):
        parts[0] += f", {seeds} seed{'s' * (seeds != 1)}"
        over = ["seeds"] * (seeds > 1) + over
    if figure.interval:
        wide = int((drawn["low"] < drawn["high"] * (1 - 1e-9)).sum())
        parts.append(f"whiskers: interval of {wide} values" if wide else "all values exact")
    elif figure.kind == "box":
        parts.append("box: quartiles and median, whiskers: least and largest")
    elif over:
        parts.append(f"median over {' and '.join(over)}, whiskers: least to largest")
    if figure.show_bound:
        parts.append("dotted: bound, the least time that the links allow")
    if noise:
        inside = int(drawn["y"].between(*noise).sum())
        parts.append(f"grey: {noise[0]:.3g} to {noise[1]:.3g}, noise of jobs that share no link; {inside} values in it")
    parts.append(seen.gap() or "none missing")
    if figure.normalise_to:
        pairs, asked = (_pairs(figure, some, seen.keys) for some in (frame, seen.frame))
        left_out = "; what has no partner is left out" if pairs < asked else ""
        parts.append(f"{counted_pairs(pairs, asked)}{left_out}")
    return "; ".join(parts) + "."


def _canvas(figure: Figure, data: _Data) -> Canvas:
    wide, high = len(data.columns), len(data.rows)
    width = {1: 5.6, 2: 7.6}.get(wide, 3.1 * wide)
    if figure.kind != "line":
        width = max(width, wide * (0.13 * len(data.xs) * len(data.hues) + 1))
    canvas = Canvas(figsize=(width, 2.75 * high + 1.0), layout="constrained")
    grid = canvas.subplots(high, wide, sharex=True, sharey=figure.same_y, squeeze=False)
    for i, row in enumerate(data.rows):
        for j, column in enumerate(data.columns):
            part = data.frame[(data.frame["row"] == row) & (data.frame["column"] == column)]
            _panel(grid[i][j], figure, data, part)
            titles = [
                f"{axis}: {_short(label)}" for axis, label in ((figure.rows, row), (figure.columns, column)) if axis
            ]
            grid[i][j].set_title(", ".join(titles))
            grid[i][j].set_xlabel(_x_label(figure) if i == high - 1 else "")
            grid[i][j].set_ylabel(_wrapped(_y_label(figure), 32) if j == 0 else "")
    _scales(figure, data, [axes for line in grid for axes in line], width / wide - 0.6)
    handles = _handles(figure, data)
    if handles:
        canvas.legend(
            handles=handles, loc="outside upper center", ncols=_legend_columns(data, handles, width), frameon=False
        )
    canvas.supxlabel(_wrapped(data.basis, int(width * 14)), fontsize=8.5, color="#444444")
    return canvas


def _legend_columns(data: _Data, handles: list[Any], width: float) -> int:
    """Give each colour family a column of its own, else spread the entries evenly over as few lines as fit."""
    families = _families(data)
    if len(families) < len(data.hues) == len(handles):
        return len(families)
    longest = max(len(handle.get_label()) for handle in handles)
    fitting = max(1, int(width / (0.65 + 0.075 * longest)))
    return -(-len(handles) // -(-len(handles) // fitting))


def _families(data: _Data) -> list[str]:
    """Labels of the first axis of hues that come from two."""
    return list(dict.fromkeys(data.family[hue] for hue in data.hues))


def _wrapped(text: str, width: int) -> str:
    return "\n".join(textwrap.wrap(text, width))


def _x_label(figure: Figure) -> str:
    return figure.x_label or figure.x


def _y_label(figure: Figure) -> str:
    """The label of the study, or the column, whose own unit goes where another one is drawn."""
    if figure.unit is None:
        return figure.y_label or figure.y
    name = figure.y.rsplit("_", 1)[0] if column_unit(figure.y) else figure.y
    return f"{figure.y_label or name.replace('_', ' ')} ({figure.unit})"


def _colour(data: _Data, hue: str) -> Any:
    """Colour of a hue; of two axes the first one chooses the colour and the second one how light it is."""
    families = _families(data)
    if len(families) == len(data.hues) or len(families) > 10:
        name = "colorblind" if len(data.hues) <= 10 else "viridis"
        return sns.color_palette(name, len(data.hues))[data.hues.index(hue)]
    family = data.family[hue]
    members = [other for other in data.hues if data.family[other] == family]
    base = np.array(sns.color_palette("colorblind", len(families))[families.index(family)])
    white = 0.7 * members.index(hue) / max(len(members) - 1, 1)
    return tuple(base * (1 - white) + white)


def _scales(figure: Figure, data: _Data, panels: list[Axes], width: float) -> None:
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    for axes in panels:
        if figure.y_log:
            _log_ticks(axes)
            axes.yaxis.set_major_formatter(plain)
        elif figure.kind == "bar" or (figure.kind == "line" and not figure.normalise_to):
            axes.set_ylim(bottom=0)
        if figure.normalise_to or figure.y in ("slowdown", "over_bound", "ratio"):
            axes.axhline(1, color="#333333", linewidth=0.8, zorder=0.5)
        if data.noise:
            axes.axhspan(*data.noise, color="#000000", alpha=0.08, linewidth=0, zorder=0.4)
        if figure.kind == "line" and data.numeric_x:
            _numeric_ticks(axes, figure, data)
        else:
            _label_ticks(axes, [_short(label_text(x)) for x in data.xs], width)


def _log_ticks(axes: Axes) -> None:
    """Make the vertical scale logarithmic, with as many ticks a decade as have room."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    steps = (1, 1.5, 2, 3, 4, 5, 7) if high < 8 * low else (1, 2, 5) if high < 1000 * low else (1,)
    axes.yaxis.set_major_locator(LogLocator(subs=steps))
    axes.yaxis.set_minor_locator(NullLocator())


def _numeric_ticks(axes: Axes, figure: Figure, data: _Data) -> None:
    """Put a tick at each value, unless they would stand too close."""
    if figure.x_log:
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    at = np.log(data.xs) if figure.x_log else np.array(data.xs)
    if len(at) <= 12 and (len(at) == 1 or np.diff(at).min() > 0.05 * (at[-1] - at[0])):
        axes.set_xticks(data.xs, [label_text(x) for x in data.xs])
        axes.xaxis.set_minor_locator(NullLocator())


def _label_ticks(axes: Axes, labels: list[str], width: float) -> None:
    """Put labels side by side if they fit into `width` inches, else slanted."""
    slanted = 0.09 * sum(len(label) + 1 for label in labels) > width
    axes.set_xticks(range(len(labels)), labels)
    axes.set_xlim(-0.5, len(labels) - 0.5)
    if slanted:
        axes.tick_params(axis="x", rotation=30)
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right")


def _panel(axes: Axes, figure: Figure, data: _Data, part: pd.DataFrame) -> None:
    axes.grid(axis="x", visible=False)
    if figure.kind == "line":
        for hue, style, line in _series(data, part):
            _line(axes, figure, data, hue, style, line)
    elif figure.kind == "bar":
        _bars(axes, data, part)
    else:
        _boxes(axes, data, part)


def _series(data: _Data, part: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    for hue in data.hues:
        for style in data.styles:
            line = part[(part["hue"] == hue) & (part["style"] == style)]
            if not line.empty:
                yield hue, style, line


def _line(axes: Axes, figure: Figure, data: _Data, hue: str, style: str, line: pd.DataFrame) -> None:
    by_x = line.groupby("x", sort=False)
    middle = by_x["y"].median()
    order = [x for x in data.xs if x in middle.index]
    middle = middle[order]
    at = order if data.numeric_x else [data.xs.index(x) for x in order]
    low = by_x["low" if figure.interval else "y"].min()[order]
    high = by_x["high" if figure.interval else "y"].max()[order]
    place = data.hues.index(hue)
    look: dict[str, Any] = {"color": _colour(data, hue), "zorder": 2 + place * 0.01}
    # Larger markers and caps lie below smaller ones, so that equal values of several series can be told.
    axes.errorbar(
        at, middle, yerr=np.maximum([middle - low, high - middle], 0), marker=_MARKERS[place % len(_MARKERS)],
        markersize=max(7.5 - 1.5 * place, 3), markerfacecolor="white" if place == 0 else look["color"],
        linestyle=_DASHES[data.styles.index(style) % len(_DASHES)], linewidth=1.4, elinewidth=1.0,
        capsize=max(5.5 - 1.3 * place, 1.5), **look,
    )  # fmt: skip
    if figure.show_bound:
        bound = by_x["bound"].median()[order]
        axes.plot(at, bound, linestyle=(0, (1, 1.6)), linewidth=1.3, **look)


def _bars(axes: Axes, data: _Data, part: pd.DataFrame) -> None:
    ticks = [label_text(x) for x in data.xs]
    sns.barplot(
        part.assign(x=part["x"].map(label_text)), x="x", y="y", hue="hue", order=ticks, hue_order=data.hues,
        palette=[_colour(data, hue) for hue in data.hues], saturation=1, estimator="median",
        errorbar=lambda values: (values.min(), values.max()), err_kws={"linewidth": 0.9, "color": "#222222"},
        capsize=0.25, legend=False, ax=axes, width=0.84,
    )  # fmt: skip
    for bars in axes.containers:
        for bar in bars:
            bar.set_edgecolor("#444444")
            bar.set_linewidth(0.5)


def _boxes(axes: Axes, data: _Data, part: pd.DataFrame) -> None:
    width = 0.7 / len(data.hues)
    for number, hue in enumerate(data.hues):
        colour = _colour(data, hue)
        for place, x in enumerate(data.xs):
            values = part.loc[(part["hue"] == hue) & (part["x"] == x), "y"]
            if values.empty:
                continue
            at = place + (number - (len(data.hues) - 1) / 2) * width
            axes.boxplot(
                [values], positions=[at], widths=0.85 * width, whis=(0, 100), patch_artist=True, manage_ticks=False,
                boxprops={"facecolor": (*colour, 0.45), "linewidth": 0.9}, medianprops={"color": "#222222"},
                whiskerprops={"linewidth": 0.9}, capprops={"linewidth": 0.9},
            )  # fmt: skip
            # Steps of the golden ratio spread the points evenly, and the same way each time.
            aside = (np.arange(len(values)) * 0.618 % 1 - 0.5) * 0.6 * width
            axes.plot(at + aside, values, ".", color=colour, markersize=4, zorder=3, rasterized=len(values) > 200)


def _handles(figure: Figure, data: _Data) -> list[Any]:
    handles: list[Any] = []
    if data.hues != [""]:
        for place, hue in enumerate(data.hues):
            colour = _colour(data, hue)
            if figure.kind == "line":
                handles.append(
                    Line2D(
                        [], [], color=colour, marker=_MARKERS[place % len(_MARKERS)], linewidth=1.4,
                        markersize=max(7.5 - 1.5 * place, 3), markerfacecolor="white" if place == 0 else colour,
                        label=_legend(hue),
                    )
                )  # fmt: skip
            else:
                handles.append(Patch(facecolor=colour, edgecolor="#444444", linewidth=0.5, label=_legend(hue)))
    if data.styles != [""]:
        handles += [
            Line2D([], [], color="#444444", linestyle=_DASHES[place % len(_DASHES)], label=_legend(style))
            for place, style in enumerate(data.styles)
        ]
    if figure.show_bound:
        handles.append(Line2D([], [], color="#444444", linestyle=(0, (1, 1.6)), linewidth=1.3, label="bound"))
    return handles


def _legend(label: str) -> str:
    # matplotlib leaves out labels that begin with an underscore.
    return f" {_short(label)}" if label.startswith("_") else _short(label)


def _short(label: str) -> str:
    """Cut a label that would leave no room for the picture; the alt text has the whole of it."""
    return label if len(label) <= 32 else f"{label[:31]}…"


def _alt(figure: Figure, data: _Data) -> str:
    kind = {"line": "Line chart", "bar": "Bar chart", "box": "Box plot"}[figure.kind]
    split = [f"coloured by {' and '.join(figure.hue)}"] if figure.hue else []
    split += [f"line style by {figure.style}"] if figure.style else []
    split += [f"one panel for each {name}" for name in (figure.columns, figure.rows) if name]
    head = f"{kind}: {_y_label(figure)} against {_x_label(figure)}" + "".join(f", {text}" for text in split)
    groups = data.frame.groupby(["row", "column", "hue", "style"], sort=False)
    lines = []
    for key, part in groups:
        middle = part.groupby("x", sort=False)["y"].median()
        middle = middle[[x for x in data.xs if x in middle.index]]
        name = ", ".join(str(label) for label in key if label) or "all"
        first, last = (f"{middle.iloc[i]:.3g} at {label_text(middle.index[i])}" for i in (0, -1))
        lines.append(f"{name}: {first}" + (f", {last}" if len(middle) > 1 else ""))
    shown = "; ".join(lines[:12]) + (f"; and {len(lines) - 12} more series" if len(lines) > 12 else "")
    return f"{head}. Medians: {shown}."
