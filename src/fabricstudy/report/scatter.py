"""Scatter plots: one column of a table against another, and how far both put the marks in the same order."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from fabricstudy.study.figures import ScatterFigure, unit_factor
from fabricstudy.table.ranks import LEAST_ROWS, rank_correlation
from fabricstudy.table.select import AGAINST, VALUE, join, medians, observe
from fabricstudy.table.store import Tables

from .look import (
    MARKERS,
    PLAIN_NUMBERS,
    add_legend,
    colour,
    counted,
    joined,
    label_edges,
    legend_label,
    log_ticks,
    no_rows,
    one_scale,
    panels_width,
    said_below,
    titled,
    with_unit,
)

_SIGNS = {"spearman": "ρ", "kendall": "τ"}
_NAMES = {"spearman": "Spearman's rank correlation", "kendall": "Kendall's tau-b"}


def canvas_of(figure: ScatterFigure, tables: Tables) -> tuple[Canvas, str, str, int]:
    """Draw a scatter plot.

    Returns
    -------
    tuple
        The canvas, its words for those who cannot see it, what it rests on, and how many panels stand side by side.

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
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            part = marks[(marks["row"] == row) & (marks["column"] == column)]
            told = _panel(grid[i][j], figure, part, family, styles)
            titled(grid[i][j], figure, row, column)
            words.append(": ".join(text for text in (row, column, told) if text))
    x_label, y_label = (
        with_unit(figure.x, figure.x_label, figure.x_unit), with_unit(figure.y, figure.y_label, figure.unit),
    )  # fmt: skip
    label_edges(grid, x_label, y_label)
    add_legend(canvas, _handles(family, styles))
    said_below(canvas, basis)
    head = ", ".join([f"Scatter plot: {y_label} against {x_label}", *_split(figure)])
    return canvas, f"{head}. {'; '.join(words)}", basis, len(columns)


def _marks(figure: ScatterFigure, tables: Tables) -> tuple[pd.DataFrame, str]:
    """Give columns x, y, hue, family, style, column and row, one row a mark, and what they rest on."""
    across, up = observe(tables, figure, figure.x), observe(tables, figure, figure.y)
    both = join(medians(across.frame, across.keys), medians(up.frame, up.keys), up.keys)
    if both.empty:
        raise no_rows(figure, up, across)
    marks = pd.DataFrame(
        {
            "x": both[VALUE] * (unit_factor(figure.x, figure.x_unit) if figure.x_unit else 1.0),
            "y": both[AGAINST] * (unit_factor(figure.y, figure.unit) if figure.unit else 1.0),
            "hue": joined(both, figure.hue),
            "family": joined(both, figure.hue[:1]),
            "style": joined(both, (figure.style,) if figure.style else ()),
            "column": joined(both, (figure.columns,) if figure.columns else ()),
            "row": joined(both, (figure.rows,) if figure.rows else ()),
        }
    )
    parts = [counted(up, up.frame)] + ["medians over seeds"] * (up.frame["seed"].nunique() > 1)
    parts += [f"{_SIGNS[figure.correlation]}: {_NAMES[figure.correlation]}", up.gap() or across.gap() or "none missing"]
    parts += ["scales differ between panels"] * (not all(_same(figure, marks).values()))
    return marks, "; ".join(parts) + "."


def _same(figure: ScatterFigure, marks: pd.DataFrame) -> dict[str, bool]:
    """Tell which axes have one scale for all panels."""
    asked = {"x": (figure.same_x, figure.x_log), "y": (figure.same_y, figure.y_log)}
    return {name: one_scale(same, marks, name, log) for name, (same, log) in asked.items()}


def _panel(axes: Axes, figure: ScatterFigure, part: pd.DataFrame, family: dict[str, str], styles: list[str]) -> str:
    for hue, style in itertools.product(family, styles):
        marks = part[(part["hue"] == hue) & (part["style"] == style)]
        axes.plot(
            marks["x"], marks["y"], linestyle="", marker=MARKERS[styles.index(style) % len(MARKERS)], markersize=5.5,
            color=colour(family, hue), markeredgecolor="white", markeredgewidth=0.5,
        )  # fmt: skip
    # Numbers with many digits need room.
    axes.xaxis.set_major_locator(MaxNLocator(5))
    if figure.x_log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(PLAIN_NUMBERS)
    if figure.y_log:
        log_ticks(axes)
    said = _told(figure, part)
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5}
    axes.text(0.03, 0.97, said, transform=axes.transAxes, va="top", fontsize=8.5, bbox=box)
    return said


def _told(figure: ScatterFigure, part: pd.DataFrame) -> str:
    """Say how far both columns put the marks of a panel in the same order."""
    number = f"n = {len(part)}"
    if len(part) < LEAST_ROWS:
        return f"{number}, too few to rank"
    value = rank_correlation(figure.correlation, part["x"], part["y"])
    if np.isnan(value):
        return f"{number}, no order: one column is constant"
    return f"{_SIGNS[figure.correlation]} = {value:.2f}, {number}".replace("-", "\N{MINUS SIGN}")


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
