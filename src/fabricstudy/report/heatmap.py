"""Heat maps: a value for each pair of labels of two axes, as colour and as text."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import CenteredNorm, LogNorm, Normalize
from matplotlib.ticker import LogLocator

from fabricstudy.study.figures import HeatmapFigure
from fabricstudy.table.files import Tables
from fabricstudy.table.select import VALUE, label_text

from . import figure_style
from .text import number

_MOST_NUMBERS = 400
"""Panels with more cells have no numbers."""


def draw_heatmap(figure: HeatmapFigure, tables: Tables) -> figure_style.Drawing:
    """Draw a heat map."""
    cells, basis = _cells(figure, tables)
    xs, ys = (figure_style.in_order(cells[name]) for name in ("x", "y"))
    grid = figure_style.panels(figure, cells)
    rows, columns = grid.axes.shape
    width = max((0.62 * len(xs) + 1.6) * columns, 2.6 * columns, 4.1) + 0.9
    grid.canvas.set_size_inches(width, (0.36 * len(ys) + 1.1) * rows + 0.8)
    colours = _colours(figure, cells["value"])
    descriptions = []
    for panel in grid.panels:
        field = panel.rows.pivot(index="y", columns="x", values="value").reindex(index=ys, columns=xs)
        _panel(panel.axes, field, colours, width / columns - 1.6)
        descriptions.append(panel.describe(_words(field)))
    label = figure_style.value_label(figure, figure.value, figure.value_label)
    ticks: dict[str, Any] = {}
    if figure.log:
        ticks = {"ticks": LogLocator(subs=(1, 2, 5)), "format": figure_style.PLAIN_NUMBERS}
    bar = grid.canvas.colorbar(colours, ax=grid.axes, fraction=0.05, pad=0.02, **ticks)
    bar.set_label(textwrap.fill(label, 32))
    bar.minorticks_off()
    alt = f"Heat map: {label} by {figure.x} and {figure.y}. {'; '.join(descriptions)}"
    return grid.finished(alt, basis, figure.x_label or figure.x, figure.y_label or figure.y, ())


def _cells(figure: HeatmapFigure, tables: Tables) -> tuple[pd.DataFrame, str]:
    """Return columns x, y, column, row and value, one row per cell, and the footnote."""
    observed, frame = figure_style.drawn_rows(figure, tables, figure.value)
    drawn = figure_style.mark_labels(frame, figure).assign(
        y=figure_style.axis_values(figure_style.labelled(frame, figure.y)),
        x=figure_style.axis_values(figure_style.labelled(frame, figure.x)),
        value=figure_style.in_unit(frame[VALUE], figure.value, figure.unit),
    )
    keys = ["row", "column", "y", "x"]
    cells: pd.DataFrame = drawn.groupby(keys, sort=False)["value"].median().reset_index()
    over = figure_style.merged_axes(figure, observed, frame, [drawn[name] for name in keys])
    parts = [figure_style.sample_text(observed, frame), *([f"median over {' and '.join(over)}"] if over else [])]
    parts += figure_style.dropped_note(cells["value"], figure.log)
    return cells, figure_style.footnote(figure, observed, frame, parts)


def _colours(figure: HeatmapFigure, values: pd.Series[Any]) -> ScalarMappable:
    """Return the colour scale: centred at 1 for ratios and at 0 for signed values, else from min to max."""
    norm: Normalize
    if figure.log:
        norm = LogNorm(values[values > 0].min(), values.max())
    elif figure.normalise_to:
        norm = CenteredNorm(1, max(float((values - 1).abs().max()), 1e-9))
    elif (values < 0).any():
        norm = CenteredNorm(0, float(values.abs().max()))
    else:
        norm = Normalize(values.min(), values.max())
    return ScalarMappable(norm, colormaps["RdBu_r" if isinstance(norm, CenteredNorm) else "viridis"])


def _panel(axes: Axes, field: pd.DataFrame, colours: ScalarMappable, width: float) -> None:
    numbers = field.map(lambda value: "" if np.isnan(value) else number(value, 3))
    sns.heatmap(
        field, ax=axes, norm=colours.norm, vmin=colours.norm.vmin, vmax=colours.norm.vmax, cmap=colours.cmap,
        annot=numbers if numbers.size <= _MOST_NUMBERS else None, fmt="", annot_kws={"fontsize": 8}, cbar=False,
        xticklabels=False, yticklabels=False,
    )  # fmt: skip
    axes.set_facecolor("#dddddd")
    axes.grid(visible=False)
    columns = len(field.columns)
    figure_style.label_ticks(
        axes, [column + 0.5 for column in range(columns)], list(map(label_text, field.columns)), width / columns
    )
    labels = [figure_style.truncate_label(label_text(y)) for y in field.index]
    axes.set_yticks(np.arange(len(field)) + 0.5, labels, rotation=0)


def _words(field: pd.DataFrame) -> str:
    """Describe min and max of a panel."""
    numbers = field.to_numpy(dtype=np.float64)
    if np.isnan(numbers).all():
        return "no value"
    ends = []
    for word, position in (("min", np.nanargmin(numbers)), ("max", np.nanargmax(numbers))):
        i, j = divmod(int(position), len(field.columns))
        labels = f"{label_text(field.columns[j])}, {label_text(field.index[i])}"
        ends.append(f"{word} {number(numbers[i, j], 3)} at {labels}")
    return "; ".join(ends)
