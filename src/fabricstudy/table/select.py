"""Rows of a table that a figure or a claim asks for, and what is missing from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fabricstudy.study.figures import KEYS, Condition, Range, Selection

from .schemas import axes_of
from .store import Tables


@dataclass(frozen=True, eq=False)
class Observations:
    """Selected numbers.

    Parameters
    ----------
    frame : DataFrame
        The key columns, ``seed`` and ``value``; one row an observation, in the plan's order.
    keys : list of str
        Columns that tell observations apart, without the seed.
    noun : str
        What was selected: points or machines.
    needed : int
        How many the selection asks for.
    missing : dict
        How many of them have no number, by reason.
    """

    frame: pd.DataFrame
    keys: list[str]
    noun: str
    needed: int
    missing: dict[str, int]

    def gap(self) -> str:
        """Say what is missing; empty if nothing is."""
        if not self.needed:
            return f"no {self.noun[:-1]} of the study is selected"
        if not self.missing:
            return ""
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(self.missing.items()))
        return f"{sum(self.missing.values())} of {self.needed} {self.noun} missing ({reasons})"


def mask(frame: pd.DataFrame, where: Mapping[str, Condition]) -> pd.Series[Any]:
    """Tell which rows fulfil all conditions; a column that is not there fulfils none."""
    chosen = pd.Series(True, index=frame.index)
    for name, condition in where.items():
        chosen &= _fulfils(frame[name], condition) if name in frame else False
    return chosen


def _fulfils(column: pd.Series[Any], condition: Condition) -> pd.Series[Any]:
    number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if isinstance(condition, Range):
        if not number:
            return pd.Series(False, index=column.index)
        low = -np.inf if condition.min is None else condition.min
        high = np.inf if condition.max is None else condition.max
        return column.between(low, high).fillna(False).astype(bool)
    wanted = condition if isinstance(condition, tuple) else (condition,)
    if pd.api.types.is_string_dtype(column):
        wanted = tuple(str(label) for label in wanted)
    else:
        # In pandas 1 equals True; a study means a number or a truth value, never both.
        wanted = tuple(label for label in wanted if isinstance(label, bool) != number and not isinstance(label, str))
    return column.isin(wanted).fillna(False).astype(bool)


def observe(
    tables: Tables, selection: Selection, column: str, also: Mapping[str, Condition] | None = None
) -> Observations:
    """Give the numbers in `column` of the selected rows.

    Parameters
    ----------
    tables : Tables
        The study's tables.
    selection : Selection
        Table, experiment and conditions.
    column : str
        A number of that table.
    also : mapping, optional
        Further conditions.
    """
    where = {**selection.where, **(also or {})}
    points = tables.points[tables.points["experiment"] == selection.experiment]
    points = points[mask(points, {name: where[name] for name in where if name in points})]
    if selection.table == "machines":
        return _of_machines(tables, selection, column, points)
    rows: pd.DataFrame = getattr(tables, selection.table)
    rows = rows[rows["experiment"] == selection.experiment]
    rows = rows[mask(rows, where)]
    keys = list(dict.fromkeys((*axes_of(rows), *KEYS[selection.table])))
    values = _per_point(rows, keys, selection, column)
    done = points["status"] == "done"
    missing = Counter(points.loc[~done, "status"])
    known = values.loc[values["value"].notna(), "point_id"] if "point_id" in values else points["point_id"]
    missing["without a number"] = int((~points.loc[done, "point_id"].isin(known)).sum())
    values = values[values["value"].notna()].reset_index(drop=True)
    return Observations(values, keys, "points", len(points), {k: n for k, n in missing.items() if n})


def _per_point(rows: pd.DataFrame, keys: list[str], selection: Selection, column: str) -> pd.DataFrame:
    """Reduce the jobs of a point to one number, which is missing if any job's is; other tables stay as they are."""
    if selection.table == "points":
        rows = rows[rows["status"] == "done"]
    if selection.table == "jobs":
        rows = rows[rows["messages"] > 0]
    rows = rows.assign(value=rows[column].astype(float))
    if selection.table != "jobs" or selection.over_jobs == "each":
        return rows
    keys.remove("job")
    groups = rows.groupby([*keys, "seed", "point_id"], sort=False, dropna=False)["value"]
    values = groups.agg([selection.over_jobs, "count", "size"]).reset_index()
    values["value"] = values[selection.over_jobs].where(values["count"] == values["size"])
    return values


def _of_machines(tables: Tables, selection: Selection, column: str, points: pd.DataFrame) -> Observations:
    """One observation a machine, told apart by the axes that have one label for each."""
    labels = points.groupby("machine_id")
    mentioned = selection.axes()
    keys = [
        axis for axis in axes_of(points) if axis in mentioned or (labels[axis].nunique(dropna=False) <= 1).all()
    ]
    rows = points.drop_duplicates(["machine_id", *keys])[["machine_id", *keys]].assign(seed=0)
    rows = rows.merge(tables.machines[["machine_id", column]], on="machine_id", how="left")
    rows = rows.assign(value=rows[column].astype(float))
    unknown = int(rows.loc[rows["value"].isna(), "machine_id"].nunique())
    missing = {f"without {column}": unknown} if unknown else {}
    values = rows[rows["value"].notna()].reset_index(drop=True)
    return Observations(values, keys, "machines", len(labels), missing)
