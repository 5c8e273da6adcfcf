"""The parts of records that tables need, by columns, since objects need several times the memory."""

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fabricstudy.core.columns import DONE, TABLES
from fabricstudy.core.phrasing import count_noun
from fabricstudy.core.store import Record, read_checksummed
from fabricstudy.engine.validity import is_current
from fabricstudy.study.plan import Plan

from .files import TableError

_SUFFIXES = {"simulated": "", "routes": "_routes"}
SHARES = tuple(f"{name}{suffix}" for suffix in _SUFFIXES.values() for name in ("mls", "tls", "links_shared"))
"""Columns of link sharing of a job, as simulated and by the routes alone."""

_NUMBERS = {column.name for table in TABLES.values() for column in table if column.type in ("number", "any number")}


def read_point_records(shards: Iterable[Path], plan: Plan) -> Iterator[Record]:
    """Yield the records of points; refuse those that may be out of date, and mark damaged ones."""
    damaged: list[str] = []
    read: set[str] = set()
    for path in sorted(shards):
        for number, record in read_checksummed(path):
            if record is None:
                damaged.append(f"{path}, line {number}")
                continue
            read.add(record["point_id"])
            point = plan.points.get(record["point_id"])
            if point is not None and not is_current(record, point.point, of_any_program=True):
                problem = f"{record['point_id']} was simulated by another version of the code"
                remedy = "repeat outdated simulations: add --forceall, or --forcerun simulate"
                raise TableError(f"{path}: {problem}; {remedy}")
            yield record
    lost = [point_id for point_id in plan.points if point_id not in read]
    if lost and not damaged:
        problem = f"{plan.study.study}: {count_noun(len(lost), 'point')} without a record, such as {lost[0]}"
        raise TableError(f"{problem}; run the study first", "study-changed")
    if damaged:
        # The point of a damaged line is unknown.
        reason = f"damaged: {'; '.join(damaged)}; remove the file and run the same command again"
        yield from ({"point_id": point_id, "status": "damaged", "reason": reason} for point_id in lost)


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
    """Facts of the points of a plan, and the rows of other tables that are in the records of those that are done.

    Of several records of a point, the last complete one is used, or the last one if none is complete. `columns` are
    the names of the facts to keep, by table, `points` among them.
    """

    def __init__(
        self, records: Iterable[Record], point_ids: Iterable[str], columns: Mapping[str, Iterable[str]]
    ) -> None:
        self._tables = {
            table: ColumnBuilder((*names, *SHARES) if table == "jobs" else names) for table, names in columns.items()
        }
        self._row = dict.fromkeys(point_ids, 0)
        self._starts = {table: array("q", [0]) for table in self._tables}
        self._add({"status": "missing", "reason": "no record"})
        points = self._tables["points"]
        for record in records:
            row = self._row.get(record["point_id"])
            if row is None or (row and record["status"] != DONE and points["status"][row] == DONE):
                continue
            self._row[record["point_id"]] = points.rows
            self._add(record)

    def __getitem__(self, table: str) -> ColumnBuilder:
        return self._tables[table]

    def _add(self, record: Record) -> None:
        rows = {"points": (record,), **(_rows_in(record) if record["status"] == DONE else {})}
        for table, builder in self._tables.items():
            for row in rows.get(table, ()):
                builder.add(row)
            self._starts[table].append(builder.rows)

    def facts(self, point_ids: Iterable[str]) -> pd.DataFrame:
        """Return a row for each of these points; those without a record have the status ``missing``."""
        return self._tables["points"].frame([self._row[point_id] for point_id in point_ids])

    def with_status(self, status: str) -> set[str]:
        """Return the ids of the points with this status."""
        statuses = self._tables["points"]["status"]
        return {point_id for point_id, row in self._row.items() if statuses[row] == status}

    def rows_of(self, table: str, point_id: str | None) -> range:
        """Return the rows of a point in a table other than `points`; none unless it is done."""
        row, starts = self._row.get(point_id or "", 0), self._starts[table]
        return range(starts[row], starts[row + 1])


def _rows_in(record: Record) -> dict[str, Iterable[Record]]:
    """Return the rows that the record of a done point has in the tables of its jobs and links."""
    jobs = record.get("jobs", ())
    return {
        "jobs": ({**job, **_shares(record, job["job"])} for job in jobs),
        "marks": ({"job": job["job"], **mark} for job in jobs for mark in job.get("marks", ())),
        "operations": _rows_of(record.get("operations") or {}),
        "messages": _rows_of(record.get("messages") or {}),
        "links": record.get("links") or (),
        "latency": (record["latency"],) if "latency" in record else (),
    }


def _rows_of(columns: Mapping[str, Sequence[Any]]) -> Iterator[Record]:
    return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))


def _shares(record: Record, job: int) -> dict[str, float]:
    """Return the link sharing of a job's point, and the share of the job's links that others use."""
    shares: dict[str, float] = {}
    for kind, suffix in _SUFFIXES.items():
        sharing = record.get("sharing", {}).get(kind)
        if sharing:
            shared = sharing["shared"][job] / max(1, sharing["used"][job])
            shares |= {f"mls{suffix}": sharing["mls"], f"tls{suffix}": sharing["tls"], f"links_shared{suffix}": shared}
    return shares
