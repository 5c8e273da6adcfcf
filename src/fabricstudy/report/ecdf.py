"""Empirical distribution functions of a column of a table."""

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from fabricstudy.core.arrays import Floats
from fabricstudy.core.phrasing import count_noun
from fabricstudy.study.figures import EcdfFigure
from fabricstudy.table.files import Tables
from fabricstudy.table.select import VALUE

from . import figure_style
from .text import number

MAX_DRAWN_STEPS = 1000
"""Most steps of a line; a step is then lower than the line is wide."""


def draw_ecdf(figure: EcdfFigure, tables: Tables) -> figure_style.Drawing:
    """Draw an empirical distribution function."""
    values, basis = _values(figure, tables)
    family = figure_style.hue_families(values)
    grid = figure_style.panels(figure, values)
    descriptions = [panel.describe(_panel(panel.axes, figure, panel.rows, family)) for panel in grid.panels]
    x_label = figure_style.with_unit(str(figure.x), figure.x_label, figure.unit)
    handles = [figure_style.legend_line(hue, **figure_style.hue_line(family, hue, marker="")) for hue in family if hue]
    alt = f"Cumulative distribution: {x_label}. {'; '.join(descriptions)}"
    return grid.finished(alt, basis, x_label, "share of values", handles)


def _values(figure: EcdfFigure, tables: Tables) -> tuple[pd.DataFrame, str]:
    """Return columns x, hue, family, column and row, one row per value, and the footnote."""
    observed, frame = figure_style.drawn_rows(figure, tables, str(figure.x))
    x = figure_style.in_unit(frame[VALUE], str(figure.x), figure.unit)
    values = figure_style.mark_labels(frame, figure).assign(x=x)
    over = figure_style.merged_axes(figure, observed, frame, [values[name] for name in ("hue", "column", "row")])
    parts = [f"{count_noun(len(values), 'value')} of {figure_style.sample_text(observed, frame)}"]
    parts += [f"pooled over {' and '.join(over)}"] * bool(over)
    return values, figure_style.footnote(figure, observed, frame, parts + figure_style.dropped_note(x, figure.x_log))


def steps(values: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the steps of an empirical distribution function and the shares from there on.

    Examples
    --------
    >>> [side.tolist() for side in steps([2, 1, 2, 5])]
    [[1.0, 2.0, 5.0], [0.25, 0.75, 1.0]]
    """
    distinct, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    shares = np.cumsum(counts) / counts.sum()
    if len(distinct) > MAX_DRAWN_STEPS:
        chosen = np.searchsorted(shares, np.linspace(0, 1, MAX_DRAWN_STEPS + 1)[1:-1])
        chosen = np.unique(np.append(chosen, len(distinct) - 1))
        distinct, shares = distinct[chosen], shares[chosen]
    return distinct, shares


def _panel(axes: Axes, figure: EcdfFigure, part: pd.DataFrame, family: dict[str, str]) -> str:
    lines = []
    for hue in family:
        values = part.loc[part["hue"] == hue, "x"]
        if values.empty:
            continue
        edges, shares = steps(values)
        line = figure_style.hue_line(family, hue, marker="")
        axes.step(np.append(edges[0], edges), np.append(0.0, shares), where="post", **line)
        half, most = values.median(), values.max()
        lines.append(f"{f'{hue}: ' if hue else ''}half at most {number(half, 3)}, all at most {number(most, 3)}")
    axes.set_ylim(0, 1.02)
    if figure.x_log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(figure_style.PLAIN_NUMBERS)
    elif (part["x"] >= 0).all():
        axes.set_xlim(left=0)
    return ", ".join(lines)
