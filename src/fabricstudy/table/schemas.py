"""What each table holds: names with units, types and ranges; the axes of a study come between the first two keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from fabricstudy.analysis.base import Analysis
from fabricstudy.columns import TABLES, Column
from fabricstudy.engine.registry import engines
from fabricstudy.kinds import kind_of

from .store import TableError

_TYPES: dict[str, Any] = {"text": str, "count": "Int64", "number": float, "any number": float, "flag": bool}


def _typed(table: str, column: Column, values: pd.Series[Any]) -> pd.Series[Any]:
    """Give a column its type, and refuse values that it cannot hold."""
    gone = values.isna()
    try:
        typed = values.astype("boolean" if column.type == "flag" and column.missing else _TYPES[column.type])
    except (TypeError, ValueError) as problem:
        raise TableError(f"table {table}, column {column.name}: {problem}") from None
    counted = column.type in ("count", "number")
    rules = (
        ("no value", not column.missing, gone),
        ("a value below 0", counted, typed < 0 if counted else gone),
        (
            f"a value that is none of {', '.join(column.one_of)}",
            bool(column.one_of),
            ~typed.isin(column.one_of) & ~gone,
        ),
    )
    for mistake, holds, wrong in rules:
        if holds and wrong.any():
            raise TableError(f"table {table}, column {column.name}: {mistake}, in row {int(wrong.argmax())}")
    return typed.where(~gone) if column.type == "text" else typed


def _check_times(frame: pd.DataFrame) -> None:
    timeless = [name for name, engine in engines().items() if not engine.simulates]
    untimed = frame["runtime_ns"].isna() & ~frame["engine"].isin(timeless) & ~frame.get("background", False)
    if untimed.any():
        raise TableError(f"table jobs: a simulated job has no time, in row {int(untimed.argmax())}")


def checked_analysis(config: Analysis, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Give the rows of an analysis as a frame with the kind first, then its keys, labels and numbers.

    Raises
    ------
    TableError
        If a value is of another type.
    """
    kind = kind_of(type(config))
    frame = pd.DataFrame([{"kind": kind, **row} for row in rows], columns=["kind", *config.columns()])
    texts, numbers = Column("", "", "text"), Column("", "", "any number", missing=True)
    columns = [replace(numbers if name in config.numbers else texts, name=str(name)) for name in frame]
    return pd.DataFrame({one.name: _typed(f"of the analysis {kind}", one, frame[one.name]) for one in columns})


def axes_of(frame: pd.DataFrame) -> list[str]:
    """Names of the study's axes: the columns between the first one, experiment or schedule, and ``seed``."""
    names = list(frame.columns)
    return names[1 : names.index("seed")]


def own_axes(points: pd.DataFrame) -> list[str]:
    """Names of the axes of the experiment to which these rows of the table ``points`` belong.

    Its rows have labels on all of them, and on no other. Every row has an engine, which is an axis of the experiment
    only if its other axes do not tell the rows apart.
    """
    varied = [axis for axis in axes_of(points) if points[axis].notna().any()]
    others = [axis for axis in varied if axis != "engine"]
    return varied if points.duplicated([*others, "seed"]).any() else others


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
    TableError
        If a value is of another type or out of range.
    """
    fixed = {column.name: column for column in TABLES[table] if column.name not in axes}
    first, *others = fixed
    ordered = frame[[first, *axes, *others]].reset_index(drop=True)
    typed = ordered.assign(**{name: _typed(table, column, ordered[name]) for name, column in fixed.items()})
    if "runtime_ns" in fixed:
        _check_times(typed)
    return typed
