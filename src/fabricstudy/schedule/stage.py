"""Execution of the runs of one job of the workflow: records as JSON lines, jobs and histories of some as Parquet.

Runs are not cached, since a run costs less than a look into a store. Equal runs have equal files.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from fabricstudy.core.columns import DONE, NOT_RUN, TABLES
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.files import atomic_text
from fabricstudy.core.parquet import rows_writer, write_parquet
from fabricstudy.core.returned import extension_reason
from fabricstudy.core.store import Record, read_checksummed

from .history import HISTORY_COLUMNS, History, history_row, partitions_of_run
from .metrics import class_rows, list_rows, schedule_row
from .partitions import NodePool
from .run import PlannedRun, RatioInputs
from .simulate import checked_jobs, simulate_schedule
from .slowdown import Ratio, slowdown_factors

LIST = "list"
"""Key of the lines about lists of partitions, which are not runs."""

_JOB_COLUMNS = [column.name for column in TABLES["scheduled_jobs"] if column.name not in ("schedule", "seed")]


class MissingRatio(Exception):
    """A point of a ratio has no time; the message is the reason."""


def run_chunk(
    runs: Sequence[PlannedRun],
    digest: str,
    records: Iterable[Record],
    shard: Path,
    jobs_file: Path,
    histories: Path,
    drawn: Collection[str] = (),
) -> None:
    """Execute runs and write their records, jobs and histories.

    `digest` of the definitions of the runs is for the first line, `records` are those of the points of ratios. Files:
    `shard` for the records (JSON lines: one for each run and each list of partitions), `jobs_file` for the jobs and
    `histories` for those of the runs whose ids are in `drawn` (Parquet).
    """
    points = {record["point_id"]: record for record in records}
    job_tables: list[pd.DataFrame] = []
    lists: set[str] = set()
    with atomic_text(shard) as out, rows_writer(histories, HISTORY_COLUMNS) as write_history:
        out.write(json.dumps({"digest": digest}) + "\n")
        for planned in sorted(runs, key=lambda run: run.key):
            record, done = _outcome(planned, points)
            if done is not None and planned.keeps_jobs:
                job_tables.append(done.job_table())
            if done is not None and planned.run_id in drawn:
                write_history(history_row(done.history))
            out.write(json.dumps(record) + "\n")
            if planned.list_id not in lists:
                lists.add(planned.list_id)
                listed = partitions_of_run(planned)
                rows = [] if isinstance(listed, NodePool) else list_rows(listed)
                out.write(json.dumps({LIST: planned.list_id, "classes": _plain(rows)}) + "\n")
    frame = pd.concat(job_tables, ignore_index=True) if job_tables else pd.DataFrame(columns=_JOB_COLUMNS)
    write_parquet(pa.Table.from_pandas(frame, preserve_index=False), jobs_file)


def _outcome(planned: PlannedRun, points: Mapping[str, Record]) -> tuple[dict[str, Any], ScheduleRun | None]:
    head = {"run_id": planned.run_id, "list_id": planned.list_id}
    try:
        done = ScheduleRun(planned, points)
    except MissingRatio as reason:
        return {**head, "status": NOT_RUN, "reason": str(reason)}, None
    except (Exception, SystemExit) as error:
        failure = extension_reason(error)
        if failure is None:
            raise
        return {**head, "status": NOT_RUN, "reason": failure}, None
    return {**head, "status": DONE, **run_metrics(done)}, done


def run_metrics(done: ScheduleRun) -> dict[str, Any]:
    """Return the metrics of a run, and in `classes` those of each size class, as plain values."""
    row = schedule_row(done.partitions, done.jobs, done.result)
    classes = class_rows(done.jobs, done.result)
    repairs = ", ".join(f"{count} {name}" for name, count in sorted(done.jobs.repairs.items()))
    plain: dict[str, Any] = _plain({**row, "trace_repairs": repairs or None, "classes": classes})
    return plain


class ScheduleRun:
    """An executed run, with its partitions, jobs and slowdown factors; `points` are records of points by id.

    Raises MissingRatio if a point of a ratio has no time, and ConfigError if the trace cannot be read.
    """

    def __init__(self, planned: PlannedRun, points: Mapping[str, Record]) -> None:
        run = planned.run
        self.planned = planned
        self.partitions = partitions_of_run(planned)
        sizes = self.partitions.machine_nodes, self.partitions.block_nodes
        self.jobs = checked_jobs(run.trace, *sizes, run.seed, planned.folder)
        ratios = {key: _ratio(inputs, points) for key, inputs in planned.needs.items()}
        self.factors = slowdown_factors(run.slowdown, self.jobs, self.partitions, run.machine, run.seed, ratios)
        self.result = simulate_schedule(
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
            self.factors.application, result.utilisation,
        )  # fmt: skip

    def job_table(self) -> pd.DataFrame:
        """Return a row for each job, in the columns of `scheduled_jobs`."""
        application, result, jobs = self.factors.application, self.result, self.jobs
        columns: dict[str, Any] = {"job": jobs.number, "submit_s": jobs.submit_s, "nodes": jobs.nodes}
        for name in ("start_s", "end_s", "class_nodes", "factor"):
            columns[name] = getattr(result, name)
        names: tuple[str, ...] = ("any nodes",)
        columns["factor_source"] = self.factors.source[application, 0]
        if not isinstance(self.partitions, NodePool):
            names, variant = self.partitions.names, self.partitions.variant[result.partition]
            columns["factor_source"] = np.where(result.ran, self.factors.source[application, variant], "none")
        columns["run_id"] = self.planned.run_id
        columns["partition"] = [names[number] if number >= 0 else None for number in result.partition]
        columns["application"] = np.array([kind.name for kind in self.planned.run.slowdown.kinds])[application]
        columns["wait_s"] = result.start_s - jobs.submit_s
        return pd.DataFrame(columns)[_JOB_COLUMNS]


def _ratio(inputs: RatioInputs, points: Mapping[str, Record]) -> Ratio:
    """Return the ratio of the median times over seeds, that of a point being the time of its slowest job."""
    of, against = (
        float(np.median([_time(inputs.metric, point_id, points) for point_id in ids]))
        for ids in (inputs.of, inputs.against)
    )
    return Ratio(of / against, "simulated" if inputs.metric == "runtime_ns" else "expected load")


def _time(metric: str, point_id: str, points: Mapping[str, Record]) -> float:
    record, problem = points.get(point_id), f"the point {point_id}, which measures its slowdown,"
    if record is None:
        raise MissingRatio(f"{problem} has no record")
    if record["status"] != DONE:
        raise MissingRatio(f"{problem} is {record['status']}: {record.get('reason') or 'no reason given'}")
    times = [job[metric] for job in record["jobs"] if job["messages"]]
    if not times or None in times:
        raise MissingRatio(f"{problem} has no {metric}")
    return float(max(times))


def _plain(value: Any) -> Any:
    """Convert numbers of numpy to those of Python, and infinities and NaN to None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    plain = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(plain, float) and not np.isfinite(plain) else plain


def read_ratios(paths: Iterable[Path], needed: set[str]) -> Iterator[Record]:
    """Yield the records of the needed points from the files of batches.

    Raises FabricstudyError with file and line of a damaged record.
    """
    for path in paths:
        for number, record in read_checksummed(path):
            if record is None:
                problem = f"{path}, line {number}: the record is damaged"
                raise FabricstudyError(f"{problem}; remove the file and run the same command again", "results-damaged")
            if record["point_id"] in needed:
                yield record
