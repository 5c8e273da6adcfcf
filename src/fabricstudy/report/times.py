"""Tables of runtimes for the page: interference, runtime over lower bounds, mapping metrics as predictors."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fabricstudy.core.phrasing import count_noun
from fabricstudy.table.files import Tables
from fabricstudy.table.schemas import axes_of
from fabricstudy.table.select import label_text

from .text import NO_NUMBER, TextTable, min_median_max, number, reduced, seeds_of, summarise

EQUAL_TOLERANCE = 1e-9
_MOST_NAMED = 20
_OVER, _RANGE = "(over)", "(range)"


def interference(rows: pd.DataFrame) -> TextTable:
    """Summarise the slowdowns of each experiment and their run-to-run variation."""
    compared = rows[rows["slowdown"].notna()]
    compared = compared.assign(**{_RANGE: compared["slowdown_high"] - compared["slowdown_low"]})

    def seed_range(part: pd.DataFrame, how: str) -> str:
        return number(part[_RANGE].agg(how), 2) if seeds_of(part) > 1 else NO_NUMBER

    columns = [
        ("jobs", len), ("seeds", seeds_of), *min_median_max("slowdown", 3),
        ("run-to-run range, median", lambda part: seed_range(part, "median")),
        ("max", lambda part: seed_range(part, "max")),
        ("below 1", lambda part: int(part["below_one"].sum())),
    ]  # fmt: skip
    return summarise(compared, {"experiment": "experiment", "engine": "engine"}, columns)


def below_one(rows: pd.DataFrame) -> tuple[str, TextTable]:
    """Return a heading on jobs that run faster among others than alone, and a table of them, medians over seeds."""
    low = rows[rows["below_one"].fillna(False).astype(bool)]
    if low.empty:
        return "", TextTable((), [])
    axes = [axis for axis in axes_of(rows) if rows[axis].nunique(dropna=False) > 1]
    keys = {name: name for name in ("experiment", *axes, "engine", "job_name")}

    def seed_range(part: pd.DataFrame) -> str:
        ends = f"{number(part['slowdown_low'].min(), 3)} to {number(part['slowdown_high'].max(), 3)}"
        return ends if seeds_of(part) > 1 else NO_NUMBER

    columns = [("slowdown", reduced("slowdown", "median", 3)), ("over the seeds", seed_range), ("seeds", seeds_of)]
    heading = f"Faster with other jobs than in the baseline run: {count_noun(low['point_id'].nunique(), 'point')}"
    return heading, summarise(low, keys, columns)


def bounds(jobs: pd.DataFrame) -> TextTable:
    """Summarise runtimes over the larger of their two lower bounds, and name the job with the largest ratio."""
    bounded = jobs[jobs["over_bound"].notna()]
    bounded = bounded.assign(**{_OVER: bounded[["over_bound", "over_phase_bound"]].min(axis="columns")})
    columns = [
        ("jobs", len),
        ("phase bound is larger", lambda part: int((part["phase_bound_ns"] > part["bound_ns"]).sum())),
        *min_median_max(_OVER),
        ("below 1", lambda part: int((part[_OVER] < 1 - EQUAL_TOLERANCE).sum())),
        ("max at", lambda part: _job_text(part[part[_OVER] == part[_OVER].max()].iloc[0], part)),
    ]
    keys = {"experiment": "experiment", "bound_method": "link bound from"}
    return summarise(bounded, keys, columns, texts=1)


def _job_text(job: pd.Series[Any], among: pd.DataFrame) -> str:
    """Name a job by its point and by the axes that vary among these rows."""
    axes = [axis for axis in axes_of(among) if among[axis].nunique() > 1]
    labels = "".join(f", {axis} {label_text(job[axis])}" for axis in axes)
    return f"{job['job_name']} (job {job['job']}) of {job['point_id']}{labels}, seed {job['seed']}"


def below_bounds(jobs: pd.DataFrame) -> str:
    """Return a sentence that names the points with a runtime below the link bound; empty if there are none.

    That is an error of an engine or of the bound.
    """
    bounded = jobs[jobs["over_bound"].notna()].drop_duplicates(["point_id", "job"])
    below = bounded[bounded["over_bound"] < 1 - EQUAL_TOLERANCE].sort_values("over_bound", kind="stable")
    if below.empty:
        return ""
    named = [
        f"{row.point_id} ({row.engine}, {row.job_name}: {number(row.over_bound, 3)})"
        for row in below.head(_MOST_NAMED).itertuples()
    ]
    more = f" and {len(below) - _MOST_NAMED} more" if len(below) > _MOST_NAMED else ""
    return f"{len(below)} of {len(bounded)} runtimes are below their lower bound: {', '.join(named)}{more}."


def predictor_summary(tables: Tables) -> TextTable:
    """Summarise the groups of each experiment, engine, routing and metric."""
    keys = {"experiment": "experiment", "engine": "engine", "routing_kind": "routing", "metric": "metric"}
    columns = [
        ("groups", len), ("seeds", seeds_of), ("mappings", _mappings),
        ("Spearman, median", reduced("spearman", "median", 3)), ("min", reduced("spearman", "min", 3)),
        ("Kendall, median", reduced("kendall", "median", 3)), ("min", reduced("kendall", "min", 3)),
        ("regret, median (%)", reduced("regret", "median", 3, 100)), ("max (%)", reduced("regret", "max", 3, 100)),
    ]  # fmt: skip
    return summarise(tables.predictors, keys, columns)


def _mappings(part: pd.DataFrame) -> str:
    """Return the number of mappings of a group, of those planned if some have no runtime."""
    least, most = part["mappings"].min(), part["mappings"].max()
    count = str(least) if least == most else f"{least}{NO_NUMBER}{most}"
    planned = part["mappings_planned"].max()
    return count if least == planned else f"{count} of {planned}"
