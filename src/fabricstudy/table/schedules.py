"""Records of runs of schedules -> tables."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fabricstudy.core.columns import NOT_RUN, SCHEDULE_TABLES, TABLES, names_of
from fabricstudy.core.parquet import read_parquet
from fabricstudy.core.store import Record
from fabricstudy.study.plan import Plan
from fabricstudy.study.schedules import RunRow

from .schemas import labels, validated_table

_NO_RECORD: Record = {"status": NOT_RUN, "reason": "no record"}


def schedule_tables(
    plan: Plan, records: Mapping[str, Sequence[Record]], jobs: Iterable[Path] = ()
) -> dict[str, pd.DataFrame]:
    """Return the tables of a study's schedules, in the order of the plan; without schedules they are empty.

    `records` are those of runs and partition lists by schedule, `jobs` Parquet files of the jobs of some runs. Raises
    ConfigError if a record is not a result.
    """
    if not plan.run_rows:
        return {name: validated_table(name, pd.DataFrame(columns=names_of(name))) for name in SCHEDULE_TABLES}
    of_runs = {(name, row["run_id"]): row for name, rows in records.items() for row in rows if "run_id" in row}
    results = [of_runs.get((row.schedule, row.run_id), _NO_RECORD) for row in plan.run_rows]
    classes = [facts for record in results for facts in record.get("classes", ())]
    rows = [row for row, record in zip(plan.run_rows, results, strict=True) for _ in record.get("classes", ())]
    frames = {
        "schedules": _frame(plan, "schedules", plan.run_rows, results),
        "size_classes": _frame(plan, "size_classes", rows, classes),
        "partition_lists": _lists(plan, records),
        "scheduled_jobs": _jobs(plan, jobs),
    }
    return {name: validated_table(name, frames[name], plan.run_axes) for name in SCHEDULE_TABLES}


def _keys(plan: Plan, rows: Sequence[RunRow]) -> dict[str, Any]:
    axes = {axis: labels([row.labels[axis] for row in rows]) for axis in plan.run_axes}
    return {
        "schedule": [row.schedule for row in rows], **axes, "seed": [row.seed for row in rows],
        "run_id": [row.run_id for row in rows],
    }  # fmt: skip


def _frame(plan: Plan, table: str, rows: Sequence[RunRow], facts: Sequence[Record]) -> pd.DataFrame:
    keys = _keys(plan, rows)
    if table == "schedules":
        keys["list_id"] = [_list_id(plan, row) for row in rows]
    columns = {column.name: column.type for column in TABLES[table] if column.name not in keys}
    frame = pd.DataFrame({**keys, **{name: [fact.get(name) for fact in facts] for name in columns}})
    numbers = [name for name, kind in columns.items() if kind in ("count", "number")]
    return frame.assign(**{name: pd.to_numeric(frame[name]) for name in numbers})


def _list_id(plan: Plan, row: RunRow) -> str:
    return plan.runs[f"{row.schedule} {row.run_id}"].list_id


def _lists(plan: Plan, records: Mapping[str, Sequence[Record]]) -> pd.DataFrame:
    """Return one row per size class of each list of each schedule, with the labels that all of its runs share."""
    runs_of: dict[tuple[str, str], list[RunRow]] = {}
    for row in plan.run_rows:
        runs_of.setdefault((row.schedule, _list_id(plan, row)), []).append(row)
    classes = {(name, row["list"]): row["classes"] for name, rows in records.items() for row in rows if "list" in row}
    rows = []
    for (schedule, list_id), runs in runs_of.items():
        on_axis = {axis: {run.labels[axis] for run in runs} for axis in plan.run_axes}
        shared = {axis: distinct.pop() if len(distinct) == 1 else None for axis, distinct in on_axis.items()}
        head = {"schedule": schedule, **shared, "seed": None, "list_id": list_id}
        rows += [{**head, **facts} for facts in classes.get((schedule, list_id), ())]
    frame = pd.DataFrame(rows, columns=[*plan.run_axes, *names_of("partition_lists")])
    axes = {axis: labels(frame[axis].tolist()) for axis in plan.run_axes}
    return frame.assign(seed=pd.to_numeric(frame["seed"]), **axes)


def _jobs(plan: Plan, files: Iterable[Path]) -> pd.DataFrame:
    """Return the jobs with the labels of their run; a run with several labels has a row for each of them."""
    keys = pd.DataFrame(_keys(plan, plan.run_rows))
    parts = [read_parquet(file).to_pandas().assign(schedule=schedule_of(file)) for file in sorted(files)]
    filled = [part for part in parts if len(part)]
    empty = pd.DataFrame(columns=[name for name in names_of("scheduled_jobs") if name != "seed"])
    jobs = pd.concat(filled, ignore_index=True) if filled else empty.astype({"schedule": str, "run_id": str})
    return keys.merge(jobs, on=["schedule", "run_id"], how="inner")


def schedule_of(file: Path) -> str:
    """Return the schedule of a file of runs."""
    return file.stem.rpartition("-")[0]
