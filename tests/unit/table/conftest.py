"""Tables made by hand from a few rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pandas as pd
import pytest

from fabricstudy.core.columns import names_of
from fabricstudy.table.files import Tables
from fabricstudy.table.schemas import labels, validated_table

Row = dict[str, Any]


def make_tables(rows: Sequence[Row], machines: Sequence[Row] = (), links: Sequence[Row] = ()) -> Tables:
    """Build tables from rows that hold axis labels and, where wanted, other columns of points and jobs.

    Rows without ``runtime_ns`` have no job. `links` give their point's row number as ``row``.
    """
    fixed = {*names_of("points"), *names_of("jobs"), "row"}
    axes = list(dict.fromkeys(name for row in rows for name in row if name not in fixed))
    defaults = {"experiment": "main", "seed": 1, "machine_id": "m0", "engine": "caminos", "status": "done",
                "job": 0, "job_name": "app", "ranks": 2, "nodes": 1, "messages": 2, "bytes": 100,
                "background": False}  # fmt: skip
    full = [{**defaults, "point_id": f"p{number}", **row} for number, row in enumerate(rows)]
    frame = pd.DataFrame(full).reindex(columns=[*dict.fromkeys([*axes, *names_of("points"), *names_of("jobs")])])
    for axis in axes:
        frame[axis] = labels([row.get(axis) for row in full])
    points = frame.drop_duplicates(["experiment", "point_id"])
    return Tables(
        points=validated_table("points", points, axes),
        jobs=validated_table("jobs", frame[frame["runtime_ns"].notna()], axes),
        latency=_empty("latency", *axes),
        links=_links(frame, axes, links) if links else _empty("links", *axes),
        interference=_empty("interference", *axes),
        machines=validated_table("machines", pd.DataFrame(list(machines))) if machines else _empty("machines"),
        agreement=_empty("agreement", *axes),
        predictors=_empty("predictors", *axes),
    )


def _links(frame: pd.DataFrame, axes: list[str], links: Sequence[Row]) -> pd.DataFrame:
    cables = frame.iloc[[link["row"] for link in links]].reset_index(drop=True)
    cables = pd.concat(
        [cables[["experiment", *axes, "seed", "point_id", "machine_id", "engine"]], pd.DataFrame(list(links))], axis=1
    )
    return validated_table(
        "links", cables.assign(**{name: 0 for name in names_of("links") if name not in cables}), axes
    )


@cache
def _empty(table: str, *axes: str) -> pd.DataFrame:
    """Return a table without rows; a check of it takes as long as one of many rows."""
    return validated_table(table, pd.DataFrame(columns=[*names_of(table), *axes]), axes)


@pytest.fixture
def build() -> Callable[..., Tables]:
    """Return the builder of tables."""
    return make_tables
