"""Scatter plots of one column against another, with rank correlations or Pareto fronts."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from fabricstudy.analysis.base import Analysis
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.phrasing import join_words, named, quoted
from fabricstudy.structure.pareto import is_pareto_efficient
from fabricstudy.study.figures import AnyFigure, ScatterFigure
from fabricstudy.table.analyses import analysis_table
from fabricstudy.table.files import Tables
from fabricstudy.table.ranks import MIN_ROWS, rank_correlation
from fabricstudy.table.select import VALUE, Observations, group_by, label_text, medians, observe

from . import figure_style
from .effects import ties
from .text import number

_SIGNS = {"spearman": "ρ", "kendall": "τ"}
_MOST_PANELS = 4
_PANEL = ["row", "column"]
_MARK: dict[str, Any] = {"linestyle": "", "markersize": 6}
_FRONT = Line2D([], [], color="#555555", linestyle="--", linewidth=1.2, label="Pareto front")
_NAMES = {"spearman": "Spearman's rank correlation", "kendall": "Kendall's tau-b"}


def draw_scatter(figure: ScatterFigure, tables: Tables) -> figure_style.Drawing:
    """Draw a scatter plot."""
    marks, _, basis, _ = _marks(figure, tables)
    grid = figure_style.panels(figure, marks, *_same(figure, marks))
    looks = figure_style.Looks(marks)
    words = [panel.describe(_panel(panel.axes, figure, panel.rows, looks)) for panel in grid.panels]
    x_label, y_label = _axis_labels(figure, tables)
    head = ", ".join([f"Scatter plot: {y_label} against {x_label}", *figure_style.grouping_text(figure, "shape")])
    handles = looks.handles(**_MARK) + [_FRONT] * figure.front
    return grid.finished(f"{head}. {'; '.join(words)}", basis, x_label, y_label, handles)


def _axis_labels(figure: ScatterFigure, tables: Tables) -> tuple[str, str]:
    """Return the labels of both axes; a price has its currency and year."""
    prices = tables.analyses.get(figure.x_analysis or "", pd.DataFrame())
    x_label = figure.x_label
    if x_label is None and figure.x.startswith("price") and len(prices) and {"currency", "year"} <= set(prices):
        x_label = f"{figure_style.column_text(figure.x)} ({prices['currency'].iloc[0]} of {prices['year'].iloc[0]:.0f})"
    x_label = figure_style.with_unit(figure.x, x_label, figure.x_unit)
    return x_label, figure_style.value_label(figure, figure.y, figure.y_label)


def _across(figure: ScatterFigure, tables: Tables, up: Observations) -> tuple[Observations, list[str]]:
    """Return the values of x, and the columns that match them with those of y, which are `up`."""
    keys, selection = up.keys, figure.across()
    if figure.x_table is not None:
        points = tables.points[["point_id", "machine_id"]].drop_duplicates("point_id")
        machines = points.merge(tables.machines[["machine_id", figure.x]], on="machine_id").set_index("point_id")
        numbers = up.frame["point_id"].map(machines[figure.x]).astype(float)
        return replace(up, frame=up.frame.assign(**{VALUE: numbers})), keys
    if selection is None:
        return observe(tables, figure, figure.x), keys
    across = observe(tables, selection, figure.x)
    shared = [key for key in keys if key in across.keys]
    if group_by(across.frame, shared).size().gt(1).any():
        raise figure_style.NothingToDraw(
            f"several rows of the analysis {figure.x_analysis} fit one mark; select one with `x_where`"
        )
    return across, shared


class _Marks(NamedTuple):
    """Columns x, y, low, high, hue, family, style, column, row and front, one row per mark; seeds from low to high.

    `lost` names the marks without x, which are not drawn; `basis` is the footnote. `by_seed` has the columns of labels
    and seed and the product of x and y, a row for each seed of a mark.
    """

    frame: pd.DataFrame
    lost: list[str]
    basis: str
    by_seed: pd.DataFrame


def _marks(figure: ScatterFigure, tables: Tables) -> _Marks:
    up, drawn = figure_style.drawn_rows(figure, tables, figure.y)
    across, shared = _across(figure, tables, up)
    middle = medians(across.frame, shared)
    x_of = dict(zip(_labels(middle, shared), middle[VALUE], strict=True))
    names = {label_text(label): label_text(name) for label, name in figure.x_key.items()}
    both = medians(drawn, up.keys)
    both["low"], both["high"] = (group_by(drawn, up.keys).agg(end).to_numpy() for end in ("min", "max"))
    both["x"] = [x_of.get(labels, np.nan) for labels in _labels(both, shared, names)]
    lost = list(dict.fromkeys(figure_style.joint_labels(both[both["x"].isna()], shared)))
    both = both[both["x"].notna()].reset_index(drop=True)
    if both.empty:
        raise figure_style.no_rows(figure, up, across)
    marks = figure_style.mark_labels(both, figure)
    marks["x"] = figure_style.in_unit(both["x"], figure.x, figure.x_unit)
    for name, column in (("y", VALUE), ("low", "low"), ("high", "high")):
        marks[name] = figure_style.in_unit(both[column], figure.y, figure.unit)
    marks["front"] = False
    for _, part in marks.groupby(_PANEL):
        marks.loc[part.index, "front"] = is_pareto_efficient(part[["x", "y"]].to_numpy(dtype=float))
    x_by_seed = np.array([x_of.get(labels, np.nan) for labels in _labels(drawn, shared, names)])
    with_x = drawn[~np.isnan(x_by_seed)]
    by_seed = figure_style.mark_labels(with_x, figure).assign(
        seed=with_x["seed"], product=with_x[VALUE] * x_by_seed[~np.isnan(x_by_seed)]
    )
    without_x = figure_style.drawn_count(up, drawn) - figure_style.drawn_count(up, with_x)
    if without_x:
        up = replace(up, missing={**up.missing, f"without {figure.x}: {named(lost)}": without_x})
    of_seeds = ["medians over seeds", *["whiskers: min to max"] * figure.front]
    parts = [figure_style.sample_text(up, with_x)] + of_seeds * (drawn["seed"].nunique() > 1)
    ranked = not figure.front and bool(marks.groupby(_PANEL).size().max() >= MIN_ROWS)
    parts += [f"{_SIGNS[figure.correlation]}: {_NAMES[figure.correlation]}"] * ranked
    parts += figure_style.dropped_note(marks["x"], figure.x_log) + figure_style.dropped_note(marks["y"], figure.y_log)
    parts += ["scales differ between panels"] * (not all(_same(figure, marks)))
    low, high = marks["x"].min(), marks["x"].max()
    if 0 < low < high <= 1.1 * low:
        parts.append(f"all x within {number(100 * (high / low - 1), 2)} %")
    return _Marks(marks, lost, figure_style.footnote(figure, up, drawn, parts), by_seed)


def _labels(frame: pd.DataFrame, keys: list[str], names: Mapping[str, str] | None = None) -> list[Any]:
    """Return the labels of each row as text; `names` replaces some by those of another table."""
    texts = [frame[key].map(label_text).replace(names or {}) for key in keys]
    return list(zip(*texts, strict=True)) if keys else [()] * len(frame)


def _same(figure: ScatterFigure, marks: pd.DataFrame) -> tuple[bool, bool]:
    """Return whether all panels share the scale of x, and of y."""
    share_x = figure_style.shares_scale(figure.share_x, marks, "x", figure.x_log)
    return share_x, figure_style.shares_scale(figure.share_y, marks, "y", figure.y_log)


def _panel(axes: Axes, figure: ScatterFigure, part: pd.DataFrame, looks: figure_style.Looks) -> str:
    sns.scatterplot(part, x="x", y="y", s=45, edgecolor="white", linewidth=0.5, zorder=2, ax=axes, **looks.marks())
    if figure.front:
        front = part[part["front"]].sort_values(["x", "y"])
        line: dict[str, Any] = {"color": _FRONT.get_color(), "zorder": 1.5}
        axes.step(front["x"], front["y"], where="post", linestyle=_FRONT.get_linestyle(), linewidth=1.2, **line)
        axes.vlines(part["x"], part["low"], part["high"], linewidth=0.9, **line)
    if figure.normalise_to:
        figure_style.draw_reference(axes)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    if figure.x_log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(figure_style.PLAIN_NUMBERS)
    if figure.y_log:
        figure_style.log_ticks(axes)
    if figure.front:
        axes.margins(0.08)
        return f"on the front {_best(part)}"
    correlation = _correlation_text(figure, part)
    if len(part) < MIN_ROWS:
        return correlation
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5}
    axes.text(0.03, 0.97, correlation, transform=axes.transAxes, va="top", fontsize=8.5, bbox=box)
    return correlation


def fronts(figures: Sequence[AnyFigure], tables: Tables, analyses: Mapping[str, Analysis]) -> list[str]:
    """Return a sentence on the marks on the Pareto front of each figure that has one, and on its price list.

    A slowdown ranks nothing: what is slow alone loses little beside other jobs.
    """
    sentences = []
    for figure in figures:
        if isinstance(figure, ScatterFigure) and figure.front and "slowdown" not in figure.y:
            with contextlib.suppress(figure_style.NothingToDraw):
                marks = _marks(figure, tables)
                prices = _prices_text(figure, tables, marks, analyses.get(figure.x_analysis or ""))
                sentences.append(_front_sentence(figure, marks, prices, _axis_labels(figure, tables)))
    return sentences


def _prices_text(figure: ScatterFigure, tables: Tables, marks: _Marks, analysis: Analysis | None) -> str:
    """Return the price list of x, and how other lists change the front; empty if x has no price."""
    prices = analysis and analysis.other_prices()
    if not prices:
        return ""
    texts = []
    for title, other in prices[1].items():
        with contextlib.suppress(figure_style.NothingToDraw, FabricstudyError):
            repriced = {**tables.analyses, str(figure.x_analysis): analysis_table(other)}
            by_other = _marks(figure, replace(tables, analyses=repriced)).frame
            if len(by_other) == len(marks.frame) and not by_other["x"].equals(marks.frame["x"]):
                texts.append(f"by {title}, {_front_changes(figure, marks.frame, by_other)}")
    return f", by the prices {'; '.join([prices[0], *texts])}" if texts else ""


def _front_changes(figure: ScatterFigure, marks: pd.DataFrame, by_other: pd.DataFrame) -> str:
    """Return which marks leave and join the front."""
    axes = {"hue": figure.hue, "style": figure.style, "column": figure.columns, "row": figure.rows}
    parts = [part for part, axis in axes.items() if axis]
    told = []
    for verb, these, those in (("leave", marks, by_other), ("join", by_other, marks)):
        moved = marks[these["front"] & ~those["front"]]
        labels = dict.fromkeys(figure_style.joint_labels(moved, parts))
        told += [f"{quoted(labels)} {verb}{'s' * (len(labels) == 1)}"] if labels else []
    return f"{' and '.join(told)} it" if told else "it is the same"


def _front_sentence(figure: ScatterFigure, marks: _Marks, prices: str, labels: tuple[str, str]) -> str:
    axes, of_panels = (figure.rows, figure.columns), []
    for of_panel, part in marks.frame.groupby(_PANEL, sort=False):
        panel = " and ".join(f"{axis} {label}" for axis, label in zip(axes, of_panel, strict=True) if axis)
        of_panels.append((f"for {panel} " * bool(panel), _best(part), _least_product(part, marks.by_seed)))
    more = f"; and {len(of_panels) - _MOST_PANELS} more panels" * (len(of_panels) > _MOST_PANELS)
    best = "; ".join(panel + front for panel, front, _ in of_panels[:_MOST_PANELS]) + more
    without = f" Not ranked, without {figure.x}: {named(marks.lost)}." * bool(marks.lost)
    least = "; ".join(panel + name for panel, _, name in of_panels[:_MOST_PANELS]) + more
    named_marks = prices != "" and any(name for _, _, name in of_panels)
    product = f" Least price times time: {least}." * named_marks
    return f"{figure.title}: Pareto front ({'; '.join(labels)}): {best}{prices}.{product}{without}"


def _least_product(part: pd.DataFrame, by_seed: pd.DataFrame) -> str:
    """Name the mark of a panel with the least product of x and y, and those within run-to-run variation of it."""
    of_mark = ["hue", "style"]
    by_seed = by_seed.merge(part[_PANEL].drop_duplicates())
    names = figure_style.joint_labels(by_seed, of_mark).str.strip(", ")
    products = by_seed.groupby([*_PANEL, "seed", names])["product"].median().unstack()
    medians_of = products.groupby(level=_PANEL).median()
    tied = ties(medians_of, products).iloc[0]
    least = str(medians_of.iloc[0].idxmin())
    others = [str(name) for name in tied.index[tied] if name != least]
    if not others:
        return least
    by = f"not distinguishable by {len(products)} seeds" if len(products) > 1 else "one seed"
    return f"{least} (as {join_words(others)}, {by})"


def _best(part: pd.DataFrame) -> str:
    """Name the marks on the front of a panel, with both numbers, or count those of one name."""
    front = part[part["front"]].sort_values("x", kind="stable")
    best = []
    for name, marks in front.groupby(figure_style.joint_labels(front, ("hue", "style")).str.strip(", "), sort=False):
        shown = f"\u201c{name}\u201d" if ", " in name else name
        first = f"{shown} ({number(marks['x'].iloc[0], 4)}, {number(marks['y'].iloc[0], 3)})".lstrip()
        best.append(first if len(marks) == 1 else f"{len(marks)} marked {name}".removesuffix(" marked "))
    return f"{join_words(best)}, of {len(part)}"


def _correlation_text(figure: ScatterFigure, part: pd.DataFrame) -> str:
    """Return the rank correlation of a panel, or why there is none."""
    count = f"n = {len(part)}"
    if len(part) < MIN_ROWS:
        return f"{count}, too few to rank"
    value = rank_correlation(figure.correlation, part["x"], part["y"])
    if np.isnan(value):
        return f"{count}, no order: one column is constant"
    return f"{_SIGNS[figure.correlation]} = {value:.2f}, {count}".replace("-", "\N{MINUS SIGN}")
