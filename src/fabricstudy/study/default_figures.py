"""The figures of a study without the key `figures`: the runtime of each experiment against its axes."""

from collections.abc import Mapping
from typing import Any

from .figures import AnyFigure, Figure, LoadFigure, MachineFigure
from .sweep import Axis, Experiment

_MOST_HUES, _MOST_PANELS, _MOST_MACHINES = 10, 4, 8
_FAR_APART = 10


def default_figures(experiments: Mapping[str, Experiment], offered: bool = False) -> tuple[AnyFigure, ...]:
    """Return one figure for each experiment that varies something, and the placements if it varies an allocation.

    A line figure has the axis with the most sizes along x; without sizes, a bar figure has the longest axis.

    Examples
    --------
    >>> sweep = {"message": {"of": "jobs.0.pattern.message", "values": ["1 kB", "8 kB"]}}
    >>> [(figure.kind, figure.x) for figure in default_figures({"main": Experiment(sweep=sweep)})]
    [('line', 'message')]
    """
    figures: list[AnyFigure] = []
    for name, experiment in experiments.items():
        axes = {label: axis for label, axis in experiment.sweep.items() if len(axis) > 1}
        if axes:
            draw = _of_loads if offered else _usual
            which = f" ({name})" * (len(experiments) > 1)
            figures.append(draw(name, axes, which))
            placed = experiment.axes_below("jobs.*.allocation")
            few = [axis for axis in axes if axis in placed and len(axes[axis]) <= _MOST_MACHINES]
            figures += [_placements(name, axis, which) for axis in few[:1]]
    return tuple(figures)


def _of_loads(name: str, axes: Mapping[str, Axis], which: str) -> LoadFigure:
    title, caption = f"Latency against offered load{which}", "Default figure: the mean latency."
    others = [axis for axis in axes if axes[axis].of != "offered.load"]
    return LoadFigure(id=name, kind="load-latency", title=title, caption=caption, **_keys(name, axes, others))


def _usual(name: str, axes: Mapping[str, Axis], which: str) -> Figure:
    x = max(axes, key=lambda axis: (axes[axis].magnitudes is not None, len(axes[axis])))
    sizes = axes[x].magnitudes
    others = sorted((axis for axis in axes if axis != x), key=lambda axis: -len(axes[axis]))
    title, caption = f"Runtime against {x}{which}", "Default figure: the runtime of the slowest job of each point."
    y_log = sizes is not None and 0 < _FAR_APART * min(sizes) <= max(sizes)
    return Figure(
        id=name, kind="line" if sizes else "bar", title=title, caption=caption, x=x, y="runtime_ns", unit="us",
        y_log=y_log, **_keys(name, axes, others),
    )  # fmt: skip


def _placements(name: str, axis: str, which: str) -> MachineFigure:
    title, caption = f"Placement by {axis}{which}", "Default figure: the jobs on the nodes of each router."
    identity = f"{name[:53]}-placement"
    return MachineFigure(id=identity, kind="machine", title=title, caption=caption, experiment=name, columns=axis)


def _keys(name: str, axes: Mapping[str, Axis], others: list[str]) -> dict[str, Any]:
    """Return the experiment, and the first of the other axes that are short enough as hue and as columns."""
    others = [axis for axis in others if len(axes[axis]) <= _MOST_HUES]
    columns = next((axis for axis in others[1:] if len(axes[axis]) <= _MOST_PANELS), None)
    return {"experiment": name, "hue": tuple(others[:1]), "columns": columns}
