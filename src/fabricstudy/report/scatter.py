"""Scatter plots: one column against another, how far both put the marks in the same order, and which are best."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from fabricstudy.structure.front import on_front
from fabricstudy.study.figures import AnyFigure, ScatterFigure, unit_factor
from fabricstudy.table.ranks import LEAST_ROWS, rank_correlation
from fabricstudy.table.select import AGAINST, VALUE, Observations, by, join, medians, observe
from fabricstudy.table.store import Tables
from fabricstudy.words import listed

from .look import (
    MARKERS,
    PLAIN_NUMBERS,
    Drawing,
    NothingToDraw,
    add_legend,
    colour,
    counted,
    joined,
    label_edges,
    legend_label,
    log_ticks,
    no_rows,
    one_scale,
    panel_labels,
    panels,
    panels_width,
    said_below,
    with_unit,
)
from .text import number

_SIGNS = {"spearman": "ρ", "kendall": "τ"}
_MOST_PANELS = 4
_FRONT = Line2D([], [], color="#555555", linestyle="--", linewidth=1.2, label="Pareto front")
_NAMES = {"spearman": "Spearman's rank correlation", "kendall": "Kendall's tau-b"}


def canvas_of(figure: ScatterFigure, tables: Tables) -> Drawing:
    """Draw a scatter plot.

    Raises
    ------
    NothingToDraw
        If no selected row has both numbers.
    """
    marks, basis = _marks(figure, tables)
    rows, columns = (list(dict.fromkeys(marks[name])) for name in ("row", "column"))
    canvas = Canvas(figsize=(panels_width(len(columns)), 2.75 * len(rows) + 1.0), layout="constrained")
    same = _same(figure, marks)
    grid = canvas.subplots(len(rows), len(columns), sharex=same["x"], sharey=same["y"], squeeze=False)
    family, styles = dict(zip(marks["hue"], marks["family"], strict=True)), list(dict.fromkeys(marks["style"]))
    words = []
    for axes, labels, part in panels(grid, figure, marks, rows, columns):
        words.append(": ".join(text for text in (*labels, _panel(axes, figure, part, family, styles)) if text))
    x_label, y_label = _axis_labels(figure)
    label_edges(grid, x_label, y_label)
    add_legend(canvas, _handles(family, styles) + [_FRONT] * figure.front)
    said_below(canvas, basis)
    head = ", ".join([f"Scatter plot: {y_label} against {x_label}", *_split(figure)])
    return Drawing(canvas, f"{head}. {'; '.join(words)}", basis, len(columns))


def _axis_labels(figure: ScatterFigure) -> tuple[str, str]:
    return with_unit(figure.x, figure.x_label, figure.x_unit), with_unit(figure.y, figure.y_label, figure.unit)


def _across(figure: ScatterFigure, tables: Tables, keys: list[str]) -> tuple[Observations, list[str]]:
    """Give the values of x, and the columns that match them with those of y."""
    selection = figure.across()
    if selection is None:
        return observe(tables, figure, figure.x), keys
    across = observe(tables, selection, figure.x)
    shared = [key for key in keys if key in across.keys]
    if by(across.frame, shared).size().gt(1).any():
        raise NothingToDraw(f"several rows of the analysis {figure.x_analysis} fit one mark; say in x_where which")
    return across, shared


def _marks(figure: ScatterFigure, tables: Tables) -> tuple[pd.DataFrame, str]:
    """Give columns x, y, low, high, hue, family, style, column, row and front, one row a mark, and what they rest on.

    Seeds have their y from low to high.
    """
    up = observe(tables, figure, figure.y)
    across, shared = _across(figure, tables, up.keys)
    y = medians(up.frame, up.keys)
    y["low"], y["high"] = (by(up.frame, up.keys).agg(end).to_numpy() for end in ("min", "max"))
    both = join(medians(across.frame, shared), y, shared)
    if both.empty:
        raise no_rows(figure, up, across)
    y_factor = unit_factor(figure.y, figure.unit) if figure.unit else 1.0
    marks = pd.DataFrame(
        {
            "x": both[VALUE] * (unit_factor(figure.x, figure.x_unit) if figure.x_unit else 1.0),
            "y": both[AGAINST] * y_factor,
            "low": both["low"] * y_factor,
            "high": both["high"] * y_factor,
            "hue": joined(both, figure.hue),
            "family": joined(both, figure.hue[:1]),
            "style": joined(both, (figure.style,) if figure.style else ()),
            **panel_labels(both, figure),
        }
    )
    marks["front"] = False
    for _, part in marks.groupby(["column", "row"]):
        marks.loc[part.index, "front"] = on_front(part[["x", "y"]].to_numpy(dtype=float))
    of_seeds = ["medians over seeds", *["whiskers: least to largest"] * figure.front]
    parts = [counted(up, up.frame)] + of_seeds * (up.frame["seed"].nunique() > 1)
    parts += [f"{_SIGNS[figure.correlation]}: {_NAMES[figure.correlation]}"] * (not figure.front)
    parts.append(up.gap() or across.gap() or "none missing")
    parts += ["scales differ between panels"] * (not all(_same(figure, marks).values()))
    return marks, "; ".join(parts) + "."


def _same(figure: ScatterFigure, marks: pd.DataFrame) -> dict[str, bool]:
    """Say which axes have one scale for all panels."""
    asked = {"x": (figure.same_x, figure.x_log), "y": (figure.same_y, figure.y_log)}
    return {name: one_scale(same, marks, name, log) for name, (same, log) in asked.items()}


def _panel(axes: Axes, figure: ScatterFigure, part: pd.DataFrame, family: dict[str, str], styles: list[str]) -> str:
    for hue, style in itertools.product(family, styles):
        marks = part[(part["hue"] == hue) & (part["style"] == style)]
        axes.plot(
            marks["x"], marks["y"], linestyle="", marker=MARKERS[styles.index(style) % len(MARKERS)], markersize=5.5,
            color=colour(family, hue), markeredgecolor="white", markeredgewidth=0.5,
        )  # fmt: skip
    if figure.front:
        _draw_front(axes, part)
    # Numbers with many digits need room.
    axes.xaxis.set_major_locator(MaxNLocator(5))
    if figure.x_log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(PLAIN_NUMBERS)
    if figure.y_log:
        log_ticks(axes)
    if figure.front:
        axes.margins(0.08)
        return f"on the front {_best(part)}"
    correlation = _correlation_text(figure, part)
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5}
    axes.text(0.03, 0.97, correlation, transform=axes.transAxes, va="top", fontsize=8.5, bbox=box)
    return correlation


def _draw_front(axes: Axes, part: pd.DataFrame) -> None:
    """Join the marks on the front: each point right of and above the line is beaten by one of them."""
    front = part[part["front"]].sort_values(["x", "y"])
    look: dict[str, Any] = {"color": _FRONT.get_color(), "zorder": 1.5}
    axes.step(front["x"], front["y"], where="post", linestyle=_FRONT.get_linestyle(), linewidth=1.2, **look)
    axes.vlines(part["x"], part["low"], part["high"], linewidth=0.9, **look)


def fronts(figures: Sequence[AnyFigure], tables: Tables) -> list[str]:
    """Name the marks on the Pareto front of each figure that has one."""
    sentences = []
    for figure in figures:
        if isinstance(figure, ScatterFigure) and figure.front:
            with contextlib.suppress(NothingToDraw):
                sentences.append(_of_front(figure, _marks(figure, tables)[0]))
    return sentences


def _of_front(figure: ScatterFigure, marks: pd.DataFrame) -> str:
    axes, of_panels = (figure.rows, figure.columns), []
    for labels, part in marks.groupby(["row", "column"], sort=False):
        panel = " and ".join(f"{axis} {label}" for axis, label in zip(axes, labels, strict=True) if axis)
        of_panels.append(f"for {panel} {_best(part)}" if panel else _best(part))
    more = f"; and {len(of_panels) - _MOST_PANELS} more panels" * (len(of_panels) > _MOST_PANELS)
    best = f"{'; '.join(of_panels[:_MOST_PANELS])}{more}"
    return f"{figure.title}: on the Pareto front are {best}. In brackets: {'; '.join(_axis_labels(figure))}."


def _best(part: pd.DataFrame) -> str:
    """Name the marks of a panel that are on its front: with both numbers, or how many have one name."""
    front = part[part["front"]].sort_values("x", kind="stable")
    named = front.groupby(joined(front, ("hue", "style")).str.strip(", "), sort=False)
    best = [
        f"{name} ({number(marks['x'].iloc[0], 4)}, {number(marks['y'].iloc[0], 3)})".lstrip()
        if len(marks) == 1
        else f"{len(marks)} marked {name}".removesuffix(" marked ")
        for name, marks in named
    ]
    return f"{listed(best)}, of {len(part)}"


def _correlation_text(figure: ScatterFigure, part: pd.DataFrame) -> str:
    """Write the rank correlation of a panel, or why it has none."""
    count = f"n = {len(part)}"
    if len(part) < LEAST_ROWS:
        return f"{count}, too few to rank"
    value = rank_correlation(figure.correlation, part["x"], part["y"])
    if np.isnan(value):
        return f"{count}, no order: one column is constant"
    return f"{_SIGNS[figure.correlation]} = {value:.2f}, {count}".replace("-", "\N{MINUS SIGN}")


def _handles(family: dict[str, str], styles: list[str]) -> list[Any]:
    plain: dict[str, Any] = {"linestyle": "", "markersize": 5.5}
    colours = [
        Line2D([], [], marker=MARKERS[0], color=colour(family, hue), label=legend_label(hue), **plain) for hue in family
    ]
    shapes = [
        Line2D([], [], marker=MARKERS[place % len(MARKERS)], color="#444444", label=legend_label(style), **plain)
        for place, style in enumerate(styles)
    ]
    return colours * (list(family) != [""]) + shapes * (styles != [""])


def _split(figure: ScatterFigure) -> list[str]:
    split = [f"coloured by {' and '.join(figure.hue)}"] if figure.hue else []
    split += [f"shape by {figure.style}"] if figure.style else []
    return split + [f"one panel for each {name}" for name in (figure.columns, figure.rows) if name]
