"""Gantt charts of programs: what the ranks of a point compute, send and wait for, over time."""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch

from fabricstudy.core.arrays import Floats
from fabricstudy.core.phrasing import count_noun
from fabricstudy.study.figures import JobsFigure
from fabricstudy.study.plan import Plan
from fabricstudy.table.files import Tables

from .figure_style import Drawing, NothingToDraw, add_footnote, add_legend
from .machine_figures import drawn_points

MAX_PANELS, MAX_VECTOR_BARS = 4, 1500
"""More panels cannot be read; more bars are drawn as an image."""

HEIGHTS = {"calc": (0.0, 0.9), "send": (0.0, 0.44), "receive": (0.46, 0.44)}
"""Upper end and height of the bars of a rank, in the order in which they are drawn; the axis points down."""

IDLE = "#e4e4e4"


def draw_program(figure: JobsFigure, tables: Tables, plan: Plan) -> Drawing:
    """Draw the operations of points."""
    chosen = drawn_points(figure, plan, MAX_PANELS, "charts in a figure")
    all_rows = tables.operations
    panels = {title: all_rows[all_rows["point_id"] == row.point_id] for title, row in chosen.items()}
    for title, rows in panels.items():
        if rows.empty:
            raise NothingToDraw(f"point {chosen[title].point_id} has no operations on record, of at most 64 ranks")
    drawn = pd.concat(panels.values())
    # Short bars lie upon long ones.
    lasting_ns = (drawn["end_ns"] - drawn["start_ns"]).groupby(drawn["mark"]).sum()
    marks = [str(mark) for mark in lasting_ns.sort_values(ascending=False).index]
    colours = dict(zip(marks, sns.color_palette("colorblind", len(marks)), strict=True))
    ranks = sum(max(1, rows.groupby("job")["rank"].max().add(1).sum()) for rows in panels.values())
    canvas = Canvas(figsize=(7.6, 1.2 + 0.08 * ranks + 0.6 * len(panels)), layout="constrained")
    grid = canvas.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    descriptions = []
    for axes, (title, rows) in zip(grid, panels.items(), strict=True):
        axes.set_title(title)
        descriptions.append(f"{title} {_draw_panel(axes, rows, colours)}".strip())
    last_us = float(drawn["end_ns"].max()) / 1e3
    window = (figure.from_s or 0.0) * 1e6, last_us if figure.to_s is None else min(figure.to_s * 1e6, last_us)
    if window[0] >= window[1]:
        raise NothingToDraw(f"the time window is empty, since the program ends after {last_us:.4g} us")
    grid[-1].set_xlim(*window)
    grid[-1].set_xlabel("time (us)")
    handles = [Patch(facecolor=colour, label=mark) for mark, colour in colours.items()]
    handles.append(Patch(facecolor=IDLE, label="idle"))
    add_legend(canvas, handles)
    basis = f"n = {count_noun(len(panels), 'point')}, seed {next(iter(chosen.values())).seed}."
    add_footnote(canvas, basis)
    return Drawing(canvas, f"Gantt chart of ranks. {'; '.join(descriptions)}", basis, 1)


def _draw_panel(axes: Axes, rows: pd.DataFrame, colours: dict[str, tuple[float, ...]]) -> str:
    """Draw the ranks of a point; return the alternative text."""
    last_us = float(rows["end_ns"].max()) / 1e3
    lane = rows.groupby(["job", "rank"], sort=True).ngroup().to_numpy()
    start_us, end_us = (rows[name].to_numpy(dtype=np.float64) / 1e3 for name in ("start_ns", "end_ns"))
    count, bars = int(lane.max()) + 1, 0
    for number in range(count):
        axes.broken_barh([(0.0, float(end_us[lane == number].max()))], (number, 0.9), facecolor=IDLE, linewidth=0)
    for kind, (low, height) in HEIGHTS.items():
        for mark, colour in colours.items():
            chosen = (rows["kind"] == kind).to_numpy() & (rows["mark"] == mark).to_numpy()
            for number in np.unique(lane[chosen]).tolist():
                own = chosen & (lane == number)
                spans = _union(start_us[own], end_us[own])
                bars += len(spans)
                image, extent = bars > MAX_VECTOR_BARS, (number + low, height)
                axes.broken_barh(spans.tolist(), extent, facecolor=colour, linewidth=0, rasterized=image)
    axes.set_ylim(count, -0.1)
    axes.set_ylabel("rank")
    axes.grid(visible=False)
    return f"{count} ranks, {last_us:.4g} us"


def _union(start: Floats, end: Floats) -> Floats:
    """Return start and length of the spans that intervals cover, float64 [spans, 2].

    Examples
    --------
    >>> _union(np.array([4.0, 0.0, 1.0]), np.array([5.0, 2.0, 3.0])).tolist()
    [[0.0, 3.0], [4.0, 1.0]]
    """
    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(end[order])
    first = np.flatnonzero(np.append(True, start[1:] > reach[:-1]))
    last = np.append(first[1:] - 1, len(start) - 1)
    return np.stack([start[first], reach[last] - start[first]], axis=1)
