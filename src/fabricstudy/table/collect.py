"""Records of points and structures of machines -> tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from fabricstudy.columns import ALONE, BY_LINK, DONE, SIZES_OF_MACHINE, TABLES, names_of
from fabricstudy.store import Store
from fabricstudy.study.plan import Plan

from .agreement import agreement, engine_axes, verdicts
from .claims import judge
from .link_loads import link_loads
from .noise import with_noise
from .predictors import axes_left, predictors
from .schemas import checked, checked_analysis, labels
from .store import Tables

Record = Mapping[str, Any]

ALONE_ID = "(alone point)"
"""Column of the point in which a job runs by itself."""

_COMPUTED = frozenset(
    {"job_name", "alone_ns", "over_bound", "over_phase_bound", "slowdown", "rate_Bps", "hops_mean", "load_used_bytes"}
    | {"communication_ns", "hop_bytes_over_bound", "imbalance", "background"}
)
"""Columns of jobs and links that no record holds."""

_OF_PLAN = ("background", "job_name", "alone_ns", ALONE_ID)


def collect(
    plan: Plan,
    records: Iterable[Record],
    structures: Iterable[Record],
    analyses: Mapping[str, Sequence[Record]] = MappingProxyType({}),
    schedules: Mapping[str, pd.DataFrame] = MappingProxyType({}),
    points: Store | None = None,
) -> Tables:
    """Build all tables of a study.

    Parameters
    ----------
    plan : Plan
        What was to run; its rows give the order of the tables.
    records : iterable of mappings
        Records of points; those of points outside the plan are left out. Of two of one point the last done one counts.
    structures : iterable of mappings
        Structures of machines.
    analyses : mapping, optional
        Rows of the named analyses.
    schedules : mapping, optional
        The tables of its schedules, as `schedule_tables` gives them.
    points : Store, optional
        Finished simulations, which a study that asks for its links one by one needs.

    Returns
    -------
    Tables
        Checked frames.

    Raises
    ------
    pandera.errors.SchemaErrors
        If a record holds something that is not a result.
    TableError
        If links are asked for one by one, and the store has lost them.
    """
    by_id = _latest(record for record in records if record["point_id"] in plan.points)
    axes = list(plan.axes)
    keys = _keys(plan)
    frames = {
        "points": _points(keys, by_id),
        "jobs": _jobs(plan, keys, by_id),
        "links": _links(plan, keys, by_id),
        "machines": _machines(plan, keys, structures),
    }
    if plan.study.link_loads:
        frames[BY_LINK] = link_loads(plan, keys, by_id, points)
    frames["interference"] = _interference(frames["jobs"], by_id)
    frames["agreement"] = agreement(plan, frames["jobs"])
    frames["predictors"] = predictors(plan, keys, frames["jobs"])
    of_engine = engine_axes(plan)
    axes_in = {
        "machines": _machine_axes(keys, axes),
        "agreement": [name for name in axes if name not in of_engine],
        "predictors": axes_left(plan),
    }
    tables = {name: checked(name, frames[name], axes_in.get(name, axes)) for name in frames}
    named = {name: checked_analysis(plan.study.analyses[name], rows) for name, rows in analyses.items()}
    unjudged = Tables(**tables, **schedules, analyses=named)
    return replace(
        unjudged,
        claims=checked("claims", judge(plan.study.claims, unjudged)),
        verdicts=checked("verdicts", verdicts(plan.study.claims, unjudged)),
    )


def _latest(records: Iterable[Record]) -> dict[str, Record]:
    by_id: dict[str, Record] = {}
    for record in records:
        earlier = by_id.get(record["point_id"])
        if earlier is None or record["status"] == DONE or earlier["status"] != DONE:
            by_id[record["point_id"]] = record
    return by_id


def _keys(plan: Plan) -> pd.DataFrame:
    """One row a plan row, then one a point that runs only for its time alone."""
    in_rows = {row.point_id for row in plan.rows}
    only_alone = [point_id for point_id in plan.points if point_id not in in_rows]
    ids = [row.point_id for row in plan.rows] + only_alone
    points = [plan.points[point_id] for point_id in ids]
    nothing = [None] * len(only_alone)
    frame = {
        "experiment": [row.experiment for row in plan.rows] + [ALONE] * len(only_alone),
        "engine": [planned.point.engine.kind for planned in points],
        "seed": [row.seed for row in plan.rows] + [plan.points[name].point.seed for name in only_alone],
        "point_id": ids,
        "machine_id": [planned.machine_id for planned in points],
    }
    # An axis that is called `engine` is the key itself, which points that run alone have, too.
    for axis in (axis for axis in plan.axes if axis not in frame):
        frame[axis] = labels([row.labels.get(axis) for row in plan.rows] + nothing)
    return pd.DataFrame(frame)


def _points(keys: pd.DataFrame, by_id: Mapping[str, Record]) -> pd.DataFrame:
    none: Record = {"status": "missing", "reason": "no record"}
    records = [by_id.get(point_id, none) for point_id in keys["point_id"]]
    facts = {name: [record.get(name) for record in records] for name in _facts("points", keys)}
    return pd.concat([keys, pd.DataFrame(facts, dtype=object)], axis=1)


def _expand(keys: pd.DataFrame, at: list[int], rows: list[dict[str, Any]], columns: tuple[str, ...]) -> pd.DataFrame:
    """Repeat the keys' rows `at` and put the columns of `rows` beside them."""
    facts = pd.DataFrame(rows, columns=list(columns))
    return pd.concat([keys.iloc[at].reset_index(drop=True), facts], axis=1)


