"""The parts of records that tables need, by columns, since objects need several times the memory."""

import math
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fabricstudy.core.columns import DONE, TABLES
from fabricstudy.core.store import Record

_Names = Iterable[str]

_SUFFIXES = {"simulated": "", "routes": "_routes"}
SHARES = tuple(f"{name}{suffix}" for suffix in _SUFFIXES.values() for name in ("mls", "tls", "links_shared"))
"""Columns of link sharing of a job, as simulated and by the routes alone."""

_NUMBERS = {column.name for table in TABLES.values() for column in table if column.type in ("number", "any number")}


class ColumnBuilder:
    """Columns to which rows are added one at a time."""

    def __init__(self, names: Iterable[str]) -> None:
        self._columns: dict[str, array[float] | list[Any]] = {
            name: array("d") if name in _NUMBERS else [] for name in names
        }
        self._same: dict[Any, Any] = {}
        self.rows = 0

    def add(self, row: Record) -> None:
        """Add a row; missing columns are empty, and other keys are ignored."""
        for name, column in self._columns.items():
            value = row.get(name)
            if isinstance(column, list):
                # Equal texts and counts share memory; True equals 1, so that it is left out.
                column.append(self._same.setdefault(value, value) if type(value) in (str, int) else value)
                continue
            try:
                column.append(math.nan if value is None else value)
            except TypeError:
                self._columns[name] = [*column, value]
        self.rows += 1

    def __getitem__(self, name: str) -> Sequence[Any]:
        return self._columns[name]

    def frame(self, rows: Sequence[int]) -> pd.DataFrame:
        """Return these rows in this order."""
        indices = np.asarray(rows, dtype=np.int64)
        return pd.DataFrame({
            name: [column[row] for row in indices] if isinstance(column, list) else np.array(column)[indices]
            for name, column in self._columns.items()
        })  # fmt: skip


class PointRecords:
    """Facts of the points of a plan, and of the jobs, link classes and latencies of those that are done.

    Of several records of a point, the last complete one is used, or the last one if none is complete. `points`,
    `jobs` and so on are the names of the facts to keep.
    """

    def __init__(
        self, records: Iterable[Record], point_ids: Iterable[str], points: _Names, jobs: _Names, links: _Names,
        latency: _Names = (), marks: _Names = (), operations: _Names = (),
    ) -> None:  # fmt: skip
        self.points, self.jobs = ColumnBuilder(points), ColumnBuilder((*jobs, *SHARES))
        self.links, self.latency, self.marks = ColumnBuilder(links), ColumnBuilder(latency), ColumnBuilder(marks)
        self.operations = ColumnBuilder(operations)
        self._row = dict.fromkeys(point_ids, 0)
        self._starts = {
            table: array("q", [0]) for table in (self.jobs, self.marks, self.operations, self.links, self.latency)
        }
        self._add({"status": "missing", "reason": "no record"})
        for record in records:
            row = self._row.get(record["point_id"])
            if row is None or (row and record["status"] != DONE and self.points["status"][row] == DONE):
                continue
            self._row[record["point_id"]] = self.points.rows
            self._add(record)

    def _add(self, record: Record) -> None:
        self.points.add(record)
        if record["status"] == DONE:
            for job in record.get("jobs", ()):
                self.jobs.add({**job, **_shares(record, job["job"])})
                for mark in job.get("marks", ()):
                    self.marks.add({"job": job["job"], **mark})
            recorded = record.get("operations") or {}
            for values in zip(*recorded.values(), strict=True):
                self.operations.add(dict(zip(recorded, values, strict=True)))
            for links in record.get("links") or ():
                self.links.add(links)
            if "latency" in record:
                self.latency.add(record["latency"])
        for table, starts in self._starts.items():
            starts.append(table.rows)

    def facts(self, point_ids: Iterable[str]) -> pd.DataFrame:
        """Return a row for each of these points; those without a record have the status ``missing``."""
        return self.points.frame([self._row[point_id] for point_id in point_ids])

    def rows_of(self, table: ColumnBuilder, point_id: str | None) -> range:
        """Return the rows of a point in `jobs`, `marks`, `operations`, `links` or `latency`; none unless it is done."""
        row, starts = self._row.get(point_id or "", 0), self._starts[table]
        return range(starts[row], starts[row + 1])


def _shares(record: Record, job: int) -> dict[str, float]:
    """Return the link sharing of a job's point, and the share of the job's links that others use."""
    shares: dict[str, float] = {}
    for kind, suffix in _SUFFIXES.items():
        sharing = record.get("sharing", {}).get(kind)
        if sharing:
            shared = sharing["shared"][job] / max(1, sharing["used"][job])
            shares |= {f"mls{suffix}": sharing["mls"], f"tls{suffix}": sharing["tls"], f"links_shared{suffix}": shared}
    return shares
