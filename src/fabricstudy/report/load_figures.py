"""Latency and accepted load against offered load."""

from typing import Any, get_args

import pandas as pd
from matplotlib.axes import Axes

from fabricstudy.engine.steady_state import State
from fabricstudy.study.figures import LoadFigure, unit_factor
from fabricstudy.table.files import Tables
from fabricstudy.table.select import Observations

from . import figure_style
from .text import number

_LOADS = ("offered_load", "accepted_load", "accepted_min", "zero_load_ns", "saturation_bound")

_STATES: tuple[State, ...] = get_args(State)
"""From best to worst: the median of several seeds has the worst."""

_LOOK: dict[str, Any] = {"linestyle": "-", "markersize": 4.5}
_ALL_SATURATED = "saturated at all loads"


def draw_load_figure(figure: LoadFigure, tables: Tables) -> figure_style.Drawing:
    """Draw latency or accepted load against offered load."""
    observed, points = _points(figure, tables)
    latency = figure.kind == "load-latency"
    factor = unit_factor(figure.y, figure.unit) if figure.unit else 1.0
    looks = figure_style.Looks(points)
    top = figure.y_max * float(points["zero_load_ns"].max()) * factor
    grid = figure_style.panels(figure, points)
    descriptions = []
    for panel in grid.panels:
        lines = []
        for hue, rows in panel.rows.groupby("hue", sort=False):
            look = looks.line(str(hue), **_LOOK)
            if latency:
                words = _latency_line(panel.axes, rows.assign(y=rows[figure.y] * factor), top, factor, look)
            else:
                words = _throughput_line(panel.axes, rows, look)
            bound = f", bound {number(rows['saturation_bound'].median(), 2)}" * (words != _ALL_SATURATED)
            lines.append(f"{hue!s}: {words}{bound}" if hue else f"{words}{bound}")
        descriptions.append(panel.describe(", ".join(lines)))
        panel.axes.set_xlim(0, 1.02)
        panel.axes.set_ylim(0, top if latency else 1.02)
    y_label = figure_style.with_unit(figure.y, None, figure.unit) if latency else "accepted load (worst node thin)"
    handles = looks.handles(**_LOOK)
    alt = f"{y_label} against offered load. {'; '.join(descriptions)}"
    over, rows = [], observed.frame
    if len(points) == len(rows):
        marks = [points[name] for name in ("hue", "column", "row", "offered_load")]
        over = figure_style.merged_axes(figure, observed, rows, marks)
    parts = [figure_style.sample_text(observed, rows), *[f"medians over {' and '.join(over)}"] * bool(over)]
    counts = points["state"].value_counts()
    hollow = (f"{counts.get(state, 0)} {state}" for state in ("saturated", "unsteady", "undecided"))
    parts += [f"hollow: {', '.join(hollow)}"]
    parts += ["dashed: without load; dotted: saturation bound" if latency else "dotted: saturation bound"]
    return grid.finished(alt, figure_style.footnote(figure, observed, rows, parts), "offered load", y_label, handles)


def _points(figure: LoadFigure, tables: Tables) -> tuple[Observations, pd.DataFrame]:
    """Return the rows of the table, and their medians over seeds with the worst state; one row per mark."""
    observed, rows = figure_style.drawn_rows(figure, tables, "offered_load")
    numbers = list(dict.fromkeys((*_LOADS, figure.y)))
    rows = rows.assign(worst=rows["state"].map(_STATES.index), **{"": 0})
    groups = rows.groupby(["", *observed.keys], sort=False, dropna=False)
    points = groups[[*numbers]].median().join(groups["worst"].max()).reset_index().drop(columns="")
    labels = {str(name): column for name, column in figure_style.mark_labels(points, figure).items()}
    points = points.assign(state=[_STATES[int(worst)] for worst in points["worst"]], **labels)
    return observed, points.sort_values("offered_load", kind="stable")


def _latency_line(axes: Axes, rows: pd.DataFrame, top: float, factor: float, look: dict[str, Any]) -> str:
    """Draw one line of latencies, and return it in words."""
    carried = rows[rows["state"] != "saturated"]
    axes.plot(carried["offered_load"], carried["y"], **look)
    hollow = carried[carried["state"] != "steady"]
    axes.plot(hollow["offered_load"], hollow["y"], **{**look, "linestyle": "", "markerfacecolor": "white"})
    saturated = rows[rows["state"] == "saturated"]
    if len(saturated) and len(carried):
        rise = pd.concat([carried.iloc[-1:], saturated.iloc[:1].assign(y=0.98 * top)])
        axes.plot(rise["offered_load"], rise["y"], **{**look, "marker": "", "linewidth": 0.7})
    at_edge = {**look, "linestyle": "", "markerfacecolor": "white"}
    axes.plot(saturated["offered_load"], [0.98 * top] * len(saturated), **at_edge)
    axes.axvline(rows["saturation_bound"].median(), color=look["color"], linestyle=":", linewidth=1.0)
    axes.axhline(rows["zero_load_ns"].median() * factor, color=look["color"], linestyle="--", linewidth=0.7)
    if not len(carried):
        return _ALL_SATURATED
    ends = carried.iloc[[0, -1]][["y", "offered_load"]].to_numpy()
    return ", ".join(f"{number(latency, 3)} at {number(load, 2)}" for latency, load in ends)


def _throughput_line(axes: Axes, rows: pd.DataFrame, look: dict[str, Any]) -> str:
    """Draw one line of accepted loads, and return it in words."""
    axes.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=0.8, zorder=0)
    axes.plot(rows["offered_load"], rows["accepted_load"], **look)
    axes.plot(rows["offered_load"], rows["accepted_min"], **{**look, "marker": "", "linewidth": 0.7})
    hollow = rows[rows["state"] != "steady"]
    axes.plot(hollow["offered_load"], hollow["accepted_load"], **{**look, "linestyle": "", "markerfacecolor": "white"})
    axes.axhline(rows["saturation_bound"].median(), color=look["color"], linestyle=":", linewidth=1.0)
    return f"at most {number(rows['accepted_load'].max(), 3)}"
