"""Tables made by hand from a few rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import pytest

from fabricstudy.columns import names_of
from fabricstudy.table.schemas import checked, labels
from fabricstudy.table.store import Tables

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
    cables = frame.iloc[[link["row"] for link in links]].reset_index(drop=True)
    cables = pd.concat(
        [cables[["experiment", *axes, "seed", "point_id", "machine_id", "engine"]], pd.DataFrame(list(links))], axis=1
    )
    for name in names_of("links"):
        if name not in cables:
            cables[name] = 0
    return Tables(
        points=checked("points", points, axes),
        jobs=checked("jobs", frame[frame["runtime_ns"].notna()], axes),
        links=checked("links", cables, axes),
        interference=checked("interference", pd.DataFrame(columns=[*names_of("interference"), *axes]), axes),
        machines=checked("machines", pd.DataFrame(list(machines), columns=list(names_of("machines")))),
        agreement=checked("agreement", pd.DataFrame(columns=[*names_of("agreement"), *axes]), axes),
        predictors=checked("predictors", pd.DataFrame(columns=[*names_of("predictors"), *axes]), axes),
    )


@pytest.fixture
def build() -> Callable[..., Tables]:
    """Give the builder of tables."""
    return make_tables
