"""Figures of machines: those of single points, with their jobs and what a simulation put on their links."""

import numpy as np

from fabricstudy.core.model import ConfigError
from fabricstudy.engine.point import Point
from fabricstudy.machine.graph import Machine
from fabricstudy.study.figures import MachineFigure, fulfils
from fabricstudy.study.plan import Plan
from fabricstudy.study.sweep import PointRow
from fabricstudy.table.files import Tables
from fabricstudy.table.select import label_text
from fabricstudy.workload.messages import WorkloadError
from fabricstudy.workload.placing import job_of_node

from .figure_style import Drawing, NothingToDraw
from .machine_picture import Floats, Scene, draw_machines

MAX_PANELS = 8
"""More machines beside each other could not be read."""

_COLUMN = {"bytes": "load_bytes", "stall": "stall_ns"}


def draw_machine_figure(figure: MachineFigure, tables: Tables, plan: Plan) -> Drawing:
    """Draw the machines of points.

    Raises
    ------
    NothingToDraw
        If no point is selected, one has no loads that are asked for, or its machine is too large to be drawn.
    """
    chosen = _chosen(figure, plan.rows)
    scenes = [_scene(figure, label, row, plan.points[row.point_id].point, tables) for label, row in chosen.items()]
    try:
        canvas, words, basis = draw_machines(scenes, figure.load, f"seed {next(iter(chosen.values())).seed}")
    except ConfigError as reason:
        raise NothingToDraw(str(reason)) from None
    return Drawing(canvas, f"Machine. {words}", basis, min(len(scenes), 2))


def _chosen(figure: MachineFigure, rows: list[PointRow]) -> dict[str, PointRow]:
    """Give the first row of each panel, of the least seed."""
    selected = [
        row
        for row in rows
        if row.experiment == figure.experiment
        and all(fulfils({**row.labels, "seed": row.seed}[name], wanted) for name, wanted in figure.where.items())
    ]
    if not selected:
        raise NothingToDraw("no point of the study is selected")
    of_label: dict[str, PointRow] = {}
    least = min(row.seed for row in selected)
    for row in selected:
        if row.seed == least:
            of_label.setdefault(label_text(row.labels[figure.columns]) if figure.columns else "", row)
    if len(of_label) > MAX_PANELS:
        raise NothingToDraw(f"{len(of_label)} machines side by side; choose at most {MAX_PANELS} by `where`")
    return of_label


def _scene(figure: MachineFigure, label: str, row: PointRow, point: Point, tables: Tables) -> Scene:
    machine = point.machine.build()
    try:
        holder = job_of_node(point, machine)
    except WorkloadError as reason:
        raise NothingToDraw(str(reason)) from None
    load = None if figure.load is None else _load(_COLUMN[figure.load], row.point_id, machine, tables)
    return Scene(machine, row.job_names, holder, load, f"{figure.columns}: {label}" if figure.columns else "")


def _load(column: str, point_id: str, machine: Machine, tables: Tables) -> Floats:
    """Give a number of each directed link, in the order of the machine."""
    rows = tables.link_loads[tables.link_loads["point_id"] == point_id].drop_duplicates(["class", "tail", "head"])
    if rows.empty:
        status = tables.points.loc[tables.points["point_id"] == point_id, "status"].iloc[0]
        raise NothingToDraw(f"point {point_id} ({status}) has no loads of links")
    assert (rows["tail"].to_numpy() == machine.link_tail).all() and (rows["head"].to_numpy() == machine.link_head).all()
    values = rows[column].to_numpy(dtype=np.float64)
    if np.isnan(values).any():
        raise NothingToDraw(f"engine {rows['engine'].iloc[0]} tells no {column}")
    return values
