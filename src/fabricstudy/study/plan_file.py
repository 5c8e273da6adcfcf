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
from fabricstudy.core.model import Model
from fabricstudy.core.parquet import read_parquet, write_parquet
from fabricstudy.core.quantities import BASE_UNITS_CONTEXT
from fabricstudy.engine.point import PlannedPoint, Point
from fabricstudy.schedule.run import PlannedRun, RatioInputs, Run
from fabricstudy.workload.job import Job
from fabricstudy.workload.offered import Offered

from .model import Study
from .plan import Plan
from .schedules import RunRow, axes_of_schedules
from .sections import SECTIONS
from .sweep import PointRow

PLAN_FILES = ("plan.parquet", "plan_workloads.parquet", "plan_schedules.parquet")
POINTS_FILE, WORKLOADS_FILE, SCHEDULES_FILE = PLAN_FILES


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
            **{f"point.{name}": write(getattr(point, name)) for name in SECTIONS},
            "point.jobs": [write(job) for job in point.jobs],
            "point.offered": None if point.offered is None else write(point.offered),
        })  # fmt: skip
    write_parquet(pa.Table.from_pylist(rows), folder / POINTS_FILE)
    write_parquet(pa.table({name: [row[name] for row in workloads] for name in _OF_WORKLOAD}), folder / WORKLOADS_FILE)
    write_parquet(pa.Table.from_pylist(_schedule_rows(plan)), folder / SCHEDULES_FILE)


_OF_WORKLOAD = ("workload_id", "point_id", "job", "chunk")


def read_workloads(folder: Path, chunk: str) -> dict[str, dict[int, str]]:
    """Return the workloads of a chunk: by point and by position of the job, its id."""
    workloads: dict[str, dict[int, str]] = {}
    for row in read_parquet(folder / WORKLOADS_FILE, [("chunk", "=", chunk)]).to_pylist():
        workloads.setdefault(row["point_id"], {})[row["job"]] = row["workload_id"]
    return workloads


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


def read_plan(study: Study, folder: Path, batch: str | None = None, only: Sequence[str] | None = None) -> Plan:
    """Read a plan that `write_plan` wrote; with `batch` or `only` just these points.

    Raises FileNotFoundError if there is none.
    """
    rows: list[PointRow] = []
    points: dict[str, PlannedPoint] = {}
    chosen = [*([("batch", "=", batch)] if batch else []), *([("point_id", "in", only)] if only else [])]
    context = {**BASE_UNITS_CONTEXT, "files_in": str(study.folder.resolve())}
    # Each distinct part is checked once: points share most of their parts.
    part = cache(lambda model, text: model.model_validate(json.loads(text), context=context))
    with extension_scope(study.extension_package):
        for cells in read_parquet(folder / POINTS_FILE, chosen).to_pylist():
            name = cells["point_id"]
            if name not in points:
                points[name] = PlannedPoint(name, cells["machine_id"], _point(cells, part))
            if cells["experiment"] != BASELINE_EXPERIMENT:
                ids, names = tuple(cells["baseline_ids"]), tuple(cells["job_names"])
                rows.append(PointRow(cells["experiment"], _labels(cells, study.axes), cells["seed"], name, ids, names))
        run_rows, runs = _runs(study, read_parquet(folder / SCHEDULES_FILE).to_pylist(), part)
    machines = {planned.machine_id: planned.point.machine for planned in points.values()}
    return Plan(study, rows, points, machines, study.axes, run_rows, runs, axes_of_schedules(study.schedules))


def _labels(cells: Mapping[str, Any], axes: Sequence[str]) -> dict[str, Any]:
    try:
        return {name: cells[f"axis.{name}"] for name in axes}
    except KeyError as missing:
        problem = f"the plan has no column {missing}: the study was changed while it ran"
        raise FabricstudyError(f"{problem}; start Snakemake again", "study-changed") from None


def _point(cells: Mapping[str, Any], part: Callable[[type[Model], str], Any]) -> Point:
    """Return the point of a row."""
    sections: dict[str, Any] = {name: part(model, cells[f"point.{name}"]) for name, model in SECTIONS.items()}
    sections["jobs"] = tuple(part(Job, text) for text in cells["point.jobs"])
    offered = cells["point.offered"]
    sections["offered"] = None if offered is None else part(Offered, offered)
    return Point.model_construct(set(Point.model_fields), **sections, seed=cells["seed"])


def _runs(
    study: Study, rows: Sequence[Mapping[str, Any]], part: Callable[[type[Model], str], Any]
) -> tuple[list[RunRow], dict[str, PlannedRun]]:
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
