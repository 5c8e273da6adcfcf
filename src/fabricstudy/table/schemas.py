"""What each table holds: names with units, types and ranges; the axes of a study come between the first two keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pandera.pandas as pa

from fabricstudy.analysis.base import Analysis
from fabricstudy.engine.registry import engines
from fabricstudy.kinds import kind_of

STATUSES = ("done", "failed", "timeout", "memory", "refused", "skipped", "missing")
"""Outcomes of a point; ``missing`` has no record yet."""

VERDICTS = ("reproduced", "differs", "not run")


def _text(nullable: bool = False, **checks: Any) -> pa.Column:
    return pa.Column(str, nullable=nullable, **checks)


def _count(nullable: bool = False) -> pa.Column:
    return pa.Column("Int64", pa.Check.ge(0), nullable=nullable)


def _number(nullable: bool = False) -> pa.Column:
    return pa.Column(float, pa.Check.ge(0), nullable=nullable)


_TIMELESS = [name for name, engine in engines().items() if not engine.simulates]
_TIMED = pa.Check(
    lambda frame: frame["runtime_ns"].notna() | frame["engine"].isin(_TIMELESS), error="a simulated job has no time"
)

_KEYS = {
    "experiment": _text(),
    "seed": _count(nullable=True),
    "point_id": _text(),
    "machine_id": _text(),
    "engine": _text(),
}

_COLUMNS: dict[str, dict[str, pa.Column]] = {
    "points": {
        **_KEYS,
        "version": _text(nullable=True),
        "status": _text(checks=pa.Check.isin(STATUSES)),
        "reason": _text(nullable=True),
        "cpu_s": _number(nullable=True),
        "wall_s": _number(nullable=True),
        "memory_bytes": _count(nullable=True),
        "overhead_cpu_s": _number(nullable=True),
        "host": _text(nullable=True),
        "started": _text(nullable=True),
        "fingerprint": _text(nullable=True),
    },
    "jobs": {
        **_KEYS,
        "job": _count(),
        "job_name": _text(),
        "ranks": _count(),
        "nodes": _count(),
        "messages": _count(),
        "bytes": _count(),
        "runtime_ns": _number(nullable=True),
        "bound_ns": _number(nullable=True),
        "bound_method": _text(nullable=True),
        "over_bound": _number(nullable=True),
        "alone_ns": _number(nullable=True),
        "slowdown": _number(nullable=True),
        "rate_Bps": _number(nullable=True),
        "hop_bytes": _number(nullable=True),
        "hops_mean": _number(nullable=True),
    },
    "links": {
        **_KEYS,
        "class": _text(),
        "links": _count(),
        "used": _count(nullable=True),
        "load_mean_bytes": _number(),
        "load_max_bytes": _number(),
        "load_used_bytes": _number(nullable=True),
        "imbalance": _number(nullable=True),
        "busy_max_ns": _number(nullable=True),
        "packets": _count(nullable=True),
        "stall_mean_ns": _number(nullable=True),
        "stall_max_ns": _number(nullable=True),
    },
    "interference": {
        **_KEYS,
        "job": _count(),
        "job_name": _text(),
        "runtime_ns": _number(nullable=True),
        "alone_ns": _number(nullable=True),
        "slowdown": _number(nullable=True),
        "variation": _number(nullable=True),
        "mls": _number(nullable=True),
        "tls": _number(nullable=True),
        "links_shared": _number(nullable=True),
        "mls_routes": _number(nullable=True),
        "tls_routes": _number(nullable=True),
        "links_shared_routes": _number(nullable=True),
    },
    "machines": {
        "machine_id": _text(),
        "kind": _text(),
        "nodes": _count(),
        "routers": _count(),
        "cables": _count(),
        "radix": _count(),
        "diameter": _count(),
        "mean_hops": _number(),
        "bisection_lower_Bps": _number(),
        "bisection_upper_Bps": _number(),
        "bisection_Bps": _number(nullable=True),
        "bisection_exact": pa.Column(bool),
        "bisection_method": _text(),
    },
    "agreement": {
        "experiment": _text(),
        "seed": _count(),
        "machine_id": _text(),
        "job": _count(),
        "pair": _text(),
        "engine_a": _text(),
        "engine_b": _text(),
        "point_a_id": _text(),
        "point_b_id": _text(),
        "runtime_a_ns": _number(),
        "runtime_b_ns": _number(),
        "ratio": _number(),
    },
    "claims": {
        "claim": _text(),
        "part": _count(),
        "says": _text(),
        "source": _text(),
        "note": _text(nullable=True),
        "part_says": _text(nullable=True),
        "show": _text(nullable=True),
        "expect_low": pa.Column(float, nullable=True),
        "expect_high": pa.Column(float, nullable=True),
        "measured": pa.Column(float, nullable=True),
        "low": pa.Column(float, nullable=True),
        "high": pa.Column(float, nullable=True),
        "interval": _text(nullable=True),
        "at": _text(nullable=True),
        "points": _count(),
        "seeds": _count(),
        "verdict": _text(checks=pa.Check.isin(VERDICTS)),
        "reason": _text(nullable=True),
        "claim_verdict": _text(checks=pa.Check.isin(VERDICTS)),
    },
    "verdicts": {
        "engine": _text(),
        "claim": _text(),
        "part": _count(),
        "measured": pa.Column(float, nullable=True),
        "low": pa.Column(float, nullable=True),
        "high": pa.Column(float, nullable=True),
        "points": _count(),
        "verdict": _text(checks=pa.Check.isin(VERDICTS)),
        "reason": _text(nullable=True),
        "claim_verdict": _text(checks=pa.Check.isin(VERDICTS)),
    },
}

TABLES = tuple(_COLUMNS)
"""Names of the tables, in the order in which they are written."""


def checked_analysis(config: Analysis, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Give the rows of an analysis as a frame with the kind first, then its keys, labels and numbers.

    Raises
    ------
    pandera.errors.SchemaErrors
        If a column is missing, or a value is of another type.
    """
    numbers = {name: pa.Column(float, nullable=True) for name in config.numbers}
    texts = {name: _text() for name in config.columns() if name not in numbers}
    schema = pa.DataFrameSchema({"kind": _text(), **texts, **numbers}, coerce=True)
    kind = kind_of(type(config))
    frame = pd.DataFrame([{"kind": kind, **row} for row in rows], columns=["kind", *config.columns()])
    return schema.validate(frame, lazy=True)


