"""Tables from the records of points and the structures of machines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from fabricstudy.core import columns
from fabricstudy.core.columns import (
    BASELINE_EXPERIMENT,
    LINK_LOAD_TABLE,
    NOT_NEEDED,
    SIZES_OF_MACHINE,
    TABLES,
    names_of,
)
from fabricstudy.core.parquet import read_parquet
from fabricstudy.core.store import Record
from fabricstudy.study.plan import Plan

from .agreement import agreement, engine_axes, verdicts
from .claims import judge
from .files import Tables
from .point_records import ColumnBuilder, PointRecords
from .predictors import non_mapping_axes, predictors
from .repetitions import repetition_rows
from .schedules import schedule_tables
from .schemas import labels, validated_table
from .screening import screening_table

BASELINE_ID = "(baseline)"
"""Column of the point that is the baseline run of a job."""

_COMPUTED = {
    "points": (),
    "jobs": (
        "job_name", "background", "communication_ns", "baseline_ns", "slowdown", "over_bound", "over_phase_bound",
        "over_critical_path", "message_mean_slowdown", "message_p99_slowdown", "rate_Bps", "hops_mean",
        "hops_routed", "hop_bytes_over_bound",
    ),
    "marks": ("job_name",),
    "operations": (),
    "messages": ("job_name", "time_ns", "over_least"),
    "links": ("load_used_bytes", "imbalance"),
    "latency": (),
}  # fmt: skip
"""Tables with rows from records, and their columns that are in no record."""

_OF_BASELINE = {
    "baseline_ns": "runtime_ns",
    "baseline_message_mean_ns": "message_mean_ns",
    "baseline_message_p99_ns": "message_p99_ns",
}
"""Columns with the times of the baseline run, by their columns there."""

_OF_PLAN = ("background", "job_name", BASELINE_ID, *_OF_BASELINE)


def collect(
    plan: Plan,
    records: Iterable[Record],
    structures: Iterable[Record],
    analyses: Mapping[str, pd.DataFrame] = MappingProxyType({}),
    schedules: Mapping[str, pd.DataFrame] | None = None,
    links: Iterable[Path] = (),
) -> Tables:
    """Build and check all tables of a study, in the order of the plan's rows.

    Records of points outside the plan are left out; of several records of a point, the last complete one is
    used. `schedules` is the result of `schedule_tables`, `links` are files of link loads. Raises
    ConfigError if a record is not a result.
    """
    axes = list(plan.axes)
    keys = _keys(plan)
    in_records = {
        table: [name for name in names_of(table) if name not in keys and name not in computed]
        for table, computed in _COMPUTED.items()
    }
    of_points = PointRecords(records, plan.points, in_records)
    whole, unneeded = plan, of_points.with_status(NOT_NEEDED)
    if unneeded:
        plan = plan.without(unneeded)
        keys = _keys(plan)
    frames = {
        "points": pd.concat([keys, of_points.facts(keys["point_id"])], axis=1),
        "jobs": _jobs(plan, keys, of_points),
        **{table: _rows_of(plan, keys, table, of_points) for table in ("marks", "operations", "latency")},
        "messages": _messages(_rows_of(plan, keys, "messages", of_points)),
        "links": _links(_rows_of(plan, keys, "links", of_points)),
        "machines": _machines(plan, keys, structures),
    }
    frames["jobs"] = frames["jobs"].assign(hops_routed=_hops_routed(frames["jobs"], frames["links"]))
    frames[LINK_LOAD_TABLE] = link_load_rows(plan, keys, links)
    del of_points
    frames["interference"] = _interference(frames["jobs"], ["experiment", *axes, "engine", "job"])
    frames["agreement"] = agreement(plan, frames["jobs"])
    frames["predictors"] = predictors(plan, keys, frames["jobs"])
    of_engine = engine_axes(plan)
    axes_in = {
        "machines": _machine_axes(keys, axes),
        "agreement": [name for name in axes if name not in of_engine],
        "predictors": non_mapping_axes(plan),
    }
    # Each frame is freed when its table is made.
    tables = {name: validated_table(name, frames.pop(name), axes_in.get(name, axes)) for name in list(frames)}
    scheduled = schedule_tables(plan, {}) if schedules is None else schedules
    unjudged = Tables(**tables, **scheduled, analyses=dict(analyses))
    repetitions, orders = repetition_rows(plan.study, unjudged)
    decided = {"repetitions": repetitions, "orders": orders, "screening": screening_table(whole, unjudged)}
    made: dict[str, Any] = {name: validated_table(name, frame, axes) for name, frame in decided.items()}
    return replace(
        unjudged,
        **made,
        claims=validated_table("claims", judge(plan.study.claims, unjudged)),
        verdicts=validated_table("verdicts", verdicts(plan.study.claims, unjudged)),
    )


def _keys(plan: Plan) -> pd.DataFrame:
    """Return one row for each row of the plan, then one for each baseline run."""
    in_rows = {row.point_id for row in plan.rows}
    baselines = [point_id for point_id in plan.points if point_id not in in_rows]
    ids = [row.point_id for row in plan.rows] + baselines
    points = [plan.points[point_id] for point_id in ids]
    frame = {
        "experiment": [row.experiment for row in plan.rows] + [BASELINE_EXPERIMENT] * len(baselines),
        "engine": [planned.point.engine.kind for planned in points],
        "seed": [row.seed for row in plan.rows] + [plan.points[name].point.seed for name in baselines],
        "point_id": ids,
        "machine_id": [planned.machine_id for planned in points],
    }
    # An axis with the name `engine` is the key itself, which baseline runs have, too.
    for axis in (axis for axis in plan.axes if axis not in frame):
        frame[axis] = labels([row.labels.get(axis) for row in plan.rows] + [None] * len(baselines))
    return pd.DataFrame(frame)


def _joined(table: str, keys: pd.DataFrame, rows: list[int], facts: pd.DataFrame) -> pd.DataFrame:
    """Join rows of the keys with facts; columns of numbers, which may be all None, become numeric."""
    frame = pd.concat([keys.iloc[rows].reset_index(drop=True), facts], axis=1)
    names = [column.name for column in TABLES[table] if column.type != "text" and column.name in frame]
    return frame.assign(**{name: pd.to_numeric(frame[name]) for name in names})


def _jobs(plan: Plan, keys: pd.DataFrame, records: PointRecords) -> pd.DataFrame:
    planned_rows: list[int] = []
    rows: list[int] = []
    of_plan = ColumnBuilder(_OF_PLAN)
    for index, row in enumerate(plan.rows):
        for record_row in records.rows_of("jobs", row.point_id):
            planned_rows.append(index)
            rows.append(record_row)
            job = records["jobs"]["job"][record_row]
            baseline_id = row.baseline_ids[job] if job < len(row.baseline_ids) else None
            # In a baseline run earlier jobs are idle and later ones are omitted, so its number is the same.
            baseline = (r for r in records.rows_of("jobs", baseline_id) if records["jobs"]["job"][r] == job)
            baseline_row = next(baseline, None)
            times = (
                None if baseline_row is None else records["jobs"][name][baseline_row] for name in _OF_BASELINE.values()
            )
            background = plan.points[row.point_id].point.jobs[job].background
            facts = (background, row.job_names[job], baseline_id, *times)
            of_plan.add(dict(zip(_OF_PLAN, facts, strict=True)))
    frames = [records["jobs"].frame(rows), of_plan.frame(range(len(rows)))]
    jobs = _joined("jobs", keys, planned_rows, pd.concat(frames, axis=1))
    # A record has the compute time of a job only if it computes; of background jobs it is unknown.
    compute_ns = jobs["compute_ns"].fillna(0.0).where(~jobs["background"].astype(bool))
    return jobs.assign(
        compute_ns=compute_ns,
        # Engines round times, so that the compute time may be slightly above the runtime.
        communication_ns=(jobs["runtime_ns"] - compute_ns).clip(lower=0.0),
        over_bound=_ratio(jobs["runtime_ns"], jobs["bound_ns"]),
        over_phase_bound=_ratio(jobs["runtime_ns"], jobs["phase_bound_ns"]),
        over_critical_path=_ratio(jobs["runtime_ns"], jobs["critical_path_ns"]),
        slowdown=_ratio(jobs["runtime_ns"], jobs["baseline_ns"]),
        message_mean_slowdown=_ratio(jobs["message_mean_ns"], jobs["baseline_message_mean_ns"]),
        message_p99_slowdown=_ratio(jobs["message_p99_ns"], jobs["baseline_message_p99_ns"]),
        rate_Bps=_ratio(jobs["bytes"], jobs["runtime_ns"] * 1e-9),
        hops_mean=_ratio(jobs["hop_bytes"], jobs["bytes"]),
        hop_bytes_over_bound=_ratio(jobs["hop_bytes"], jobs["hop_bytes_bound"]),
    )


def _hops_routed(jobs: pd.DataFrame, links: pd.DataFrame) -> pd.Series[Any]:
    """Return the bytes on the links between routers over the bytes sent, of jobs that are alone in their points."""
    busy = jobs[jobs["bytes"] > 0].drop_duplicates(["point_id", "job"])
    of_points = busy["background"].astype(bool).groupby(busy["point_id"])
    alone = (of_points.size() == 1) & ~of_points.any()
    of_links = links.drop_duplicates(["point_id", "class"])
    loads = (of_links["load_mean_bytes"] * of_links["links"]).groupby(of_links["point_id"]).sum()
    return _ratio(jobs["point_id"].map(loads.where(alone.reindex(loads.index, fill_value=False))), jobs["bytes"])


def _ratio(of: pd.Series[Any], against: pd.Series[Any]) -> pd.Series[Any]:
    return of.astype(float) / against.astype(float).where(against > 0, np.nan)


def _rows_of(plan: Plan, keys: pd.DataFrame, table: str, records: PointRecords) -> pd.DataFrame:
    """Return the rows of the points of a plan in a table with any number of rows per point."""
    planned_rows: list[int] = []
    rows: list[int] = []
    for index, row in enumerate(plan.rows):
        of_point = records.rows_of(table, row.point_id)
        planned_rows += [index] * len(of_point)
        rows += of_point
    joined = _joined(table, keys, planned_rows, records[table].frame(rows))
    if "job_name" in names_of(table):
        names = zip(planned_rows, joined["job"], strict=True)
        return joined.assign(job_name=labels([plan.rows[index].job_names[int(job)] for index, job in names]))
    return joined


def _links(links: pd.DataFrame) -> pd.DataFrame:
    return links.assign(
        load_used_bytes=_ratio(links["load_mean_bytes"] * links["links"], links["used"]),
        imbalance=_ratio(links["load_max_bytes"], links["load_mean_bytes"]),
    )


def _messages(messages: pd.DataFrame) -> pd.DataFrame:
    time_ns = messages["arrived_ns"] - messages["started_ns"]
    return messages.assign(time_ns=time_ns, over_least=_ratio(time_ns, messages["least_ns"]))


def link_load_rows(plan: Plan, keys: pd.DataFrame, files: Iterable[Path]) -> pd.DataFrame:
    """Return a row for each directed link of each done point of the experiments in `link_loads` of the study."""
    columns = list(dict.fromkeys([*keys, *names_of(LINK_LOAD_TABLE)]))
    tables = [read_parquet(path) for path in files] if plan.study.link_loads else []
    if not tables:
        return pd.DataFrame(columns=columns)
    planned = keys[keys["experiment"].isin(plan.study.link_loads)]
    links = pa.concat_tables(tables).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    return planned.merge(links, on="point_id", how="inner")[columns]


def _interference(jobs: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return the jobs that shared the machine with another communicating job; `keys` identify them except for seeds.

    A slowdown counts as below 1 if its median over the seeds of the point is below 1 by more than their range; with one
    seed, the run-to-run variation is unknown.
    """
    busy = jobs[jobs["messages"] > 0]
    together = busy.groupby(["point_id", "experiment"])["job"].transform("nunique") > 1
    rows = busy[together & ~busy["background"].astype(bool)]
    slowdown = rows["slowdown"].astype(float)
    of_point: Any = slowdown.groupby([rows[key] for key in keys], dropna=False)
    low, high, median = (of_point.transform(name) for name in ("min", "max", "median"))
    below = (median + (high - low) < 1 - columns.MIN_DIFFERENCE).astype("boolean").where(median.notna())
    # Jobs with the same baseline run are the same job on the same nodes, with different neighbours.
    times = rows.groupby(["experiment", BASELINE_ID])["runtime_ns"]
    variation = (times.transform("max") - times.transform("min")) / times.transform("median")
    variation = variation.where(times.transform("size") > 1)
    return rows.assign(variation=variation, slowdown_low=low, slowdown_high=high, below_one=below)


