"""Pictures of machines: routers with the jobs of their nodes, cables coloured by class or load."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import seaborn as sns
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import ListedColormap, Normalize, to_rgba
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch, Wedge

from fabricstudy.core.arrays import Bools, Floats, Int32s, Ints
from fabricstudy.core.phrasing import count_noun, join_words
from fabricstudy.machine.graph import Machine, NamedMachine
from fabricstudy.structure.slow_cables import slow_cables_in_words, slow_rows
from fabricstudy.workload.allocation.base import NO_JOB

from .figure_style import NothingToDraw, add_footnote, add_legend, legend_label
from .layouts import WITHIN, Layout, lay_out
from .text import number

Load = Literal["bytes", "stall"]

IDLE, BARE, NODE_EDGE, UNUSED = "#d4d4d4", "#ffffff", "#444444", "#e2e2e2"
ROUTER_COLOUR = "#8c8c8c"
LOAD_COLOURS = ListedColormap(colormaps["magma_r"](np.linspace(0.12, 1.0, 256)))
"""Without the lightest colours, invisible on white."""

_WIDEST = 4.0
"""Ratio of the widest to the thinnest line; widths are proportional to cable counts in between."""

_DENSE = 600
"""More lines are translucent."""

MOST_LEVEL = 6
"""With more routers in a row, labels are vertical."""

SOLID = {"capstyle": "round"}
DASHED = {"capstyle": "butt", "linestyles": [(0, (3.0, 1.5))]}

_UNITS = {"bytes": ("GB", "MB", "kB", "B"), "stall": ("s", "ms", "us", "ns")}
_WORDS = {"bytes": "bytes on a link", "stall": "time for which a link was stalled"}


@dataclass(frozen=True, eq=False)
class Scene:
    """Content of one panel: a machine and the names of its jobs."""

    machine: Machine
    jobs: tuple[str, ...] = ()
    holder: Int32s | None = None
    """Job of each node, `NO_JOB` if idle, [nodes]."""
    load: Floats | None = None
    """Bytes, or stall in ns, of each directed link, [links]."""
    title: str = ""
    labels: bool = False
    """Whether routers are labelled with name and node count."""

    @cached_property
    def layout(self) -> Layout:
        """Layout of the machine. Raises ConfigError if it is too large to be drawn."""
        return lay_out(self.machine)

    @cached_property
    def job_nodes(self) -> Floats:
        """Nodes of each job in each spot, idle nodes last, [spots, jobs + 1]."""
        spot = self.layout.spot_of_router[self.machine.node_router]
        holder = np.full(self.machine.nodes, NO_JOB) if self.holder is None else self.holder
        counts = np.zeros((len(self.layout.positions), len(self.jobs) + 1))
        np.add.at(counts, (spot, np.where(holder == NO_JOB, len(self.jobs), holder)), 1)
        return counts

    @property
    def corners(self) -> tuple[Floats, Floats]:
        """Lower left and upper right corner."""
        layout = self.layout
        labels = np.array([label[:2] for label in layout.labels]).reshape(-1, 2)
        points = np.concatenate([layout.positions, labels, *(stroke for _, stroke in layout.paths)])
        return points.min(axis=0) - 1.4 * layout.radius, points.max(axis=0) + 1.4 * layout.radius

    @property
    def shape(self) -> float:
        """Height over width."""
        low, high = self.corners
        return float(np.divide(*(high - low)[::-1]))

    @property
    def sizes(self) -> list[str]:
        """Numbers of routers, nodes and cables in words."""
        return [count_noun(getattr(self.machine, f"{noun}s"), noun) for noun in ("router", "node", "cable")]


def draw_machines(scenes: Sequence[Scene], load: Load | None = None, basis: str = "") -> tuple[Canvas, str, str]:
    """Draw machines side by side, with one colour scale; return canvas, alternative text and footnote.

    The footnote begins with `basis`. Raises ConfigError if a machine is too large to be drawn.
    """
    columns = min(len(scenes), 2)
    rows = -(-len(scenes) // columns)
    shape = max(scene.shape for scene in scenes)
    height = rows * (7.6 / columns * min(max(shape, 0.3), 1.3) + 0.25) + 1.0
    canvas = Canvas(figsize=(7.6, height), layout="constrained")
    grid = canvas.subplots(rows, columns, squeeze=False)
    scale = _scale(scenes, load)
    inks = _inks(scenes, scale is None)
    descriptions = []
    for axes, scene in zip(grid.flat, scenes, strict=False):
        _panel(axes, scene, inks, scale)
        layout = scene.layout
        drawn = f"drawn as {count_noun(len(layout.positions), 'dot')} and {count_noun(layout.lines, 'line')}"
        facts = ", ".join(filter(None, [slow_cables_in_words(scene.machine), *scene.sizes, drawn]))
        descriptions.append(": ".join(filter(None, (scene.title, facts))))
    for axes in grid.flat[len(scenes) :]:
        axes.set_visible(False)
    add_legend(canvas, _handles(scenes, inks))
    if scale is not None:
        bar = canvas.colorbar(scale.colours, ax=grid, fraction=0.04, pad=0.01, shrink=0.7)
        bar.set_label(f"{_WORDS[str(load)]} ({scale.unit})")
    notes = dict.fromkeys(note for scene in scenes for note in _legend_notes(scene, load))
    footnote = f"{'; '.join([*[basis] * bool(basis), *notes])}."
    add_footnote(canvas, footnote)
    return canvas, "; ".join(descriptions), footnote


def small_picture(machine: Machine) -> tuple[Canvas, str]:
    """Draw a machine alone on a small canvas; return it and the machine's size in words."""
    scene = Scene(machine)
    inks = _inks([scene], by_class=True)
    handles = _handles([scene], inks)
    height = 3.2 * min(max(scene.shape, 0.3), 1.1) + 0.22 * len(handles)
    canvas = Canvas(figsize=(3.2, height), layout="constrained")
    _panel(canvas.subplots(), scene, inks, None)
    canvas.legend(handles=handles, loc="outside lower center", ncols=1, frameon=False)
    return canvas, join_words(scene.sizes)


