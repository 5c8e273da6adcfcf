"""The runs of one job of the workflow: records as JSON lines; jobs of some, and histories of some, as Parquet.

Nothing is stored between calls, since a run costs less than a look into a store. The same runs give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fabricstudy.core.columns import DONE, NOT_RUN, TABLES
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.files import atomic_path, atomic_text
from fabricstudy.core.store import read_checksummed

from .history import History, histories_writer, partitions_of_run, write_history
from .jobs import Jobs
from .metrics import class_rows, job_columns, list_rows, schedule_row
from .partitions import NodePool
from .result import ScheduleResult
from .run import PlannedRun, RatioInputs
from .simulate import simulate_schedule
from .slowdown import Ratio, SlowdownFactors, slowdown_factors

Record = Mapping[str, Any]

LIST = "list"
"""Key of the lines about a list of partitions instead of a run."""

_JOB_COLUMNS = [column.name for column in TABLES["scheduled_jobs"] if column.name not in ("schedule", "seed")]


class MissingRatio(Exception):
    """A point that a ratio needs has no time; the message is the reason."""


def run_chunk(
    runs: Sequence[PlannedRun],
    digest: str,
    records: Iterable[Record],
    shard: Path,
    jobs_file: Path,
    histories: Path,
    drawn: Collection[str] = (),
) -> None:
    """Run some runs and write their records, jobs and histories.

    Parameters
    ----------
    digest : str
        Of what was asked for; it stands in the first line.
    records : iterable of mappings
        Of the points whose times slow jobs down.
    shard, jobs_file, histories : Path
        Files for the records (JSON lines: one a run, one a list of partitions), for the jobs and for the histories
        (Parquet).
    drawn : collection of str, optional
        Ids of the runs that have a history.
    """
    points = {record["point_id"]: record for record in records}
    kept: list[pd.DataFrame] = []
    lists: set[str] = set()
    with atomic_text(shard) as out, histories_writer(histories) as writer:
        out.write(json.dumps({"digest": digest}) + "\n")
        for planned in sorted(runs, key=lambda one: one.key):
            record, done = _outcome(planned, points)
            if done is not None and planned.keeps_jobs:
                kept.append(done.job_table())
            if done is not None and planned.run_id in drawn:
                write_history(done.history, writer)
            out.write(json.dumps(record) + "\n")
            if planned.list_id not in lists:
                lists.add(planned.list_id)
                listed = partitions_of_run(planned)
                rows = [] if isinstance(listed, NodePool) else list_rows(listed)
                out.write(json.dumps({LIST: planned.list_id, "classes": _plain(rows)}) + "\n")
    frame = pd.concat(kept, ignore_index=True) if kept else pd.DataFrame(columns=_JOB_COLUMNS)
    with atomic_path(jobs_file) as path:
        frame.to_parquet(path, index=False)


def _outcome(planned: PlannedRun, points: Mapping[str, Record]) -> tuple[dict[str, Any], ScheduleRun | None]:
    head = {"run_id": planned.run_id, "list_id": planned.list_id}
    try:
        done = run_planned_schedule(planned, points)
    except MissingRatio as reason:
        return {**head, "status": NOT_RUN, "reason": str(reason)}, None
    return {**head, "status": DONE, **run_metrics(done)}, done


def run_metrics(done: ScheduleRun) -> dict[str, Any]:
    """Return the metrics of a run, and below `classes` those of each size class, as plain values."""
    facts = schedule_row(done.partitions, done.jobs, done.result)
    classes = class_rows(done.jobs, done.result)
    repairs = ", ".join(f"{count} {name}" for name, count in sorted(done.jobs.counted.items()))
    plain: dict[str, Any] = _plain({**facts, "trace_repairs": repairs or None, "classes": classes})
    return plain


class ScheduleRun:
    """A run's result, with its partitions, jobs and slowdown factors."""

    def __init__(self, planned: PlannedRun, points: Mapping[str, Record]) -> None:
        run = planned.run
        self.planned = planned
        self.partitions = partitions_of_run(planned)
        self.jobs: Jobs = run.trace.jobs(
            self.partitions.machine_nodes, self.partitions.block_nodes, run.seed, planned.folder
        )
        ratios = {key: _ratio(needed, points) for key, needed in planned.needs.items()}
        self.factors: SlowdownFactors = slowdown_factors(
            run.slowdown, self.jobs, self.partitions, run.machine, run.seed, ratios
        )
        self.result: ScheduleResult = simulate_schedule(
            self.partitions,
            self.jobs,
            run.order,
            run.backfill,
            self.factors.table,
            scale_request=run.request == "scaled",
            kill=run.limit == "kill",
        )

    @property
    def history(self) -> History:
        """When and where its jobs ran."""
        result = self.result
        return History(
            self.planned, self.jobs.submit_s, result.start_s, result.end_s, result.class_nodes, result.partition,
            self.factors.application, result.instants,
        )  # fmt: skip

    def job_table(self) -> pd.DataFrame:
        """Return a row a job, in the columns of `scheduled_jobs`."""
        columns: dict[str, Any] = dict(job_columns(self.jobs, self.result))
        application, result = self.factors.application, self.result
        if isinstance(self.partitions, NodePool):
            names: tuple[str, ...] = ("any nodes",)
            columns["factor_source"] = self.factors.source[application, 0]
        else:
            names, variant = self.partitions.names, self.partitions.variant[result.partition]
            columns["factor_source"] = np.where(result.ran, self.factors.source[application, variant], "none")
        columns["run_id"] = self.planned.run_id
        columns["partition"] = [names[number] if number >= 0 else None for number in result.partition]
        columns["application"] = np.array([one.name for one in self.planned.run.slowdown.kinds])[application]
        columns["wait_s"] = result.start_s - self.jobs.submit_s
        return pd.DataFrame(columns)[_JOB_COLUMNS]


