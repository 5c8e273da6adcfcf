"""Selection of rows of a table for figures and claims, and its missing observations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from fabricstudy.analysis.base import keys_of
from fabricstudy.core.columns import DONE, KEYS, NAMES
from fabricstudy.core.phrasing import count_noun, join_words
from fabricstudy.study.figures import Condition, Selection, fulfils

from .files import Tables
from .schemas import axes_of, own_axes

VALUE = "(value)"
"""Column of the number of an observation; no axis has parentheses in its name."""

AGAINST = "(against)"
"""Column of the number that it is compared with."""

Conditions = Sequence[Mapping[str, Condition]]
"""Sets of conditions by column, of which rows fulfil one."""


@dataclass(frozen=True, eq=False)
class Observations:
    """Selected numbers."""

    frame: pd.DataFrame
    """Key columns, ``seed`` and `VALUE`; one row per observation, in the plan's order."""
    keys: list[str]
    """Columns that identify observations, without the seed."""
    noun: str
    """Kind of the selection: points, machines, runs or rows (of an analysis)."""
    needed: int
    """Size of the selection."""
    missing: dict[str, int]
    """Number of those without a number, by reason."""
    without: int = 0
    """Number of rows without a number, such as jobs, of points with numbers in other rows."""
    absent: dict[str, list[str]] = field(default_factory=dict)
    """Labels on the axes of the selection that no observation has, by axis."""
    failure: str = ""
    """Why the analysis failed that was to make the rows."""

    def gap(self) -> str:
        """Return a description of the missing observations, or ""."""
        if self.failure:
            return self.failure
        if not self.needed:
            return f"no {self.noun[:-1]} of the study is selected"
        if not self.missing:
            return ""
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(self.missing.items()))
        return f"{sum(self.missing.values())} of {self.needed} {self.noun} missing ({reasons})"

    def note(self) -> str:
        """Return a description of missing observations and labels, or "none missing"."""
        parts = [self.gap()] * bool(self.gap())
        parts += [f"{count_noun(self.without, 'row')} without a number"] * bool(self.without)
        parts += [f"no number for {axis} {join_words(labels)}" for axis, labels in self.absent.items()]
        return "; ".join(parts) or "none missing"


def label_text(label: Any) -> str:
    """Return a label as in the study: whole numbers without a decimal point.

    Examples
    --------
    >>> label_text(4.0), label_text(0.1234567), label_text(0.1 + 0.2), label_text("two jobs"), label_text(None)
    ('4', '0.1234567', '0.3', 'two jobs', 'none')
    """
    if pd.isna(label):
        return "none"
    if isinstance(label, float):
        return f"{label:.0f}" if label.is_integer() else f"{label:.15g}"
    return str(label)


def mask(frame: pd.DataFrame, where: Mapping[str, Condition]) -> pd.Series[Any]:
    """Return which rows fulfil all conditions; a missing column fulfils none."""
    chosen = pd.Series(True, index=frame.index)
    for name, condition in where.items():
        chosen &= _fulfils(frame[name], condition) if name in frame else False
    return chosen


def _fulfils(column: pd.Series[Any], condition: Condition) -> pd.Series[Any]:
    # In a column of objects, integers may be those of numpy.
    labels = column.dropna().drop_duplicates().infer_objects()
    wanted = [label for label, plain in zip(labels, labels.tolist(), strict=True) if fulfils(plain, condition)]
    return column.isin(wanted).fillna(False).astype(bool)