def _facts(table: str, keys: pd.DataFrame) -> tuple[str, ...]:
    """Columns of a table that the records of points hold."""
    return tuple(name for name in names_of(table) if name not in _COMPUTED and name not in keys)


def _numeric(table: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Make numbers of the columns that may hold nothing but None."""
    names = [one.name for one in TABLES[table] if one.type != "text" and one.name in frame]
    return frame.assign(**{name: pd.to_numeric(frame[name]) for name in names})


def _jobs(plan: Plan, keys: pd.DataFrame, by_id: Mapping[str, Record]) -> pd.DataFrame:
    at: list[int] = []
    rows: list[dict[str, Any]] = []
    for index, row in enumerate(plan.rows):
        for job in _done(by_id, row.point_id).get("jobs", ()):
            at.append(index)
            alone_id = row.alone_ids[job["job"]] if job["job"] < len(row.alone_ids) else None
            alone_ns = _alone_ns(alone_id, job["job"], by_id)
            background = plan.points[row.point_id].point.jobs[job["job"]].background
            own = (background, row.job_names[job["job"]], alone_ns, alone_id)
            rows.append({**job, **dict(zip(_OF_PLAN, own, strict=True))})
    jobs = _numeric("jobs", _expand(keys, at, rows, (*_facts("jobs", keys), *_OF_PLAN)))
    # A record says what a job computes only if it does; in the background that is not known.
    compute_ns = jobs["compute_ns"].fillna(0.0).where(~jobs["background"].astype(bool))
    return jobs.assign(
        compute_ns=compute_ns,
        # Engines round times, so what a job computes may be a little more than its time.
        communication_ns=(jobs["runtime_ns"] - compute_ns).clip(lower=0.0),
        over_bound=_ratio(jobs["runtime_ns"], jobs["bound_ns"]),
        over_phase_bound=_ratio(jobs["runtime_ns"], jobs["phase_bound_ns"]),
        slowdown=_ratio(jobs["runtime_ns"], jobs["alone_ns"]),
        rate_Bps=_ratio(jobs["bytes"], jobs["runtime_ns"] * 1e-9),
        hops_mean=_ratio(jobs["hop_bytes"], jobs["bytes"]),
        hop_bytes_over_bound=_ratio(jobs["hop_bytes"], jobs["hop_bytes_bound"]),
    )


def _done(by_id: Mapping[str, Record], point_id: str | None) -> Record:
    record = by_id.get(point_id or "", {})
    return record if record.get("status") == DONE else {}


def _alone_ns(alone_id: str | None, job: int, by_id: Mapping[str, Record]) -> float | None:
    # In an alone point the jobs before this one are idle and later ones are left out, so the number stays.
    alone = _done(by_id, alone_id)
    times = [other["runtime_ns"] for other in alone.get("jobs", ()) if other["job"] == job]
    return times[0] if times else None


def _ratio(of: pd.Series[Any], against: pd.Series[Any]) -> pd.Series[Any]:
    return of.astype(float) / against.astype(float).where(against > 0, np.nan)


def _links(plan: Plan, keys: pd.DataFrame, by_id: Mapping[str, Record]) -> pd.DataFrame:
    at: list[int] = []
    rows: list[dict[str, Any]] = []
    for index, row in enumerate(plan.rows):
        links = _done(by_id, row.point_id).get("links") or ()
        at += [index] * len(links)
        rows += links
    links = _numeric("links", _expand(keys, at, rows, _facts("links", keys)))
    return links.assign(
        load_used_bytes=_ratio(links["load_mean_bytes"] * links["links"], links["used"]),
        imbalance=_ratio(links["load_max_bytes"], links["load_mean_bytes"]),
    )


def _interference(jobs: pd.DataFrame, by_id: Mapping[str, Record]) -> pd.DataFrame:
    """Jobs that shared the machine with another one that communicated."""
    busy = jobs[jobs["messages"] > 0]
    together = busy.groupby(["point_id", "experiment"])["job"].transform("nunique") > 1
    rows = busy[together & ~busy["background"].astype(bool)]
    facts = [_sharing(by_id[point_id], job) for point_id, job in zip(rows["point_id"], rows["job"], strict=True)]
    columns = [f"{name}{how}" for how in _SHARING.values() for name in ("mls", "tls", "links_shared")]
    shares: dict[str, Any] = {name: [fact.get(name) for fact in facts] for name in columns}
    return with_noise(rows.assign(**shares, variation=_variation(rows)))


_SHARING = {"simulated": "", "routes": "_routes"}


def _sharing(record: Record, job: int) -> dict[str, float]:
    """Link sharing of a point and the share of a job's links that others use, as simulated and by the routes alone."""
    shares: dict[str, float] = {}
    for kind, suffix in _SHARING.items():
        one = record.get("sharing", {}).get(kind)
        if one:
            shared = one["shared"][job] / max(1, one["used"][job])
            shares |= {f"mls{suffix}": one["mls"], f"tls{suffix}": one["tls"], f"links_shared{suffix}": shared}
    return shares


def _variation(rows: pd.DataFrame) -> pd.Series[Any]:
    """(max - min) / median of the runtimes of the same job on the same nodes, among different others."""
    # Jobs that are alone the same simulation are the same job.
    times = rows.groupby(["experiment", ALONE_ID])["runtime_ns"]
    spread: pd.Series[Any] = (times.transform("max") - times.transform("min")) / times.transform("median")
    return spread.where(times.transform("size") > 1)


def _machine_axes(keys: pd.DataFrame, axes: list[str]) -> list[str]:
    """Axes that have one label only for each machine, such as its bandwidth, but not the same for all machines."""
    by_machine = keys[keys["experiment"] != ALONE].groupby(["experiment", "machine_id"])
    varies = [axis for axis in axes if keys[axis].nunique() > 1 or len(by_machine) == 1]
    return [axis for axis in varies if (by_machine[axis].nunique(dropna=False) == 1).all()]


def _machines(plan: Plan, keys: pd.DataFrame, structures: Iterable[Record]) -> pd.DataFrame:
    by_id = {structure["machine_id"]: structure for structure in structures}
    machines = pd.DataFrame({"machine_id": [name for name in plan.machines if name in by_id]})
    facts = [by_id[name] for name in machines["machine_id"]]
    for name in ("kind", *SIZES_OF_MACHINE):
        machines[name] = [fact[name] for fact in facts]
    for name in ("lower_Bps", "upper_Bps", "exact", "method"):
        machines[f"bisection_{name}"] = [fact["bisection"][name] for fact in facts]
    machines["bisection_Bps"] = machines["bisection_upper_Bps"].where(machines["bisection_exact"].astype(bool))
    # Each experiment labels a machine on its own axes only; the first label of each axis counts.
    labelled = keys.drop(columns=["experiment", "engine", "seed", "point_id"])
    return machines.merge(labelled.groupby("machine_id", as_index=False).first(), on="machine_id", how="left")
