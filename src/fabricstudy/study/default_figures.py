"""The figures of a study without the key `figures`: the runtime of each experiment against its axes."""

from collections.abc import Mapping

from .figures import Figure, LoadFigure
from .sweep import Axis, Experiment

_MOST_HUES, _MOST_PANELS = 10, 4
_FAR_APART = 10


def default_figures(experiments: Mapping[str, Experiment], offered: bool = False) -> tuple[Figure | LoadFigure, ...]:
    """Return one figure for each experiment that varies something.

    A line figure has the axis with the most sizes along x; without sizes, a bar figure has the longest axis.

    Examples
    --------
    >>> sweep = {"message": {"of": "jobs.0.pattern.message", "values": ["1 kB", "8 kB"]}}
    >>> [(figure.kind, figure.x) for figure in default_figures({"main": Experiment(sweep=sweep)})]
    [('line', 'message')]
    """
    varied = {
        name: {label: axis for label, axis in experiment.sweep.items() if len(axis) > 1}
        for name, experiment in experiments.items()
    }
    draw = _of_loads if offered else _usual
    return tuple(draw(name, axes, f" ({name})" * (len(experiments) > 1)) for name, axes in varied.items() if axes)


def _of_loads(name: str, axes: Mapping[str, Axis], which: str) -> LoadFigure:
    others = [axis for axis in axes if axes[axis].of != "offered.load" and len(axes[axis]) <= _MOST_HUES]
    return LoadFigure(
        id=name,
        kind="load-latency",
        title=f"Latency against offered load{which}",
        caption="Default figure: the mean latency.",
        experiment=name,
        hue=tuple(others[:1]),
        columns=next((axis for axis in others[1:] if len(axes[axis]) <= _MOST_PANELS), None),
    )


def _usual(name: str, axes: Mapping[str, Axis], which: str) -> Figure:
    x = max(axes, key=lambda axis: (axes[axis].magnitudes is not None, len(axes[axis])))
    sizes = axes[x].magnitudes
    others = sorted(
        (axis for axis in axes if axis != x and len(axes[axis]) <= _MOST_HUES), key=lambda axis: -len(axes[axis])
    )
    return Figure(
        id=name,
        kind="line" if sizes else "bar",
        title=f"Runtime against {x}{which}",
        caption="Default figure: the runtime of the slowest job of each point.",
        experiment=name,
        x=x,
        y="runtime_ns",
        unit="us",
        hue=tuple(others[:1]),
        columns=next((axis for axis in others[1:] if len(axes[axis]) <= _MOST_PANELS), None),
        y_log=sizes is not None and 0 < _FAR_APART * min(sizes) <= max(sizes),
    )
