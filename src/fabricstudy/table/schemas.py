"""The schema of each table: types and ranges; the axes of a study are between the first two keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import pandas as pd

from fabricstudy.analysis.base import Analysis
from fabricstudy.core.columns import TABLES, Column
from fabricstudy.core.kinds import kind_of
from fabricstudy.engine.registry import simulates

if TYPE_CHECKING:
    # Imported only where tables are made, since importing it takes as long as importing pandas.
    import pandera.pandas as pa


def _schema(column: Column) -> pa.Column:
    import pandera.pandas as pa

    types: dict[str, Any] = {"text": str, "count": "Int64", "number": float, "any number": float, "flag": bool}
    checks = [pa.Check.ge(0)] if column.type in ("count", "number") else []
    checks += [pa.Check.isin(column.one_of)] if column.one_of else []
    kind = "boolean" if column.type == "flag" and column.missing else types[column.type]
    return pa.Column(kind, checks, nullable=column.missing)


def _is_timed(frame: pd.DataFrame) -> pd.Series[Any]:
    """Return whether each job has a time, or cannot have one."""
    timeless = [name for name in frame["engine"].unique() if not simulates(name)]
    return frame["runtime_ns"].notna() | frame["engine"].isin(timeless) | frame.get("background", False)


def validated_analysis(config: Analysis, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the rows of an analysis as a frame: the kind, its keys, labels and numbers.

    Raises pandera.errors.SchemaErrors if a column is missing, or a value has another type.
    """
    import pandera.pandas as pa

    numbers = {name: pa.Column(float, nullable=True) for name in config.numbers}
    texts = {name: pa.Column(str) for name in config.columns() if name not in numbers}
    schema = pa.DataFrameSchema({"kind": pa.Column(str), **texts, **numbers}, coerce=True)
    kind = kind_of(type(config))
    frame = pd.DataFrame([{"kind": kind, **row} for row in rows], columns=["kind", *config.columns()])
    return schema.validate(frame, lazy=True)


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

    Raises pandera.errors.SchemaErrors if a column is missing, or a value has another type or is out of range.
    """
    import pandera.pandas as pa

    fixed = {column.name: _schema(column) for column in TABLES[table] if column.name not in axes}
    first, *others = fixed
    frame = frame[[first, *axes, *others]]
    if frame.empty:  # a check of it takes as long as that of many rows
        return frame.astype({name: dtype for name, dtype in _types(table).items() if name in fixed})
    timed = [pa.Check(_is_timed, error="a simulated job has no time")] if "runtime_ns" in fixed else []
    schema = pa.DataFrameSchema(fixed, checks=timed, coerce=True)
    return schema.validate(frame, lazy=True).reset_index(drop=True)


@cache
def _types(table: str) -> dict[str, Any]:
    """Return the types of the columns of a table."""
    import pandera.pandas as pa

    schema = pa.DataFrameSchema({column.name: _schema(column) for column in TABLES[table]}, coerce=True)
    return schema.validate(pd.DataFrame(columns=list(schema.columns))).dtypes.to_dict()