@dataclass(frozen=True)
class _Scale:
    colours: ScalarMappable
    factor: float
    unit: str


def _scale(scenes: Sequence[Scene], load: Load | None) -> _Scale | None:
    if load is None:
        return None
    most = max((float(scene.load.max(initial=0.0)) for scene in scenes if scene.load is not None), default=0.0)
    if most <= 0:
        raise NothingToDraw(f"no link has any {load}")
    units = list(zip((1e9, 1e6, 1e3, 1.0), _UNITS[load], strict=True))
    factor, unit = next(((factor, unit) for factor, unit in units if most >= factor), units[-1])
    return _Scale(ScalarMappable(Normalize(0.0, most / factor), LOAD_COLOURS), factor, unit)


def _inks(scenes: Sequence[Scene], by_class: bool) -> tuple[dict[str, Any], list[Any]]:
    """Return distinct colours for link classes, by name, and for jobs."""
    names = list(dict.fromkeys(link.name for scene in scenes for link in scene.machine.classes)) if by_class else []
    count = len(names) + max(len(scene.jobs) for scene in scenes)
    distinct = sns.color_palette("colorblind", 10)
    # Grey is for idle nodes.
    palette = [*distinct[:7], *distinct[8:]] if count < 10 else list(sns.color_palette("viridis", count))
    return dict(zip(names, palette, strict=False)), palette[len(names) : count]


def cables_of_lines(machine: Machine, layout: Layout) -> Ints:
    """Return the number of cables of each line, [lines]."""
    drawn = layout.line_of_row != WITHIN
    counts = np.bincount(layout.line_of_row[drawn], weights=machine.cable_count[drawn], minlength=layout.lines)
    return counts.astype(np.int64)


def load_of_lines(load: Floats, layout: Layout) -> Floats:
    """Return the largest load of a directed link of each line, [lines]."""
    return _largest(load, layout.line_of_row != WITHIN, layout.line_of_row, layout.lines)


def _largest(load: Floats, rows: Bools, part: Ints, parts: int) -> Floats:
    """Return the largest load of a directed link among these rows of each part, [parts]."""
    largest = np.zeros(parts)
    np.maximum.at(largest, part[rows], load.reshape(-1, 2).max(axis=1)[rows])
    return largest


