"""Figures of the jobs of single runs: the machine over time, a Gantt chart of its midplanes, waits of the jobs."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from fabricstudy.schedule.history import History, read_histories
from fabricstudy.schedule.partitions import NodePool, Partitions
from fabricstudy.study.drawn import drawn_runs
from fabricstudy.study.figures import EcdfFigure, JobsFigure, fulfils
from fabricstudy.study.plan import Plan
from fabricstudy.study.schedules import RunRow
from fabricstudy.table.files import Tables
from fabricstudy.table.select import label_text

from .figure_style import Drawing, Made, NothingToDraw, add_footnote

DAY_S, HOUR_S = 86400.0, 3600.0
MAX_BOXES = 2000
"""More cannot be distinguished in a picture, and would make the page slow."""

CAUSES = {"cables": "#d55e00", "held": "#e69f00", "scattered": "#999999", "empty": "#eeeeee"}
"""Why midplanes are idle, with colours, as they lie above each other."""

_CAUSE_WORDS = {
    "cables": "idle: no cables", "held": "idle: held", "scattered": "idle: scattered", "empty": "idle: nothing waits",
}  # fmt: skip

Run = tuple[RunRow, History]
Panels = Mapping[str, Sequence[Run]]


def draw_job_figure(figure: JobsFigure | EcdfFigure, tables: Tables, plan: Plan, made: Made) -> Drawing:
    """Draw a figure of the jobs of single runs.

    Raises
    ------
    NothingToDraw
        If there is no run, or one could not be done.
    """
    runs = runs_of(figure, plan, tables, made.histories)
    canvas, words = draw_runs(figure, runs)
    rows = [row for panel in runs.values() for row, _ in panel]
    basis = f"n = {len(rows)} run{'s' * (len(rows) != 1)}, seed {rows[0].seed}."
    add_footnote(canvas, basis)
    names = {"timeline": "Machine over time", "gantt": "Gantt chart of midplanes", "ecdf": "Waits, cumulative"}
    return Drawing(canvas, f"{names[figure.kind]}. {words}", basis, len(runs))


def runs_of(figure: JobsFigure | EcdfFigure, plan: Plan, tables: Tables, histories: Sequence[Path]) -> Panels:
    """Return the runs that a figure draws: by the label of its columns, those of one seed.

    Raises
    ------
    NothingToDraw
        If there is none, or one could not be done.
    """
    chosen = drawn_runs(figure, plan.run_rows)
    if not chosen:
        raise NothingToDraw("no run of the schedule is selected")
    wanted = {row.run_id: plan.runs[f"{row.schedule} {row.run_id}"] for panel in chosen.values() for row in panel}
    found = read_histories(histories, wanted)
    for lost in (name for name in wanted if name not in found):
        raise NothingToDraw(_reason(tables.schedules, lost))
    return {label_text(label): [(row, found[row.run_id]) for row in panel] for label, panel in chosen.items()}


def _reason(schedules: pd.DataFrame, run_id: str) -> str:
    """Return why a run was not done."""
    reasons = schedules.loc[schedules["run_id"] == run_id, "reason"].dropna()
    return str(reasons.iloc[0]) if len(reasons) else f"the run {run_id} has no history"


def draw_panel(
    figure: JobsFigure | EcdfFigure, axes: Sequence[Axes], runs: Sequence[Run], colours: Mapping[int, Any]
) -> str:
    """Draw the runs of one panel; return its words for those who cannot see it."""
    if isinstance(figure, EcdfFigure):
        return _waits(figure, axes[0], runs)
    run = runs[0][1]
    last_s = float(np.nanmax(run.end_s))
    window = figure.from_s or 0.0, last_s if figure.to_s is None else min(figure.to_s, last_s)
    return (_timeline if figure.kind == "timeline" else _gantt)(axes, run, window, colours)


def class_colours(runs: Panels) -> dict[int, Any]:
    """Return a colour for each size class of the runs of a figure, darker the larger it is."""
    sizes = np.unique(np.concatenate([run.class_nodes for panel in runs.values() for _, run in panel]))
    classes = sizes[sizes > 0].tolist()
    return dict(zip(classes, sns.color_palette("crest", len(classes)), strict=True))


def _timeline(axes: Sequence[Axes], run: History, window: tuple[float, float], colours: Mapping[int, Any]) -> str:
    upper, lower = axes
    instants, block = run.instants, run.partitions.block_nodes
    inside = (instants.time_s >= window[0]) & (instants.time_s <= window[1])
    days = instants.time_s[inside] / DAY_S
    bottom = np.zeros(len(days))
    layers = [(busy_nodes(run, size)[inside], colours[size]) for size in colours]
    layers += [(getattr(instants, cause)[inside] * block, colour) for cause, colour in CAUSES.items()]
    for nodes, colour in layers:
        upper.fill_between(days, bottom, bottom + nodes, step="post", color=colour, linewidth=0)
        bottom = bottom + nodes
    upper.set_ylim(0, run.partitions.machine_nodes)
    lower.step(days, instants.queue[inside], where="post", color="#333333", linewidth=0.9)
    lower.set_ylim(bottom=0)
    for one in axes:
        one.set_xlim(window[0] / DAY_S, window[1] / DAY_S)
        one.grid(visible=False)
    steps = np.diff(instants.time_s[inside], append=window[1])
    total = steps.sum() * run.partitions.machine_nodes
    shares = {cause: float((getattr(instants, cause)[inside] * block * steps).sum() / total) for cause in CAUSES}
    idle_shares = ", ".join(f"{cause} {100 * share:.1f} %" for cause, share in shares.items())
    return f"idle: {idle_shares}; at most {instants.queue[inside].max()} jobs wait"


def busy_nodes(run: History, size: int) -> npt.NDArray[np.int64]:
    """Return how many nodes of partitions of one size are in use from each instant to the next."""
    mine = run.class_nodes == size
    time_s = run.instants.time_s
    started, ended = (np.sort(side[mine]) for side in (run.start_s, run.end_s))
    running = np.searchsorted(started, time_s, "right") - np.searchsorted(ended, time_s, "right")
    return running.astype(np.int64) * size


def _gantt(axes: Sequence[Axes], run: History, window: tuple[float, float], colours: Mapping[int, Any]) -> str:
    if isinstance(run.partitions, NodePool):
        raise NothingToDraw("nodes without a topology have no midplanes to draw")
    boxes = list(_boxes(run, window))
    blocked = list(blocked_by_cables(run, window))
    if len(boxes) + len(blocked) > MAX_BOXES:
        words = f"{len(boxes) + len(blocked):,} boxes in the window are too many to be distinguished"
        raise NothingToDraw(f"{words}; narrow it with from and to until there are at most {MAX_BOXES:,}")
    (ax,) = axes
    for start_s, end_s, low, high, size in boxes:
        ax.fill_between([start_s / DAY_S, end_s / DAY_S], low, high, color=colours[size], ec="white", linewidth=0.4)
    for start_s, end_s, midplane in blocked:
        ax.fill_between(
            [start_s / DAY_S, end_s / DAY_S], midplane, midplane + 1, facecolor="none", edgecolor=CAUSES["cables"],
            hatch="////", linewidth=0,
        )  # fmt: skip
    ax.set_xlim(window[0] / DAY_S, window[1] / DAY_S)
    ax.set_ylim(0, run.partitions.midplanes)
    ax.grid(visible=False)
    jobs = len({box[:2] for box in boxes})
    hours = sum(end_s - start_s for start_s, end_s, _ in blocked) / HOUR_S
    return f"{jobs} jobs; midplanes stand idle for want of cables for {hours:.1f} midplane-hours"


def _boxes(run: History, window: tuple[float, float]) -> Iterator[tuple[float, float, int, int, int]]:
    """Yield start, end, first midplane, the one after the last, and size of each row of midplanes of each job."""
    assert isinstance(run.partitions, Partitions)
    for job in np.flatnonzero((run.start_s < window[1]) & (run.end_s > window[0])):
        midplanes = np.array(run.partitions.midplanes_of(int(run.partition[job])))
        for row in np.split(midplanes, np.flatnonzero(np.diff(midplanes) > 1) + 1):
            span = max(run.start_s[job], window[0]), min(run.end_s[job], window[1])
            yield (*span, int(row[0]), int(row[-1]) + 1, int(run.class_nodes[job]))


def blocked_by_cables(run: History, window: tuple[float, float]) -> Iterator[tuple[float, float, int]]:
    """Yield each span for which a midplane is idle for want of cables, as long as it lasts: start, end, midplane."""
    assert isinstance(run.partitions, Partitions)
    time_s = run.instants.time_s
    first, last = (int(np.searchsorted(time_s, end_s, "right")) for end_s in window)
    ends = np.append(time_s[1:], time_s[-1])
    since = np.full(run.partitions.midplanes, np.nan)
    for instant in range(max(first - 1, 0), last):
        now = _idle_for_cables(run, float(time_s[instant]))
        start_s = max(float(time_s[instant]), window[0])
        for midplane in np.flatnonzero(~now & ~np.isnan(since)):
            yield float(since[midplane]), start_s, int(midplane)
        since = np.where(now, np.where(np.isnan(since), start_s, since), np.nan)
        end_s = min(float(ends[instant]), window[1])
    for midplane in np.flatnonzero(~np.isnan(since)):
        yield float(since[midplane]), end_s, int(midplane)


def _idle_for_cables(run: History, now_s: float) -> npt.NDArray[np.bool_]:
    """Return the midplanes on which a waiting job has a partition of free midplanes, but none with free cables, too."""
    assert isinstance(run.partitions, Partitions)
    partitions = run.partitions
    running = np.unique(run.partition[(run.start_s <= now_s) & (run.end_s > now_s)])
    on_midplanes, on_cables = partitions.midplane_table, partitions.cable_table
    taken = on_midplanes[running].sum(axis=0) > 0
    cables = on_cables[running].sum(axis=0) > 0
    has_midplanes = on_midplanes @ taken.astype(np.int64) == 0
    has_all = has_midplanes & (on_cables @ cables.astype(np.int64) == 0)
    waiting = (run.submit_s <= now_s) & (run.start_s > now_s)
    idle = np.zeros(partitions.midplanes, dtype=bool)
    for wanted in {tuple(may) for may in run.takes[waiting]}:
        for size in np.unique(run.class_nodes[waiting]):
            may_wait = (run.takes == wanted).all(axis=1) & waiting
            if not (may_wait & (run.class_nodes == size)).any():
                continue
            usable = (partitions.nodes == size) & np.array(wanted)[partitions.variant]
            nearly = on_midplanes[np.flatnonzero(usable & has_midplanes)].sum(axis=0) > 0
            wholly = on_midplanes[np.flatnonzero(usable & has_all)].sum(axis=0) > 0
            idle |= nearly & ~wholly
    return idle & ~taken


def _waits(figure: EcdfFigure, ax: Axes, runs: Sequence[Run]) -> str:
    series = list(_series(figure, runs))
    lines = []
    for (label, wait_s), colour in zip(series, sns.color_palette("colorblind", len(series)), strict=True):
        hours = np.sort(wait_s) / HOUR_S
        shares = np.arange(1, len(hours) + 1) / len(hours)
        ax.step(hours, shares, where="post", color=colour, linewidth=1.3, label=label)
        half, most = np.quantile(hours, [0.5, 0.95])
        lines.append(f"{label or 'all'}: half wait at most {half:.3g} h, 95 % {most:.3g} h")
    ax.set_xscale("symlog", linthresh=0.1)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set_xlim(left=0)
    ax.set_ylim(0, 1)
    return "; ".join(lines)


def _series(figure: EcdfFigure, runs: Sequence[Run]) -> Iterator[tuple[str, npt.NDArray[np.float64]]]:
    by_class = "class_nodes" in figure.hue
    waits: dict[str, list[npt.NDArray[np.float64]]] = {}
    for row, run in runs:
        wait_s, ran = run.start_s - run.submit_s, run.ran
        sizes = np.unique(run.class_nodes[ran]) if by_class else [0]
        for size in sizes:
            wanted = figure.where.get("class_nodes")
            if by_class and wanted is not None and not fulfils(int(size), wanted):
                continue
            labels = [f"{size:,}" if name == "class_nodes" else label_text(row.labels[name]) for name in figure.hue]
            mine = ran & (run.class_nodes == size) if by_class else ran
            waits.setdefault(", ".join(labels), []).append(wait_s[mine])
    return ((label, np.concatenate(parts)) for label, parts in waits.items())


def draw_runs(figure: JobsFigure | EcdfFigure, runs: Panels) -> tuple[Canvas, str]:
    """Draw all panels of a figure; return the canvas and its words."""
    colours = class_colours(runs)
    wide = len(runs)
    high = {"timeline": 2, "gantt": 1, "ecdf": 1}[figure.kind]
    one = 7.6 if figure.kind != "ecdf" or wide == 1 else 4.6
    width = one * (1 if wide == 1 else 0.8 * wide)
    canvas = Canvas(figsize=(width, 5.0 if figure.kind != "ecdf" else 3.6), layout="constrained")
    ratios = [4, 1] if high == 2 else [1]
    grid = canvas.subplots(high, wide, sharex="col", sharey="row", squeeze=False, height_ratios=ratios)
    words = []
    for place, (label, panel) in enumerate(runs.items()):
        panel_words = draw_panel(figure, list(grid[:, place]), panel, colours)
        words.append(f"{label}: {panel_words}" if label else panel_words)
        if label:
            grid[0][place].set_title(f"{figure.columns}: {label}")
        grid[-1][place].set_xlabel("wait (h)" if figure.kind == "ecdf" else "days from the start of the trace")
    names = {"timeline": ("nodes", "jobs waiting"), "gantt": ("midplane",), "ecdf": ("share of jobs",)}[figure.kind]
    for axes, name in zip(grid[:, 0], names, strict=True):
        axes.set_ylabel(name)
    handles = _handles(figure, grid[0][0], colours)
    if handles:
        canvas.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 4), frameon=False)
    return canvas, "; ".join(words)


def _handles(figure: JobsFigure | EcdfFigure, axes: Axes, colours: Mapping[int, Any]) -> list[Any]:
    if isinstance(figure, EcdfFigure):
        return list(axes.get_legend_handles_labels()[0]) if figure.hue else []
    boxes = [Patch(facecolor=colour, label=f"{size:,} nodes") for size, colour in colours.items()]
    if figure.kind == "timeline":
        return boxes + [Patch(facecolor=colour, label=_CAUSE_WORDS[cause]) for cause, colour in CAUSES.items()]
    hatched = Patch(facecolor="none", edgecolor=CAUSES["cables"], hatch="////", label=_CAUSE_WORDS["cables"])
    return [*boxes, hatched]
