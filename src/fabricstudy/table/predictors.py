"""Mapping metrics as predictors of the runtime: rank correlation over points that differ in the mapping only."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fabricstudy.core.arrays import Floats
from fabricstudy.core.columns import names_of
from fabricstudy.study.plan import Plan

from .ranks import MIN_ROWS, rank_correlation, rounded

PREDICTOR_COLUMNS = ("hop_bytes", "hops_max", "link_max_bytes", "link_rms_bytes", "expected_load_ns", "bound_ns")
"""Columns of `jobs` that are known before the simulation."""

_OF_GROUP = ("experiment", "seed", "machine_id", "engine")


def predictors(plan: Plan, keys: pd.DataFrame, jobs: pd.DataFrame) -> pd.DataFrame:
    """Return how well each metric of a mapping ranks the mappings by their simulated runtimes.

    A group is the points of an experiment with the same seed, and the same label on each axis that varies more than the
    mapping. `keys` has one row per planned point, with the study's axes.

    Returns
    -------
    DataFrame
        One row per group, job and metric. Correlations are missing below six mappings and where the metric or the time
        is constant; the regret is missing below two.

    References
    ----------
    Jain, Bhatele, Robson, Gamblin, Kale: Predicting application performance using supervised learning on
    communication features. SC 2013.
    """
    varied = mapping_axes(plan)
    group = list(dict.fromkeys((*_OF_GROUP, *plan.axes)))
    planned = _without_mappings(keys, varied).groupby(group, sort=False, dropna=False)["point_id"].nunique()
    timed = _without_mappings(jobs, varied)
    timed = timed[(timed["messages"] > 0) & timed["runtime_ns"].notna()]
    timed = timed.merge(planned.rename("mappings_planned").reset_index(), on=group)
    timed = timed[timed["mappings_planned"] > 1].drop_duplicates([*group, "job", "point_id"])
    heads, rows = [], []
    for _, part in timed.groupby([*group, "job"], sort=False, dropna=False):
        kind = plan.points[part["point_id"].iloc[0]].point.routing.kind
        *metrics, time_ns = part[[*PREDICTOR_COLUMNS, "runtime_ns"]].to_numpy(dtype=np.float64, na_value=np.nan).T
        for name, metric in zip(PREDICTOR_COLUMNS, metrics, strict=True):
            heads.append(part.index[0])
            known = ~np.isnan(metric)
            rows.append({"routing_kind": kind, "metric": name, **_statistics(metric[known], time_ns[known])})
    frame = timed.loc[heads, [*group, "job", "job_name", "mappings_planned"]].reset_index(drop=True)
    columns = [name for name in names_of("predictors") if name not in frame]
    return pd.concat([frame, pd.DataFrame(rows, columns=columns)], axis=1)


def mapping_axes(plan: Plan) -> dict[str, set[str]]:
    """Return the axes of each experiment that vary only mappings; experiments without such axes are left out."""
    axes_of = {name: experiment.axes_below("jobs.*.mapping") for name, experiment in plan.study.all_experiments.items()}
    return {name: axes for name, axes in axes_of.items() if axes}


def non_mapping_axes(plan: Plan) -> list[str]:
    """Return the axes that vary more than the mapping in some experiment."""
    varied, experiments = mapping_axes(plan), plan.study.all_experiments
    others = {axis for name in experiments for axis in experiments[name].sweep if axis not in varied.get(name, ())}
    return [axis for axis in plan.axes if axis in others]


def _without_mappings(frame: pd.DataFrame, varied: Mapping[str, set[str]]) -> pd.DataFrame:
    """Return the rows of the experiments in `varied`, without labels on its axes."""
    rows = frame[frame["experiment"].isin(list(varied))].copy()
    for name, axes in varied.items():
        rows.loc[rows["experiment"] == name, sorted(axes)] = None
    return rows


def _statistics(metric: Floats, time_ns: Floats) -> dict[str, Any]:
    enough = len(metric) >= MIN_ROWS
    return {
        "mappings": len(metric),
        "spearman": rank_correlation("spearman", metric, time_ns) if enough else None,
        "kendall": rank_correlation("kendall", metric, time_ns) if enough else None,
        "regret": regret(metric, time_ns) if len(metric) > 1 else None,
    }


def regret(metric: Sequence[float] | np.ndarray[Any, Any], time_ns: Sequence[float] | np.ndarray[Any, Any]) -> float:
    """Return the runtime at the smallest metric over the shortest runtime, minus 1; ties count by their mean.

    Examples
    --------
    >>> regret([1, 2, 3], [12, 10, 30]), regret([1, 1, 3], [12, 10, 30])
    (0.19999999999999996, 0.10000000000000009)
    """
    metric, times = rounded(metric), np.asarray(time_ns, dtype=np.float64)
    return float(times[metric == metric.min()].mean() / times.min() - 1)
