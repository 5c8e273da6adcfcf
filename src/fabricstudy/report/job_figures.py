"""Figures of the jobs of single runs: the machine over time, a Gantt chart of its midplanes, waits."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch

from fabricstudy.core.arrays import Bools, Ints
from fabricstudy.core.phrasing import count_noun
from fabricstudy.core.quantities import DAY_S, HOUR_S
from fabricstudy.schedule.history import History, read_histories
from fabricstudy.schedule.partitions import NodePool, Partitions
from fabricstudy.study.figures import EcdfFigure, JobsFigure, fulfils
from fabricstudy.study.plan import Plan, rows_of_figure
from fabricstudy.study.schedules import RunRow
from fabricstudy.table.files import Tables
from fabricstudy.table.select import label_text

from .ecdf import draw_values
from .figure_style import Drawing, InputFiles, NothingToDraw, add_footnote, add_legend

MAX_BOXES = 2000
"""More boxes cannot be distinguished, and slow the page down."""

CAUSES = {"cables": "#d55e00", "held": "#e69f00", "scattered": "#999999", "empty": "#eeeeee"}
"""Colours of the causes of idle midplanes, from the bottom of the stack."""

_CAUSE_LABELS = {
    "cables": "idle: no cables", "held": "idle: held", "scattered": "idle: scattered", "empty": "idle: nothing waits",
}  # fmt: skip

_HATCHED: dict[str, Any] = {"facecolor": "none", "edgecolor": CAUSES["cables"], "hatch": "////"}

DrawnRun = tuple[RunRow, History]
Window = tuple[float, float]
RunPanels = Mapping[str, Sequence[DrawnRun]]


def draw_job_figure(figure: JobsFigure | EcdfFigure, tables: Tables, plan: Plan, inputs: InputFiles) -> Drawing:
    """Draw a figure of the jobs of single runs."""
    panels = _panels(figure, plan, tables, inputs.histories)
    rows = [row for runs in panels.values() for row, _ in runs]
    basis = f"n = {count_noun(len(rows), 'run')}, seed {rows[0].seed}."
    if isinstance(figure, EcdfFigure):
        return draw_values(figure, _waits(figure, panels), "wait (h)", basis)
    canvas, description = draw_runs(figure, panels)
    add_footnote(canvas, basis)
    names = {"timeline": "Machine over time", "gantt": "Gantt chart of midplanes"}
    return Drawing(canvas, f"{names[figure.kind]}. {description}", basis, len(panels))


def _panels(figure: JobsFigure | EcdfFigure, plan: Plan, tables: Tables, histories: Sequence[Path]) -> RunPanels:
    """Return the runs of one seed by the label of the figure's columns. Raises NothingToDraw if one is not done."""
    chosen = rows_of_figure(figure, plan.run_rows)
    if not chosen:
        raise NothingToDraw("no run of the schedule is selected")
    wanted = {row.run_id: plan.runs[f"{row.schedule} {row.run_id}"] for rows in chosen.values() for row in rows}
    known = read_histories(histories, wanted)
    for run_id in (run_id for run_id in wanted if run_id not in known):
        reasons = tables.schedules.loc[tables.schedules["run_id"] == run_id, "reason"].dropna()
        raise NothingToDraw(str(reasons.iloc[0]) if len(reasons) else f"the run {run_id} has no history")
    return {label_text(label): [(row, known[row.run_id]) for row in rows] for label, rows in chosen.items()}


def draw_runs(figure: JobsFigure, panels: RunPanels) -> tuple[Canvas, str]:
    """Draw all panels of a figure; return the canvas and its alternative text."""
    sizes = np.unique(np.concatenate([run.class_nodes for runs in panels.values() for _, run in runs]))
    classes = sizes[sizes > 0].tolist()
    colours = dict(zip(classes, sns.color_palette("crest", len(classes)), strict=True))  # darker for larger ones
    columns = len(panels)
    canvas = Canvas(figsize=(7.6 * max(1.0, 0.8 * columns), 5.0), layout="constrained")
    labels = ("nodes", "jobs waiting") if figure.kind == "timeline" else ("midplane",)
    ratios = [4, 1][: len(labels)]
    grid = canvas.subplots(len(labels), columns, sharex="col", sharey="row", squeeze=False, height_ratios=ratios)
    descriptions = []
    for axes, (label, runs) in zip(grid.T, panels.items(), strict=True):
        description = _draw_panel(figure, list(axes), runs[0][1], colours)
        descriptions.append(f"{label}: {description}" if label else description)
        if label:
            axes[0].set_title(f"{figure.columns}: {label}")
        axes[-1].set_xlabel("days from the start of the trace")
    for axes, label in zip(grid[:, 0], labels, strict=True):
        axes.set_ylabel(label)
    add_legend(canvas, _handles(figure, colours))
    return canvas, "; ".join(descriptions)