def _machine_axes(keys: pd.DataFrame, axes: list[str]) -> list[str]:
    """Return the axes with one label for each machine, such as its bandwidth, but not the same for all machines."""
    by_machine = keys[keys["experiment"] != BASELINE_EXPERIMENT].groupby(["experiment", "machine_id"])
    varied = [axis for axis in axes if keys[axis].nunique() > 1 or len(by_machine) == 1]
    return [axis for axis in varied if (by_machine[axis].nunique(dropna=False) == 1).all()]


def _machines(plan: Plan, keys: pd.DataFrame, structures: Iterable[Record]) -> pd.DataFrame:
    by_id = {structure["machine_id"]: structure for structure in structures}
    machines = pd.DataFrame({"machine_id": [name for name in plan.machines if name in by_id]})
    facts = [by_id[name] for name in machines["machine_id"]]
    for name in ("kind", *SIZES_OF_MACHINE):
        machines[name] = [fact[name] for fact in facts]
    for name in ("lower_Bps", "upper_Bps", "exact", "method"):
        machines[f"bisection_{name}"] = [fact["bisection"][name] for fact in facts]
    machines["bisection_Bps"] = machines["bisection_upper_Bps"].where(machines["bisection_exact"].astype(bool))
    # Each experiment labels a machine on some of the axes; the first label of each axis counts.
    labelled = keys.drop(columns=["experiment", "engine", "seed", "point_id"])
    return machines.merge(labelled.groupby("machine_id", as_index=False).first(), on="machine_id", how="left")
