"""The runs of one job of the workflow: their records as JSON lines, and the jobs of some of them as Parquet.

Nothing is stored between calls, since a run costs less than a look into a store. The same runs give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fabricstudy.core.columns import DONE, NOT_RUN, TABLES
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.files import atomic_path, atomic_text
from fabricstudy.core.store import read_sealed

from .jobs import Jobs
from .metrics import class_rows, job_columns, list_rows, schedule_row
from .partitions import Partitions, Pool
from .run import Needed, PlannedRun, Run
from .scheduled import Scheduled
from .simulate import simulate
from .slowdown import Factors, Ratio, factors

Record = Mapping[str, Any]

LIST = "list"
"""Key of the lines about a list of partitions instead of a run."""

_JOB_COLUMNS = [column.name for column in TABLES["scheduled_jobs"] if column.name not in ("schedule", "seed")]


class MissingRatio(Exception):
    """A point that a ratio needs has no time; the message is the reason."""


def run_chunk(runs: Sequence[PlannedRun], digest: str, records: Iterable[Record], shard: Path, jobs_file: Path) -> None:
    """Run some runs and write their records and jobs.

    Parameters
    ----------
    runs : sequence of PlannedRun
        In any order.
    digest : str
        Of what was asked for; it stands in the first line.
    records : iterable of mappings
        Of the points whose times slow jobs down.
    shard, jobs_file : Path
        Files for the records (JSON lines: one a run, one a list of partitions), and for the jobs (Parquet).
    """
    points = {record["point_id"]: record for record in records}
    kept: list[pd.DataFrame] = []
    lists: set[str] = set()
    with atomic_text(shard) as out:
        out.write(json.dumps({"digest": digest}) + "\n")
        for planned in sorted(runs, key=lambda one: one.key):
            record, jobs = _outcome(planned, points)
            if planned.keeps_jobs and jobs is not None:
                kept.append(jobs)
            out.write(json.dumps(record) + "\n")
            if planned.list_id not in lists:
                lists.add(planned.list_id)
                listed = _partitions(planned.run)
                rows = [] if isinstance(listed, Pool) else list_rows(listed)
                out.write(json.dumps({LIST: planned.list_id, "classes": _plain(rows)}) + "\n")
    frame = pd.concat(kept, ignore_index=True) if kept else pd.DataFrame(columns=_JOB_COLUMNS)
    with atomic_path(jobs_file) as path:
        frame.to_parquet(path, index=False)


def _outcome(planned: PlannedRun, points: Mapping[str, Record]) -> tuple[dict[str, Any], pd.DataFrame | None]:
    head = {"run_id": planned.run_id, "list_id": planned.list_id}
    try:
        done = perform(planned, points)
    except MissingRatio as reason:
        return {**head, "status": NOT_RUN, "reason": str(reason)}, None
    return {**head, "status": DONE, **facts_of(done)}, done.job_table() if planned.keeps_jobs else None


def facts_of(done: Performed) -> dict[str, Any]:
    """Give the metrics of a run, and below `classes` those of each size class, as plain values."""
    facts = schedule_row(done.partitions, done.jobs, done.result)
    classes = class_rows(done.jobs, done.result)
    mended = ", ".join(f"{count} {name}" for name, count in sorted(done.jobs.counted.items()))
    plain: dict[str, Any] = _plain({**facts, "mended": mended or None, "classes": classes})
    return plain


class Performed:
    """A run's result, with its partitions, jobs and slowdown factors."""

    def __init__(self, planned: PlannedRun, points: Mapping[str, Record]) -> None:
        run = planned.run
        self.planned = planned
        self.partitions = _partitions(run)
        self.jobs: Jobs = run.trace.jobs(
            self.partitions.machine_nodes, self.partitions.block_nodes, run.seed, planned.folder
        )
        ratios = {key: _ratio(needed, points) for key, needed in planned.needs.items()}
        self.factors: Factors = factors(run.slowdown, self.jobs, self.partitions, run.machine, run.seed, ratios)
        self.result: Scheduled = simulate(
            self.partitions,
            self.jobs,
            run.order,
            run.backfill,
            self.factors.table,
            scale_request=run.request == "scaled",
            kill=run.limit == "kill",
        )

    def job_table(self) -> pd.DataFrame:
        """Give a row a job, in the columns of `scheduled_jobs`."""
        columns: dict[str, Any] = dict(job_columns(self.jobs, self.result))
        kinds = self.planned.run.slowdown.kinds
        columns["run_id"] = self.planned.run_id
        columns["partition"] = self._names()
        columns["application"] = np.array([one.name for one in kinds])[self.factors.application]
        columns["wait_s"] = self.result.start_s - self.jobs.submit_s
        columns["factor_from"] = self._sources()
        return pd.DataFrame(columns)[_JOB_COLUMNS]

    def _names(self) -> list[str | None]:
        names = ("any nodes",) if isinstance(self.partitions, Pool) else self.partitions.names
        return [names[number] if number >= 0 else None for number in self.result.partition]

    def _sources(self) -> Any:
        if isinstance(self.partitions, Pool):
            return self.factors.source[self.factors.application, 0]
        variant = self.partitions.variant[self.result.partition]
        return np.where(self.result.ran, self.factors.source[self.factors.application, variant], "none")


def perform(planned: PlannedRun, points: Mapping[str, Record]) -> Performed:
    """Run one run.

    Parameters
    ----------
    points : mapping
        Records of points by id.

    Raises
    ------
    MissingRatio
        If a point that its slowdown rests on has no time.
    StudyError
        If its trace cannot be read.
    """
    return Performed(planned, points)


def _partitions(run: Run) -> Partitions | Pool:
    return _cached_partitions(_Listed(run))


class _Listed:
    """Machine and list of a run, equal where these are."""

    def __init__(self, run: Run) -> None:
        self.run, self._key = run, (run.machine, run.partitions)

    def __hash__(self) -> int:
        return hash(repr(self._key))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Listed) and self._key == other._key


@lru_cache(maxsize=8)
def _cached_partitions(listed: _Listed) -> Partitions | Pool:
    return listed.run.partitions.partitions(listed.run.machine)


def _ratio(needed: Needed, points: Mapping[str, Record]) -> Ratio:
    of, against = (_median(needed.metric, ids, points) for ids in (needed.of, needed.against))
    return Ratio(of / against, "simulated" if needed.metric == "runtime_ns" else "expected load")


def _median(metric: str, ids: Sequence[str], points: Mapping[str, Record]) -> float:
    """Give the median over seeds of the time of a point: that of its slowest job."""
    return float(np.median([_time(metric, name, points) for name in ids]))


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
        for number, record in read_sealed(path):
            if record is None:
                problem = f"{path}, line {number}: the record was damaged"
                raise FabricstudyError(f"{problem}; remove the file and run the same command again", "gone-from-store")
            if record["point_id"] in needed:
                yield record
