"""The types of each table: checked and converted; the axes of a study are between the first two keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pandas as pd

from fabricstudy.analysis.base import Analysis
from fabricstudy.core.columns import TABLES, Column
from fabricstudy.core.errors import ConfigError
from fabricstudy.core.kinds import kind_of
from fabricstudy.engine.registry import simulates

_TYPES: dict[str, Any] = {"text": "str", "count": "Int64", "number": "float64", "any number": "float64", "flag": "bool"}
_REMEDY = "correct the reader of these results, or simulate the point again"


def _typed(frame: pd.DataFrame, table: str, columns: Sequence[Column], axes: Sequence[str] = ()) -> pd.DataFrame:
    """Return the first of the columns, the axes, and the other columns, each with its type.

    Raises ConfigError if a column is absent, or a value is missing, of another type or out of range.
    """
    if absent := [column.name for column in columns if column.name not in frame]:
        raise ConfigError("the column is absent", _REMEDY, (table, absent[0]), code="missing-key")
    typed = {column.name: _typed_column(frame[column.name], table, column) for column in columns}
    first, *others = typed
    return pd.DataFrame({name: typed[name] if name in typed else frame[name] for name in (first, *axes, *others)})


def _typed_column(values: pd.Series[Any], table: str, column: Column) -> pd.Series[Any]:
    dtype: Any = "boolean" if column.type == "flag" and column.missing else _TYPES[column.type]
    if values.empty:
        return _empty_column(dtype)
    keys = (table, column.name)
    if not column.missing and values.isna().any():
        raise ConfigError("a value is missing", _REMEDY, keys, code="missing-key")
    try:
        typed = values if values.dtype == dtype else values.astype(dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise ConfigError(f"a value is not a {column.type}: {error}", _REMEDY, keys, code="wrong-type") from None
    if column.type in ("count", "number") and (typed < 0).any():
        raise ConfigError("a value is negative", _REMEDY, keys, typed.min(), "out-of-range")
    if column.one_of and (unknown := set(typed.dropna().unique()) - set(column.one_of)):
        raise ConfigError("a value is unknown", _REMEDY, keys, min(unknown), "unknown-value")
    return typed


@cache
def _empty_column(dtype: Any) -> pd.Series[Any]:
    return pd.Series(dtype=dtype)


def _is_timed(frame: pd.DataFrame) -> pd.Series[Any]:
    """Return whether each job has a time, or cannot have one."""
    timeless = [name for name in frame["engine"].unique() if not simulates(name)]
    return frame["runtime_ns"].notna() | frame["engine"].isin(timeless) | frame.get("background", False)


def validated_analysis(config: Analysis, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the rows of an analysis as a frame: the kind, its keys, labels and numbers.

    Raises ConfigError if a column is missing, or a value has another type.
    """
    kind = kind_of(type(config))
    columns = [
        Column(name, "", "any number", missing=True) if name in config.numbers else Column(name, "")
        for name in ("kind", *config.columns())
    ]
    frame = pd.DataFrame([{"kind": kind, **row} for row in rows], columns=[column.name for column in columns])
    return _typed(frame, kind, columns)


def axes_of(frame: pd.DataFrame) -> list[str]:
    """Return the study's axes: the columns between the first one (experiment or schedule) and ``seed``."""
    return list(frame.columns)[1 : list(frame.columns).index("seed")]


def own_axes(points: pd.DataFrame) -> list[str]:
    """Return the axes of the experiment of these rows of ``points``: those with labels.

    Every row has an engine, which is an axis of the experiment only if the other axes do not identify its rows.
    """
    varied = [axis for axis in axes_of(points) if points[axis].notna().any()]
    others = [axis for axis in varied if axis != "engine"]
    return varied if points.duplicated([*others, "seed"]).any() else others


def labels(values: Sequence[Any]) -> pd.Series[Any]:
    """Return axis labels with the narrowest column type: booleans, whole numbers, numbers, else text; None is missing.

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


def validated_table(table: str, frame: pd.DataFrame, axes: Sequence[str] = ()) -> pd.DataFrame:
    """Return `frame` with the table's types and columns in order: the first key, the axes, the others.

    Raises ConfigError if a column is missing, or a value has another type or is out of range.
    """
    columns = [column for column in TABLES[table] if column.name not in axes]
    typed = _typed(frame, table, columns, axes).reset_index(drop=True)
    if "runtime_ns" in typed and not (timed := _is_timed(typed)).all():
        job = typed[~timed].iloc[0]
        problem = f"a simulated job of point {job['point_id']} has no time"
        raise ConfigError(problem, _REMEDY, (table, "runtime_ns"), code="missing-key")
    return typed
