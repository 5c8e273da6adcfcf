"""Empirical distribution functions of a column of a table."""

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from fabricstudy.core.phrasing import count_noun
from fabricstudy.study.figures import EcdfFigure
from fabricstudy.table.files import Tables
from fabricstudy.table.select import VALUE

from . import figure_style
from .text import number


def draw_ecdf(figure: EcdfFigure, tables: Tables) -> figure_style.Drawing:
    """Draw an empirical distribution function."""
    values, basis = _values(figure, tables)
    looks = figure_style.Looks(values)
    grid = figure_style.panels(figure, values)
    descriptions = [panel.describe(_panel(panel.axes, figure, panel.rows, looks)) for panel in grid.panels]
    x_label = figure_style.with_unit(str(figure.x), figure.x_label, figure.unit)
    alt = f"Cumulative distribution: {x_label}. {'; '.join(descriptions)}"
    return grid.finished(alt, basis, x_label, "share of values", looks.handles(marker=""))


def _values(figure: EcdfFigure, tables: Tables) -> tuple[pd.DataFrame, str]:
    """Return columns x, hue, family, column and row, one row per value, and the footnote."""
    observed, frame = figure_style.drawn_rows(figure, tables, str(figure.x))
    x = figure_style.in_unit(frame[VALUE], str(figure.x), figure.unit)
    values = figure_style.mark_labels(frame, figure).assign(x=x)
    over = figure_style.merged_axes(figure, observed, frame, [values[name] for name in ("hue", "column", "row")])
    parts = [f"{count_noun(len(values), 'value')} of {figure_style.sample_text(observed, frame)}"]
    parts += [f"pooled over {' and '.join(over)}"] * bool(over)
    return values, figure_style.footnote(figure, observed, frame, parts + figure_style.dropped_note(x, figure.x_log))


def _panel(axes: Axes, figure: EcdfFigure, part: pd.DataFrame, looks: figure_style.Looks) -> str:
    lines = []
    for label, values in part.groupby("hue", sort=False)["x"]:
        hue = str(label)
        sns.ecdfplot(x=values, ax=axes, **looks.line(hue, marker=""))
        half, most = values.median(), values.max()
        lines.append(f"{f'{hue}: ' if hue else ''}half at most {number(half, 3)}, all at most {number(most, 3)}")
    axes.set_ylim(0, 1.02)
    if figure.x_log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(figure_style.PLAIN_NUMBERS)
    elif (part["x"] >= 0).all():
        axes.set_xlim(left=0)
    return ", ".join(lines)