def run_planned_schedule(planned: PlannedRun, points: Mapping[str, Record]) -> ScheduleRun:
    """Run one run; `points` are records of points by id.

    Raises
    ------
    MissingRatio
        If a point that its slowdown rests on has no time.
    StudyError
        If its trace cannot be read.
    """
    return ScheduleRun(planned, points)


def _ratio(needed: RatioInputs, points: Mapping[str, Record]) -> Ratio:
    """Compare medians over seeds of the times of two points, each that of its slowest job."""
    of, against = (
        float(np.median([_time(needed.metric, name, points) for name in ids])) for ids in (needed.of, needed.against)
    )
    return Ratio(of / against, "simulated" if needed.metric == "runtime_ns" else "expected load")


def _time(metric: str, point_id: str, points: Mapping[str, Record]) -> float:
    record = points.get(point_id)
    if record is None:
        raise MissingRatio(f"the point {point_id}, on which its slowdown rests, has no record")
    if record["status"] != DONE:
        reason = record.get("reason") or "no reason given"
        raise MissingRatio(f"the point {point_id}, on which its slowdown rests, is {record['status']}: {reason}")
    times = [job[metric] for job in record["jobs"] if job["messages"]]
    if not times or any(time is None for time in times):
        raise MissingRatio(f"the point {point_id}, on which its slowdown rests, has no {metric}")
    return float(max(times))


def _plain(value: Any) -> Any:
    """Turn numpy's numbers into Python's, and infinities and NaN into None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    plain = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(plain, float) and not np.isfinite(plain) else plain


def read_ratios(paths: Iterable[Path], needed: set[str]) -> Iterator[Record]:
    """Read the records of some points from the files of batches.

    Raises
    ------
    FabricstudyError
        Naming file and line of a record that was damaged.
    """
    for path in paths:
        for number, record in read_checksummed(path):
            if record is None:
                problem = f"{path}, line {number}: the record was damaged"
                raise FabricstudyError(f"{problem}; remove the file and run the same command again", "results-damaged")
            if record["point_id"] in needed:
                yield record