def _draw_panel(figure: JobsFigure, axes: Sequence[Axes], run: History, colours: Mapping[int, Any]) -> str:
    """Draw the run of one panel; return its alternative text."""
    last_s = float(np.nanmax(run.end_s))
    window = figure.from_s or 0.0, last_s if figure.to_s is None else min(figure.to_s, last_s)
    if window[0] >= window[1]:
        raise NothingToDraw(f"the time window is empty, since the run ends after {last_s / DAY_S:.3g} days")
    for ax in axes:
        ax.set_xlim(window[0] / DAY_S, window[1] / DAY_S)
        ax.grid(visible=False)
    return (_timeline if figure.kind == "timeline" else _gantt)(axes, run, window, colours)


def _timeline(axes: Sequence[Axes], run: History, window: Window, colours: Mapping[int, Any]) -> str:
    upper, lower = axes
    instants = run.utilisation
    inside = _instants_within(run, window)
    days = np.maximum(instants.time_s[inside], window[0]) / DAY_S
    idle = {cause: getattr(instants, cause)[inside] * run.partitions.block_nodes for cause in CAUSES}
    layers = [(busy_nodes(run, size)[inside], colour) for size, colour in colours.items()]
    layers += [(idle[cause], colour) for cause, colour in CAUSES.items()]
    bottom = np.zeros(len(days))
    for nodes, colour in layers:
        upper.fill_between(days, bottom, bottom + nodes, step="post", color=colour, linewidth=0)
        bottom = bottom + nodes
    upper.set_ylim(0, run.partitions.machine_nodes)
    lower.step(days, instants.queue[inside], where="post", color="#333333", linewidth=0.9)
    lower.set_ylim(bottom=0)
    steps_s = np.diff(np.maximum(instants.time_s[inside], window[0]), append=window[1])
    total = steps_s.sum() * run.partitions.machine_nodes
    shares = ", ".join(f"{cause} {100 * float((nodes * steps_s).sum() / total):.1f} %" for cause, nodes in idle.items())
    return f"idle: {shares}; at most {instants.queue[inside].max()} jobs wait"


def _instants_within(run: History, window: Window) -> slice:
    """Return the instants in a window, and the last one before it, whose state lasts into the window."""
    first, last = (int(np.searchsorted(run.utilisation.time_s, bound_s, "right")) for bound_s in window)
    return slice(max(first - 1, 0), last)


def busy_nodes(run: History, size: int) -> Ints:
    """Return how many nodes of partitions of one size are in use from each instant to the next."""
    of_size, time_s = run.class_nodes == size, run.utilisation.time_s
    started, ended = (np.sort(side_s[of_size]) for side_s in (run.start_s, run.end_s))
    running = np.searchsorted(started, time_s, "right") - np.searchsorted(ended, time_s, "right")
    return running.astype(np.int64) * size


def _gantt(axes: Sequence[Axes], run: History, window: Window, colours: Mapping[int, Any]) -> str:
    if isinstance(run.partitions, NodePool):
        raise NothingToDraw("nodes without a topology have no midplanes to draw")
    boxes = list(_boxes(run, window))
    blocked = list(blocked_by_cables(run, window))
    if len(boxes) + len(blocked) > MAX_BOXES:
        description = f"{len(boxes) + len(blocked):,} boxes in the window are too many to be distinguished"
        raise NothingToDraw(f"{description}; narrow it with from and to until there are at most {MAX_BOXES:,}")
    (ax,) = axes
    for start_s, end_s, low, high, size in boxes:
        ax.fill_between([start_s / DAY_S, end_s / DAY_S], low, high, color=colours[size], ec="white", linewidth=0.4)
    for start_s, end_s, midplane in blocked:
        ax.fill_between([start_s / DAY_S, end_s / DAY_S], midplane, midplane + 1, linewidth=0, **_HATCHED)
    ax.set_ylim(0, run.partitions.midplanes)
    jobs = len({box[:2] for box in boxes})
    hours = sum(end_s - start_s for start_s, end_s, _ in blocked) / HOUR_S
    return f"{jobs} jobs; midplanes are idle for lack of cables for {hours:.1f} midplane-hours"