def columns_of(table: str) -> list[str]:
    """Names of the columns that a table has in every study."""
    return list(_COLUMNS[table])


def axes_of(frame: pd.DataFrame) -> list[str]:
    """Names of the study's axes: the columns between ``experiment`` and ``seed``."""
    names = list(frame.columns)
    return names[names.index("experiment") + 1 : names.index("seed")]


def labels(values: Sequence[Any]) -> pd.Series[Any]:
    """Give axis labels the narrowest column type: booleans, whole numbers, numbers, else text; None is missing.

    Examples
    --------
    >>> str(labels([1, 2, None]).dtype), list(labels([0.5, "fast"]))
    ('Int64', ['0.5', 'fast'])
    """
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pd.Series(values, dtype="boolean")
    if kinds == {int}:
        return pd.Series(values, dtype="Int64")
    if kinds and kinds <= {int, float}:
        return pd.Series(values, dtype=float)
    return pd.Series([None if value is None else str(value) for value in values], dtype=str)


def checked(table: str, frame: pd.DataFrame, axes: Sequence[str] = ()) -> pd.DataFrame:
    """Give `frame` with the table's types and columns in order: the first key, the axes, the others.

    Raises
    ------
    pandera.errors.SchemaErrors
        If a column is missing, or a value is of another type or out of range.
    """
    fixed = {name: column for name, column in _COLUMNS[table].items() if name not in axes}
    first, *others = fixed
    timed = [_TIMED] if "runtime_ns" in fixed else []
    schema = pa.DataFrameSchema(fixed, checks=timed, coerce=True)
    return schema.validate(frame[[first, *axes, *others]], lazy=True).reset_index(drop=True)