def observe(tables: Tables, selection: Selection, column: str, any_of: Conditions = ({},)) -> Observations:
    """Return the numbers in `column` of the selected rows that fulfil one of the sets of conditions `any_of`."""
    if selection.analysis is not None:
        return _of_analysis(tables, selection, column, any_of)
    if selection.schedule is not None:
        return _of_schedule(tables, selection, column, any_of)
    # Conditions on keys of the table, such as the link class, do not select points.
    of_rows = {*KEYS[selection.table], *NAMES.get(selection.table, ())} - set(tables.points)
    points = tables.points[tables.points["experiment"] == selection.experiment]
    points = _fulfilling(points, selection, any_of, leave_out=of_rows)
    if selection.table == "machines":
        return _of_machines(tables, selection, column, points)
    rows: pd.DataFrame = getattr(tables, selection.table)
    rows = _fulfilling(rows[rows["experiment"] == selection.experiment], selection, any_of)
    keys = _keys(tables, rows, selection)
    values = _per_point(rows, keys, selection, column)
    done = points["status"] == DONE
    missing = Counter(points.loc[~done, "status"])
    if selection.table == "predictors" and done.all():
        measured = _known(values)
        gaps = {"without a number": len(values) - len(measured)} if len(measured) < len(values) else {}
        return Observations(measured, keys, "rows", len(values), gaps)
    has = values[VALUE].notna()
    known = values.loc[has, "point_id"] if "point_id" in values else points["point_id"]
    missing["without a number"] = int((~points.loc[done, "point_id"].isin(known)).sum())
    without = int((~has & values["point_id"].isin(known)).sum()) if "point_id" in values else 0
    values = _known(values)
    absent = _absent(points, values, selection)
    return Observations(values, keys, "points", len(points), dict(+missing), without, absent)


def _valued(rows: pd.DataFrame, column: str, **columns: Any) -> pd.DataFrame:
    return rows.assign(**columns, **{VALUE: rows[column].astype(float)})


def _known(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows[VALUE].notna()].reset_index(drop=True)


def _absent(points: pd.DataFrame, values: pd.DataFrame, selection: Selection) -> dict[str, list[str]]:
    """Return the labels of the selected points, on the axes of the selection, that no value has."""
    axes = [axis for axis in points if axis in selection.axes() and axis in values and axis != "seed"]
    labels = {axis: list(dict.fromkeys(points[axis].map(label_text))) for axis in axes}
    present = {axis: set(values[axis].map(label_text)) for axis in axes}
    absent = {axis: [label for label in labels[axis] if label not in present[axis]] for axis in axes}
    return {axis: missing for axis, missing in absent.items() if missing}


def _keys(tables: Tables, rows: pd.DataFrame, selection: Selection) -> list[str]:
    """Return the columns that identify observations: the axes of their experiment, and the keys of rows of a point.

    The engine follows from the axes, so that it is a key only where the selection names it. The name of jobs replaces
    their number where the selection names it.
    """
    mentioned = selection.axes()
    named = {key: name for name, key in NAMES.get(selection.table, {}).items() if name in mentioned}
    of_rows = [named.get(key, key) for key in KEYS[selection.table] if key != "engine" or key in mentioned]
    of_experiment = own_axes(tables.points[tables.points["experiment"] == selection.experiment])
    return list(dict.fromkeys((*(axis for axis in axes_of(rows) if axis in of_experiment), *of_rows)))


def _per_point(rows: pd.DataFrame, keys: list[str], selection: Selection, column: str) -> pd.DataFrame:
    """Reduce the jobs of a point, or those of one name, to one number, missing if that of any job is.

    Other tables stay as they are.
    """
    if selection.table == "points":
        rows = rows[rows["status"] == DONE]
    if selection.table == "jobs":
        rows = rows[(rows["messages"] > 0) & ~rows["background"]]
    rows = _valued(rows, column)
    if selection.table != "jobs" or selection.reduce_jobs == "each":
        return rows
    keys[:] = [key for key in keys if key != "job"]
    groups: Any = rows.groupby([*keys, "seed", "point_id"], sort=False, dropna=False)[VALUE]
    reduction = geometric_mean if selection.reduce_jobs == "geometric-mean" else selection.reduce_jobs
    values: pd.DataFrame = groups.agg(reduction).where(groups.count() == groups.size()).reset_index()
    return values


def geometric_mean(values: pd.Series[float]) -> float:
    """Return the geometric mean of positive values."""
    return float(np.exp(np.log(values).mean()))