def _boxes(run: History, window: Window) -> Iterator[tuple[float, float, int, int, int]]:
    """Yield start, end, first midplane, the one after the last, and size of each row of midplanes of each job."""
    assert isinstance(run.partitions, Partitions)
    for job in np.flatnonzero((run.start_s < window[1]) & (run.end_s > window[0])):
        midplanes = np.array(run.partitions.midplanes_of(int(run.partition[job])))
        for row in np.split(midplanes, np.flatnonzero(np.diff(midplanes) > 1) + 1):
            span = max(run.start_s[job], window[0]), min(run.end_s[job], window[1])
            yield (*span, int(row[0]), int(row[-1]) + 1, int(run.class_nodes[job]))


def blocked_by_cables(run: History, window: Window) -> Iterator[tuple[float, float, int]]:
    """Yield the spans in which a midplane is idle for lack of cables, by their ends: start, end, midplane."""
    assert isinstance(run.partitions, Partitions)
    time_s = run.utilisation.time_s
    instants = _instants_within(run, window)
    idle = [_idle_for_cables(run, float(now_s)) for now_s in time_s[instants]]
    padded = np.pad(np.reshape(np.array(idle, dtype=bool), (-1, run.partitions.midplanes)), ((1, 1), (0, 0)))
    edges_s = np.clip(np.append(time_s[instants], time_s[min(instants.stop, len(time_s) - 1)]), *window)
    midplane, start = np.nonzero((padded[1:] & ~padded[:-1]).T)
    _, end = np.nonzero((padded[:-1] & ~padded[1:]).T)
    for span in np.lexsort((midplane, end)):
        yield float(edges_s[start[span]]), float(edges_s[end[span]]), int(midplane[span])


def _idle_for_cables(run: History, now_s: float) -> Bools:
    """Return the midplanes on which a waiting job has a partition of free midplanes, but none with free cables, too."""
    assert isinstance(run.partitions, Partitions)
    partitions = run.partitions
    running = np.unique(run.partition[(run.start_s <= now_s) & (run.end_s > now_s)])
    on_midplanes, on_cables = partitions.midplane_table, partitions.cable_table
    used = on_midplanes[running].sum(axis=0) > 0
    cables_used = on_cables[running].sum(axis=0) > 0
    has_midplanes = on_midplanes @ used.astype(np.int64) == 0
    has_all = has_midplanes & (on_cables @ cables_used.astype(np.int64) == 0)
    waiting = (run.submit_s <= now_s) & (run.start_s > now_s)
    idle = np.zeros(partitions.midplanes, dtype=bool)
    for variants in np.unique(run.eligible[waiting], axis=0):
        for size in np.unique(run.class_nodes[waiting & (run.eligible == variants).all(axis=1)]):
            usable = (partitions.nodes == size) & variants[partitions.variant]
            nearly, wholly = (on_midplanes[usable & free].sum(axis=0) > 0 for free in (has_midplanes, has_all))
            idle |= nearly & ~wholly
    return idle & ~used


def _waits(figure: EcdfFigure, panels: RunPanels) -> pd.DataFrame:
    """Return the wait of each job in hours, with the labels of its mark; a class of jobs may be a hue."""
    by_class, chosen = "class_nodes" in figure.hue, figure.where.get("class_nodes")
    waits = []
    for column, (row, run) in ((column, drawn) for column, runs in panels.items() for drawn in runs):
        for size in np.unique(run.class_nodes[run.ran]) if by_class else [0]:
            if by_class and chosen is not None and not fulfils(int(size), chosen):
                continue
            labels = [f"{size:,}" if name == "class_nodes" else label_text(row.labels[name]) for name in figure.hue]
            jobs = run.ran & (run.class_nodes == size) if by_class else run.ran
            marks = {"hue": ", ".join(labels), "family": "".join(labels[:1]), "style": "", "column": column, "row": ""}
            waits.append(pd.DataFrame({"x": (run.start_s - run.submit_s)[jobs] / HOUR_S}).assign(**marks))
    if not waits:
        raise NothingToDraw("no job of these runs is selected")
    return pd.concat(waits, ignore_index=True)


def _handles(figure: JobsFigure, colours: Mapping[int, Any]) -> list[Any]:
    boxes = [Patch(facecolor=colour, label=f"{size:,} nodes") for size, colour in colours.items()]
    if figure.kind == "timeline":
        return boxes + [Patch(facecolor=colour, label=_CAUSE_LABELS[cause]) for cause, colour in CAUSES.items()]
    return [*boxes, Patch(label=_CAUSE_LABELS["cables"], **_HATCHED)]
