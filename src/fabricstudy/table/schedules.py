"""Records of runs of schedules -> tables."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fabricstudy.core.columns import NOT_RUN, SCHEDULE_TABLES, TABLES, names_of
from fabricstudy.study.plan import Plan
from fabricstudy.study.schedules import RunRow

from .schemas import labels, validated_table

Record = Mapping[str, Any]

_NO_RECORD: Record = {"status": NOT_RUN, "reason": "no record"}


def schedule_tables(
    plan: Plan, records: Mapping[str, Sequence[Record]], jobs: Iterable[Path] = ()
) -> dict[str, pd.DataFrame]:
    """Return the tables of a study's schedules, in the order of the plan; without schedules they have no rows.

    `records` are those of runs and of lists of partitions by schedule, `jobs` Parquet files of the jobs of some runs.
    Raises pandera.errors.SchemaErrors if a record is not a result.
    """
    if not plan.run_rows:
        return {name: validated_table(name, pd.DataFrame(columns=names_of(name))) for name in SCHEDULE_TABLES}
    of_runs = {(name, row["run_id"]): row for name, rows in records.items() for row in rows if "run_id" in row}
    results = [of_runs.get((row.schedule, row.run_id), _NO_RECORD) for row in plan.run_rows]
    classes = [
        (row, facts) for row, record in zip(plan.run_rows, results, strict=True) for facts in record.get("classes", ())
    ]
    frames = {
        "schedules": _frame(plan, "schedules", plan.run_rows, results),
        "size_classes": _frame(plan, "size_classes", [row for row, _ in classes], [facts for _, facts in classes]),
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
    own = {one.name: one for one in TABLES[table] if one.name not in keys}
    if table == "schedules":
        keys["list_id"] = [plan.runs[f"{row.schedule} {row.run_id}"].list_id for row in rows]
    frame = pd.DataFrame({**keys, **{name: [fact.get(name) for fact in facts] for name in own if name not in keys}})
    numbers = [name for name, one in own.items() if one.type in ("count", "number")]
    return frame.assign(**{name: pd.to_numeric(frame[name]) for name in numbers})


def _lists(plan: Plan, records: Mapping[str, Sequence[Record]]) -> pd.DataFrame:
    """Return one row a size class of each list of each schedule, with the labels that all of its runs share."""
    order: dict[tuple[str, str], list[RunRow]] = {}
    for row in plan.run_rows:
        order.setdefault((row.schedule, plan.runs[f"{row.schedule} {row.run_id}"].list_id), []).append(row)
    known = {(name, one["list"]): one["classes"] for name, rows in records.items() for one in rows if "list" in one}
    rows = []
    for (schedule, own), runs in order.items():
        on_axis = {axis: {run.labels[axis] for run in runs} for axis in plan.run_axes}
        shared = {axis: found.pop() if len(found) == 1 else None for axis, found in on_axis.items()}
        head = {"schedule": schedule, **shared, "seed": None, "list_id": own}
        rows += [{**head, **facts} for facts in known.get((schedule, own), ())]
    frame = pd.DataFrame(rows, columns=[*plan.run_axes, *names_of("partition_lists")])
    axes = {axis: labels(frame[axis].tolist()) for axis in plan.run_axes}
    return frame.assign(seed=pd.to_numeric(frame["seed"]), **axes)


def _jobs(plan: Plan, files: Iterable[Path]) -> pd.DataFrame:
    """Return the jobs with the labels of their run; a run with several labels has a row for each of them."""
    keys = pd.DataFrame(_keys(plan, plan.run_rows))
    parts = [pd.read_parquet(file).assign(schedule=schedule_of(file)) for file in sorted(files)]
    known = [part for part in parts if len(part)]
    empty = pd.DataFrame(columns=[name for name in names_of("scheduled_jobs") if name != "seed"])
    jobs = pd.concat(known, ignore_index=True) if known else empty.astype({"schedule": str, "run_id": str})
    return keys.merge(jobs, on=["schedule", "run_id"], how="inner")


def schedule_of(file: Path) -> str:
    """Return the schedule of a file of runs."""
    return file.stem.rpartition("-")[0]
