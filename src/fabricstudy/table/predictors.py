"""Mapping metrics as predictors of the runtime: rank correlation over points that differ in the mapping only."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fabricstudy.core.columns import names_of
from fabricstudy.study.plan import Plan

from .ranks import MIN_ROWS, rank_correlation, rounded

PREDICTOR_COLUMNS = ("hop_bytes", "hops_max", "link_max_bytes", "link_rms_bytes", "expected_load_ns", "bound_ns")
"""Columns of `jobs` that are known before anything is simulated."""

_OF_GROUP = ("experiment", "seed", "machine_id", "engine")


def predictors(plan: Plan, keys: pd.DataFrame, jobs: pd.DataFrame) -> pd.DataFrame:
    """Return how well each metric of a mapping ranks the mappings by their simulated times.

    A group are the points of an experiment with equal labels on all axes but those that vary only the mapping, and one
    seed, since another one may draw another task graph. `keys` has one row a planned point, with the study's axes.

    Returns
    -------
    DataFrame
        One row a group, job and metric. Correlations are missing below six mappings and where the metric or the time is
        constant; the regret is missing below two.

    References
    ----------
    Jain, Bhatele, Robson, Gamblin, Kale: Predicting application performance using supervised learning on
    communication features. SC 2013.
    """
    moving = mapping_axes(plan)
    group = list(dict.fromkeys((*_OF_GROUP, *plan.axes)))
    planned = _without_mappings(keys, moving).groupby(group, sort=False, dropna=False)["point_id"].nunique()
    asked = planned.rename("mappings_planned").reset_index()
    timed = _without_mappings(jobs, moving)
    timed = timed[(timed["messages"] > 0) & timed["runtime_ns"].notna()].merge(asked, on=group)
    timed = timed[timed["mappings_planned"] > 1].drop_duplicates([*group, "job", "point_id"])
    rows = []
    for _, part in timed.groupby([*group, "job"], sort=False, dropna=False):
        head = {"at": part.index[0], "routing_kind": plan.points[part["point_id"].iloc[0]].point.routing.kind}
        rows += [{**head, "metric": name, **_facts(part[[name, "runtime_ns"]].dropna())} for name in PREDICTOR_COLUMNS]
    at = [row.pop("at") for row in rows]
    heads = timed.loc[at, [*group, "job", "job_name", "mappings_planned"]].reset_index(drop=True)
    facts = [name for name in names_of("predictors") if name not in heads]
    return pd.concat([heads, pd.DataFrame(rows, columns=facts)], axis=1)


def mapping_axes(plan: Plan) -> dict[str, set[str]]:
    """Return the axes of each experiment that vary only mappings; experiments without experiment are left out."""
    axes_of = {name: experiment.axes_below("jobs.*.mapping") for name, experiment in plan.study.all_experiments.items()}
    return {name: axes for name, axes in axes_of.items() if axes}


def non_mapping_axes(plan: Plan) -> list[str]:
    """Return the axes of the table: those that vary something else in some experiment."""
    moving = mapping_axes(plan)
    others = {
        axis
        for name, experiment in plan.study.all_experiments.items()
        for axis in experiment.sweep
        if axis not in moving.get(name, ())
    }
    return [axis for axis in plan.axes if axis in others]


def _without_mappings(frame: pd.DataFrame, moving: Mapping[str, set[str]]) -> pd.DataFrame:
    """Return the rows of experiments that vary only mappings along some axis, without their labels on these axes."""
    kept = frame[frame["experiment"].isin(list(moving))].copy()
    for name, axes in moving.items():
        kept.loc[kept["experiment"] == name, sorted(axes)] = None
    return kept


def _facts(both: pd.DataFrame) -> dict[str, Any]:
    metric, time_ns = (both[name].to_numpy(dtype=np.float64) for name in both)
    enough = len(both) >= MIN_ROWS
    return {
        "mappings": len(both),
        "spearman": rank_correlation("spearman", metric, time_ns) if enough else None,
        "kendall": rank_correlation("kendall", metric, time_ns) if enough else None,
        "regret": regret(metric, time_ns) if len(both) > 1 else None,
    }


def regret(metric: Sequence[float] | np.ndarray[Any, Any], time_ns: Sequence[float] | np.ndarray[Any, Any]) -> float:
    """Return the relative excess of the time at the least metric over the least time; ties count by their mean.

    Examples
    --------
    >>> regret([1, 2, 3], [12, 10, 30]), regret([1, 1, 3], [12, 10, 30])
    (0.19999999999999996, 0.10000000000000009)
    """
    metric, times = rounded(metric), np.asarray(time_ns, dtype=np.float64)
    return float(times[metric == metric.min()].mean() / times.min() - 1)