def _panel(axes: Axes, scene: Scene, inks: tuple[dict[str, Any], list[Any]], scale: _Scale | None) -> None:
    axes.set_axis_off()
    axes.set(aspect="equal", title=scene.title)
    _draw_lines(axes, scene, inks[0], scale)
    _draw_spots(axes, scene, inks[1], scale)
    left = scene.layout.positions[:, 0].min()
    for x, y, label in scene.layout.labels:
        axes.text(x, y, label, ha="right" if x < left else "center", va="center", fontsize=7.5, color="#444444")
    if scene.labels:
        _draw_labels(axes, scene)
    low, high = scene.corners
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))


def _draw_labels(axes: Axes, scene: Scene) -> None:
    """Label each spot with node count and router name, below it, or above it in the top row."""
    machine, layout = scene.machine, scene.layout
    names = machine.router_names if isinstance(machine, NamedMachine) else range(machine.routers)
    name_of = dict(zip(layout.spot_of_router.tolist(), names, strict=True)) if layout.spot == "router" else {}
    top = layout.positions[:, 1].max()
    upright = int(np.unique(layout.positions[:, 1].round(6), return_counts=True)[1].max() > MOST_LEVEL)
    for spot, count in enumerate(scene.job_nodes.sum(axis=1).astype(int).tolist()):
        x, y = layout.positions[spot]
        text = "\n".join([str(name_of[spot])] * bool(name_of) + [count_noun(count, "node")] * bool(count))
        side, align = (1.2, "bottom") if y == top else (-1.2, "top")
        label = axes.text(x, y + side * layout.radius, text, ha="center", va=align, rotation=90 * upright, fontsize=6.5)
        label.set_bbox({"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.5})


def _draw_lines(axes: Axes, scene: Scene, inks: dict[str, Any], scale: _Scale | None) -> None:
    machine, layout = scene.machine, scene.layout
    if not layout.paths:
        return
    line = np.array([number for number, _ in layout.paths])
    cables = cables_of_lines(machine, layout)
    # Many lines are thin, and translucent if they cross.
    thinnest = float(np.clip(24 / np.sqrt(len(cables)), 0.3, 1.0)) if layout.crosses else 0.9
    widest = thinnest * min(cables.max() / cables.min(), _WIDEST)
    widths = np.maximum(widest * cables / cables.max(), 0.25)[line]
    opacity = float(np.clip(_DENSE / len(cables), 0.15, 1.0)) if layout.crosses else 1.0
    slow = np.zeros(len(line), dtype=bool)
    if scale is None or scene.load is None:
        kind = np.zeros(layout.lines, dtype=np.int64)
        drawn = layout.line_of_row != WITHIN
        kind[layout.line_of_row[drawn]] = machine.cable_class[drawn]
        slow = np.isin(line, layout.line_of_row[slow_rows(machine)[0]])
        colours = np.array([to_rgba(inks[link.name], opacity) for link in machine.classes])[kind[line]]
        colours[slow, 3] = 1.0
        widths[slow] = np.maximum(widths[slow], 2.2)
        bandwidth_Bps = np.array([link.bandwidth_Bps for link in machine.classes])[kind[line]]
        order = np.lexsort([-kind[line], -bandwidth_Bps, slow])
    else:
        load = load_of_lines(scene.load, layout)[line] / scale.factor
        colours = scale.colours.to_rgba(load)
        colours[load <= 0] = to_rgba(UNUSED)
        colours[:, 3] = max(opacity, 0.5)
        widths = np.where(load > 0, 1.5 * widths, widths)
        order = np.argsort(load, kind="stable")
    for chosen, style in ((order[~slow[order]], SOLID), (order[slow[order]], DASHED)):
        strokes = [layout.paths[path][1] for path in chosen]
        lines = LineCollection(strokes, colors=colours[chosen], linewidths=widths[chosen], zorder=1, **style)
        axes.add_collection(lines)


def _draw_spots(axes: Axes, scene: Scene, inks: list[Any], scale: _Scale | None) -> None:
    layout, fills = scene.layout, [*inks[: len(scene.jobs)], IDLE if scene.jobs else ROUTER_COLOUR]
    inside = layout.line_of_row == WITHIN
    within: Floats | None = None
    if scene.load is not None and inside.any():
        within = _largest(scene.load, inside, layout.spot_of_router[scene.machine.cable_tail], len(layout.positions))
    patches: list[tuple[Patch, Any, Any]] = []
    for spot, (centre, nodes) in enumerate(zip(layout.positions, scene.job_nodes, strict=True)):
        edge = NODE_EDGE if within is None or scale is None else scale.colours.to_rgba(within[spot] / scale.factor)
        present = np.flatnonzero(nodes)
        if len(present) < 2:
            patches.append((Circle(tuple(centre), layout.radius), fills[present[0]] if len(present) else BARE, edge))
            continue
        ends = np.concatenate([[0.0], np.cumsum(nodes[present]) / nodes.sum()]) * 360
        for job, start, end in zip(present, ends[:-1], ends[1:], strict=True):
            patches.append((Wedge(tuple(centre), layout.radius, 90 - end, 90 - start), fills[job], edge))
    shapes, faces, edges = zip(*patches, strict=True)
    width = 0.5 if within is None else 1.6
    axes.add_collection(PatchCollection(shapes, facecolors=faces, edgecolors=edges, linewidths=width, zorder=2))


def _handles(scenes: Sequence[Scene], inks: tuple[dict[str, Any], list[Any]]) -> list[Any]:
    # A group of a machine of groups has no global cables.
    machines = [scene.machine for scene in scenes]
    joining = {machine.classes[number].name for machine in machines for number in np.unique(machine.cable_class)}
    handles = [_class_handle(scenes, name, ink) for name, ink in inks[0].items() if name in joining]
    jobs = max((scene.jobs for scene in scenes), key=len)
    spots = [(legend_label(name), ink) for ink, name in zip(inks[1], jobs, strict=True)]
    bare = any((scene.job_nodes.sum(axis=1) == 0).any() for scene in scenes)
    idle = jobs and any(scene.holder is not None and (scene.holder == NO_JOB).any() for scene in scenes)
    spots += [("idle", IDLE)] * bool(idle) + [("with nodes", ROUTER_COLOUR)] * (bare and not jobs)
    spots += [("without nodes", BARE)] * bare
    plain: dict[str, Any] = {"marker": "o", "linestyle": "", "markersize": 7, "markeredgecolor": NODE_EDGE}
    return handles + [Line2D([], [], color=ink, label=label, **plain) for label, ink in spots]


def _class_handle(scenes: Sequence[Scene], name: str, ink: Any) -> Any:
    """Return the legend entry of a link class, with cables and bandwidth in each machine."""
    counts, bandwidths, drawn, all_slow = [], [], False, True
    for scene in scenes:
        machine = scene.machine
        for number_of_class, link in enumerate(machine.classes):
            if link.name == name:
                in_class = machine.cable_class == number_of_class
                counts.append(int(machine.cable_count[in_class].sum()))
                bandwidths.append(number(link.bandwidth_Bps / 1e9))
                drawn |= bool((scene.layout.line_of_row[in_class] != WITHIN).any())
                all_slow &= bool(np.isin(np.flatnonzero(in_class), slow_rows(machine)[0]).all())
    *others, last = dict.fromkeys(counts)
    cables = join_words([*(f"{count:,}" for count in others), count_noun(last, "cable")])
    label = f"{legend_label(name)}: {cables}, {join_words(list(dict.fromkeys(bandwidths)))} GB/s"
    if not drawn:
        return Line2D([], [], linestyle="", label=f"{label}, inside the dots")
    return Line2D([], [], color=ink, linewidth=2.0, linestyle="--" if all_slow else "-", label=label)


def _legend_notes(scene: Scene, load: Load | None) -> list[str]:
    layout, slow = scene.layout, slow_cables_in_words(scene.machine)
    notes = [f"dashed: {slow}"] * bool(slow and load is None)
    notes.append(f"dot: a {layout.spot}" + ", divided by job" * bool(scene.jobs))
    cables = cables_of_lines(scene.machine, layout)
    if len(cables):
        low, high = int(cables.min()), int(cables.max())
        count = "a cable" if high == 1 else count_noun(low, "cable")
        notes.append(f"line: {count}" if low == high else f"line: {low} to {count_noun(high, 'cable')}, by its width")
    notes += [layout.footnote] * bool(layout.footnote)
    if load is not None:
        bundled = bool((layout.line_of_row == WITHIN).any())
        notes.append("colour: the direction with the higher load" + ", the maximum of several links" * bundled)
        notes += ["ring of a dot: the highest load inside"] * bundled + ["light grey: nothing"]
    return notes