def _of_machines(tables: Tables, selection: Selection, column: str, points: pd.DataFrame) -> Observations:
    """Return one observation per machine, identified by the axes with one label for each machine."""
    labels = points.groupby("machine_id")
    mentioned = selection.axes()
    keys = [axis for axis in own_axes(points) if axis in mentioned or (labels[axis].nunique(dropna=False) <= 1).all()]
    rows = points.drop_duplicates(["machine_id", *keys])[["machine_id", *keys]].assign(seed=0)
    rows = _valued(rows.merge(tables.machines[["machine_id", column]], on="machine_id", how="left"), column)
    unknown = int(rows.loc[rows[VALUE].isna(), "machine_id"].nunique())
    missing = {f"without {column}": unknown} if unknown else {}
    values = _known(rows)
    return Observations(values, keys, "machines", len(labels), missing, 0, _absent(points, values, selection))


def _of_schedule(tables: Tables, selection: Selection, column: str, any_of: Conditions) -> Observations:
    """Return one observation per run, or a size class of one; a list of partitions has no seeds."""
    frame: pd.DataFrame = getattr(tables, selection.table)
    frame = frame[frame["schedule"] == selection.schedule]
    axes = [axis for axis in axes_of(frame) if frame[axis].notna().any()]
    rows = _fulfilling(frame, selection, any_of)
    keys = [*axes, *KEYS[selection.table]]
    if selection.table == "partition_lists":
        return _of_rows(_valued(rows, column, seed=0), keys, selection)
    runs = tables.schedules[tables.schedules["schedule"] == selection.schedule]
    runs = _fulfilling(runs, selection, any_of, leave_out=KEYS[selection.table])
    missing = Counter(runs.loc[runs["status"] != DONE, "status"])
    rows = _known(_valued(rows, column))
    done = runs.loc[runs["status"] == DONE, "run_id"]
    missing["without a number"] = int((~done.isin(rows["run_id"])).sum())
    return Observations(rows, keys, "runs", len(runs), dict(+missing), 0, _absent(runs, rows, selection))


def _of_rows(rows: pd.DataFrame, keys: list[str], selection: Selection) -> Observations:
    values = _known(rows)
    absent = _absent(rows, values, selection)
    return Observations(values, keys, "rows", len(values), {}, len(rows) - len(values), absent)


def _fulfilling(
    frame: pd.DataFrame, selection: Selection, any_of: Conditions, leave_out: Collection[str] = ()
) -> pd.DataFrame:
    """Return the rows that fulfil the selection's conditions and one set of the others."""
    chosen = pd.Series(False, index=frame.index)
    for more in any_of:
        where = {**selection.where, **more}
        chosen |= mask(frame, {name: where[name] for name in where if name not in leave_out})
    return frame[chosen]


def _of_analysis(tables: Tables, selection: Selection, column: str, any_of: Conditions) -> Observations:
    """Return one observation per row; an empty cell, such as a bound that does not apply, does not count as missing."""
    frame = analysis_rows(tables, selection, any_of)
    # A condition on a column does not make it a key.
    mentioned = (selection.axes() - set(selection.where) - set(selection.numbers())) & set(frame)
    kinds = frame["kind"].unique()
    keys = list(dict.fromkeys((*(key for kind in kinds for key in keys_of(kind)), *sorted(mentioned))))
    failure = tables.failure_of(selection.analysis)
    return replace(_of_rows(_valued(frame, column, seed=0), keys, selection), failure=failure)


def analysis_rows(tables: Tables, selection: Selection, any_of: Conditions = ({},)) -> pd.DataFrame:
    """Return the rows of an analysis that a selection selects."""
    frame = tables.analyses.get(str(selection.analysis), pd.DataFrame({"kind": []}, dtype=str))
    return _fulfilling(frame, selection, any_of)


def group_by(frame: pd.DataFrame, keys: Sequence[str]) -> Any:
    """Group values by keys; without any, by a constant."""
    return frame.assign(**{"": 0}).groupby(["", *keys], sort=False, dropna=False)[VALUE]


def medians(frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Return the median over all rows with equal keys, such as those of several seeds."""
    middle: pd.DataFrame = group_by(frame, keys).median().reset_index().drop(columns="")
    return middle


def join(left: pd.DataFrame, right: pd.DataFrame, on: list[str]) -> pd.DataFrame:
    """Join rows with equal keys; the value of `right` becomes `AGAINST`."""
    right = right.rename(columns={VALUE: AGAINST})
    return left.merge(right, on=on) if on else left.merge(right, how="cross")
