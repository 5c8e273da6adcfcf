"""What of a study its figures of machines and of jobs in time draw: rows of the plan, by panel."""

from collections.abc import Sequence
from typing import TypeVar

from .figures import EcdfFigure, JobsFigure, Label, MachineFigure, fulfils
from .schedules import RunRow
from .sweep import PointRow

R = TypeVar("R", PointRow, RunRow)


def drawn_points(figure: MachineFigure, rows: Sequence[PointRow]) -> dict[Label | None, PointRow]:
    """Return the first row of each panel, by its label, of the least seed."""
    panels = _panels(figure, [row for row in rows if row.experiment == figure.experiment])
    return {label: panel[0] for label, panel in panels.items()}


def drawn_runs(figure: JobsFigure | EcdfFigure, rows: Sequence[RunRow]) -> dict[Label | None, list[RunRow]]:
    """Return the runs of each panel, by its label, of the least seed; but for waits, a panel draws one run."""
    panels = _panels(figure, [row for row in rows if row.schedule == figure.schedule])
    return panels if figure.kind == "ecdf" else {label: panel[:1] for label, panel in panels.items()}


def _panels(figure: MachineFigure | JobsFigure | EcdfFigure, rows: Sequence[R]) -> dict[Label | None, list[R]]:
    # The class of a job is no label of its run.
    where = {name: wanted for name, wanted in figure.where.items() if name != "class_nodes"}
    selected = [
        row for row in rows if all(fulfils({**row.labels, "seed": row.seed}[name], where[name]) for name in where)
    ]
    least = min((row.seed for row in selected), default=None)
    panels: dict[Label | None, list[R]] = {}
    for row in selected:
        if row.seed == least:
            panels.setdefault(row.labels[figure.columns] if figure.columns else "", []).append(row)
    return panels
