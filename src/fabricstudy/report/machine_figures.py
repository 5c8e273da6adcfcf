"""Figures of the machines of single points, with their jobs and simulated link loads."""

import numpy as np

from fabricstudy.core.arrays import Floats, Int32s
from fabricstudy.core.model import ConfigError
from fabricstudy.engine.point import Point
from fabricstudy.machine.definitions import read_machine
from fabricstudy.machine.graph import Machine
from fabricstudy.study.figures import JobsFigure, MachineFigure
from fabricstudy.study.plan import Plan, rows_of_figure
from fabricstudy.study.sweep import PointRow
from fabricstudy.table.files import Tables
from fabricstudy.table.select import label_text
from fabricstudy.workload.allocation.base import NO_JOB
from fabricstudy.workload.definitions import WorkloadIds, read_placements
from fabricstudy.workload.placing import Placement

from .figure_style import Drawing, InputFiles, NothingToDraw
from .machine_picture import Scene, draw_machines

MAX_PANELS = 8
"""More machines side by side cannot be read."""

_COLUMN = {"bytes": "load_bytes", "stall": "stall_ns"}


def draw_machine_figure(figure: MachineFigure, tables: Tables, plan: Plan, inputs: InputFiles) -> Drawing:
    """Draw the machines of points."""
    chosen = drawn_points(figure, plan, MAX_PANELS, "machines side by side")
    scenes = []
    for title, row in chosen.items():
        planned = plan.points[row.point_id]
        machine = read_machine(inputs.machines, planned.machine_id)
        holder = _holder(planned.point, machine, inputs)
        load = None if figure.load is None else _load(_COLUMN[figure.load], row.point_id, machine, tables)
        scenes.append(Scene(machine, row.job_names, holder, load, title))
    try:
        canvas, description, basis = draw_machines(scenes, figure.load, f"seed {next(iter(chosen.values())).seed}")
    except ConfigError as reason:
        raise NothingToDraw(str(reason)) from None
    return Drawing(canvas, f"Machine. {description}", basis, min(len(scenes), 2))


def drawn_points(figure: MachineFigure | JobsFigure, plan: Plan, most: int, noun: str) -> dict[str, PointRow]:
    """Return the point of each panel by its title. Raises NothingToDraw without any, or above `most` of them."""
    rows = {label: panel[0] for label, panel in rows_of_figure(figure, plan.rows).items()}
    if not rows:
        raise NothingToDraw("no point of the study is selected")
    if len(rows) > most:
        raise NothingToDraw(f"{len(rows)} {noun}; choose at most {most} by `where`")
    return {f"{figure.columns}: {label_text(label)}" if figure.columns else "": row for label, row in rows.items()}


def _holder(point: Point, machine: Machine, inputs: InputFiles) -> Int32s:
    """Return the job of each node, `NO_JOB` if idle, int32 [nodes]."""
    ids = WorkloadIds().of(point)
    placed = read_placements(inputs.workloads, ids)
    holder = np.full(machine.nodes, NO_JOB, dtype=np.int32)
    for index, identity in enumerate(ids):
        placement = placed[identity]
        if not isinstance(placement, Placement):
            raise NothingToDraw(str(placement))
        holder[placement.node_of_rank] = index
    return holder


def _load(column: str, point_id: str, machine: Machine, tables: Tables) -> Floats:
    """Return a column of each directed link, float64 [links]."""
    rows = tables.link_loads[tables.link_loads["point_id"] == point_id].drop_duplicates(["class", "tail", "head"])
    if rows.empty:
        status = tables.points.loc[tables.points["point_id"] == point_id, "status"].iloc[0]
        raise NothingToDraw(f"point {point_id} ({status}) has no link loads")
    assert (rows["tail"].to_numpy() == machine.link_tail).all() and (rows["head"].to_numpy() == machine.link_head).all()
    values = rows[column].to_numpy(dtype=np.float64)
    if np.isnan(values).any():
        raise NothingToDraw(f"engine {rows['engine'].iloc[0]} does not report {column}")
    return values
