"""The plan as a file: written by the rule `plan`, read by every later rule, none of which plans.

``plan.parquet`` has a row for each row of the plan, then one for each further point (baseline runs), with the parts
of the point as JSON; ``plan_schedules.parquet`` has a row for each run of a schedule.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from fabricstudy.core.columns import BASELINE_EXPERIMENT
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.kinds import extension_scope
from fabricstudy.core.parquet import read_parquet, write_parquet
from fabricstudy.engine.point import PlannedPoint
from fabricstudy.engine.point_file import (
    POINTS_FILE,
    WORKLOADS_FILE,
    Part,
    columns_of_point,
    part_reader,
    points_of,
    read_points_table,
    setup_of,
)
from fabricstudy.schedule.run import PlannedRun, RatioInputs, Run

from .model import Study
from .plan import Plan
from .schedules import RunRow, axes_of_schedules
from .sweep import PointRow

SCHEDULES_FILE = "plan_schedules.parquet"
PLAN_FILES = (POINTS_FILE, WORKLOADS_FILE, SCHEDULES_FILE)


def write_plan(
    plan: Plan, folder: Path, of_point: Callable[[PlannedPoint], Mapping[str, Any]],
    workloads: Sequence[Mapping[str, Any]] = (),
) -> None:  # fmt: skip
    """Write a plan into the folder ``results/<study>``.

    `of_point` returns further columns of a point, such as its batch; `workloads` have the id of each workload, a point
    and a job that have it, and its chunk.
    """
    write = cache(lambda model: model.model_dump_json())
    in_rows = {row.point_id for row in plan.rows}
    no_labels = dict.fromkeys(plan.axes)
    baselines = [
        PointRow(BASELINE_EXPERIMENT, no_labels, point.seed, name, (), tuple(job.name for job in point.jobs))
        for name, point in ((name, planned.point) for name, planned in plan.points.items() if name not in in_rows)
    ]
    further = {name: of_point(planned) for name, planned in plan.points.items()}
    rows = []
    for row in [*plan.rows, *baselines]:
        point = plan.points[row.point_id].point
        rows.append({
            "experiment": row.experiment, "seed": row.seed, "point_id": row.point_id,
            "machine_id": plan.points[row.point_id].machine_id, **further[row.point_id],
            **{f"axis.{name}": row.labels[name] for name in plan.axes},
            "job_names": row.job_names, "baseline_ids": row.baseline_ids,
            "keeps_links": row.point_id in plan.link_load_points, "is_drawn": row.point_id in plan.drawn_points,
            **columns_of_point(point, write),
        })  # fmt: skip
    setup = setup_of(plan.study.limits, plan.study.extensions)
    write_parquet(pa.Table.from_pylist(rows), folder / POINTS_FILE, setup)
    write_parquet(pa.table({name: [row[name] for row in workloads] for name in _OF_WORKLOAD}), folder / WORKLOADS_FILE)
    write_parquet(pa.Table.from_pylist(_schedule_rows(plan)), folder / SCHEDULES_FILE)


_OF_WORKLOAD = ("workload_id", "point_id", "job", "chunk")


def _schedule_rows(plan: Plan) -> list[dict[str, Any]]:
    rows = []
    for row in plan.run_rows:
        planned = plan.runs[f"{row.schedule} {row.run_id}"]
        rows.append({
            "schedule": row.schedule, "seed": row.seed, "run_id": row.run_id, "list_id": planned.list_id,
            **{f"axis.{name}": row.labels[name] for name in plan.run_axes}, "keeps_jobs": planned.keeps_jobs,
            "needs": json.dumps([[*key, asdict(needed)] for key, needed in planned.needs.items()]),
            "run": planned.run.model_dump_json(),
        })  # fmt: skip
    return rows


def read_plan(study: Study, folder: Path) -> Plan:
    """Read a plan that `write_plan` wrote. Raises FileNotFoundError if there is none."""
    part = part_reader(study.folder)
    cells_of_rows = read_points_table(folder / POINTS_FILE).to_pylist()
    with extension_scope(study.extension_package):
        points = dict(points_of(cells_of_rows, part))
        rows = [
            PointRow(
                cells["experiment"], _labels(cells, study.axes), cells["seed"], cells["point_id"],
                tuple(cells["baseline_ids"]), tuple(cells["job_names"]),
            )
            for cells in cells_of_rows
            if cells["experiment"] != BASELINE_EXPERIMENT
        ]  # fmt: skip
        run_rows, runs = _runs(study, read_parquet(folder / SCHEDULES_FILE).to_pylist(), part)
    machines = {planned.machine_id: planned.point.machine for planned in points.values()}
    return Plan(study, rows, points, machines, study.axes, run_rows, runs, axes_of_schedules(study.schedules))


def _labels(cells: Mapping[str, Any], axes: Sequence[str]) -> dict[str, Any]:
    try:
        return {name: cells[f"axis.{name}"] for name in axes}
    except KeyError as missing:
        problem = f"the plan has no column {missing}: the study was changed while it ran"
        raise FabricstudyError(f"{problem}; start Snakemake again", "study-changed") from None


def _runs(study: Study, rows: Sequence[Mapping[str, Any]], part: Part) -> tuple[list[RunRow], dict[str, PlannedRun]]:
    """Return rows and runs of schedules."""
    axes = axes_of_schedules(study.schedules)
    run_rows = [RunRow(row["schedule"], _labels(row, axes), row["seed"], row["run_id"]) for row in rows]
    runs = {}
    for row in rows:
        needs = {
            (number, nodes): RatioInputs(inputs["metric"], tuple(inputs["of"]), tuple(inputs["against"]))
            for number, nodes, inputs in json.loads(row["needs"])
        }
        ids = (row["schedule"], row["run_id"], row["list_id"])
        runs[f"{ids[0]} {ids[1]}"] = PlannedRun(*ids, part(Run, row["run"]), needs, study.folder, row["keeps_jobs"])
    return run_rows, runs
