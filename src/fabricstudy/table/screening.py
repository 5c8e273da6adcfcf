"""Which combinations of a screened experiment are simulated, and how probably the best ones are among them.

Runtimes of the sample on both engines yield the error of the estimate: the logarithm of their ratio, whose mean cancels
where two combinations are compared and whose variance is assumed to be the same for all of them. A combination is on
the Pareto front of price and runtime only if it is faster than each one that is no dearer, so that the probability that
it is faster than the one of these with the least estimate is an upper bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr

from fabricstudy.core.arrays import Floats
from fabricstudy.core.columns import DONE, SCREENING, names_of
from fabricstudy.structure.cost import ALL
from fabricstudy.study.plan import Plan
from fabricstudy.study.screening import Screen, sampled

from .files import Tables
from .repetitions import ERROR, combination_key, longest_ns
from .schemas import axes_of
from .select import geometric_mean


@dataclass(frozen=True, eq=False)
class Screened:
    """The combinations of an experiment for one workload."""

    experiment: str
    screen: Screen
    rows: pd.DataFrame
    """Their rows of ``points`` on the screening engine, those with a runtime, with the columns of `_WITH`."""
    errors: Floats
    """Logarithms of the simulated runtimes over the estimates of the sample, all workloads together."""

    @property
    def over_fastest(self) -> Floats:
        """Estimates over the least one, for a front over the least one of those that are no dearer."""
        estimates, price = (self.rows[name].to_numpy(dtype=float) for name in ("estimate_ns", "price_per_node"))
        order = np.lexsort((estimates, price))  # NaN, without a front, is one price
        least = np.empty(len(order))
        least[order] = np.minimum.accumulate(estimates[order])
        return estimates / least

    @property
    def miss_probability(self) -> Floats:
        """Probability that each combination is faster than the one that `over_fastest` compares it with."""
        spread = sqrt(2) * self.errors.std(ddof=1) if len(self.errors) > 1 else np.inf
        distance = np.log(self.over_fastest)
        if spread == 0:
            return np.where(distance > 0, 0.0, 0.5)
        return np.asarray(stdtr(max(1, len(self.errors) - 1), -distance / spread))

    @property
    def outcomes(self) -> list[str]:
        """Whether and why each combination is simulated."""
        most = ceil(self.screen.keep * len(self.rows))
        rank = pd.Series(self.over_fastest).rank(method="min")
        front = self.screen.or_ == "front"
        return [
            ("nearest to the front" if front else "among the fastest") if position <= most
            else ("possibly on the front" if front else "possibly the fastest") if probability > ERROR
            else "sampled" if drawn
            else "not simulated"
            for position, probability, drawn in zip(rank, self.miss_probability, self.rows["sampled"], strict=True)
        ]  # fmt: skip


def _screened(plan: Plan, tables: Tables) -> Iterator[Screened]:
    study, times_ns = plan.study, longest_ns(tables)
    points = tables.points.assign(time_ns=tables.points["point_id"].map(times_ns).astype(float))
    axes = [axis for axis in axes_of(points) if axis != "engine"]
    workloads = [axis for axis in axes if axis not in study.design_axes]
    estimates = points[(points["experiment"] == SCREENING) & points["time_ns"].notna()]
    for name, part in study.all_experiments.items():
        if part.screen is None:
            continue
        of_experiment = [row for row in plan.rows if row.experiment == name]
        labels = {combination_key(name, row.labels): tuple(row.labels.values()) for row in of_experiment}
        drawn = sampled(part.screen, of_experiment)
        simulated = points[(points["experiment"] == name) & (points["status"] == DONE) & points["time_ns"].notna()]
        means: dict[tuple[str, ...], float] = {}
        for _, rows in simulated.groupby(axes, sort=False, dropna=False):
            means[combination_key(name, rows.iloc[0][axes].to_dict())] = geometric_mean(rows["time_ns"])
        keys = [combination_key(name, row) for row in estimates[axes].to_dict("records")]
        own = estimates[[key in labels for key in keys]]
        own_keys = [key for key in keys if key in labels]
        price_of = {} if part.screen.or_ is None else _prices(plan, own)
        own = own.assign(
            estimate_ns=own["time_ns"],
            price_per_node=own["machine_id"].map(price_of).astype(float),
            sampled=[labels[key] in drawn for key in own_keys],
            ratio=[means.get(key, np.nan) / ns for key, ns in zip(own_keys, own["time_ns"], strict=True)],
        )
        errors = np.log(own.loc[own["sampled"] & own["ratio"].notna(), "ratio"].to_numpy(dtype=float))
        for _, rows in own.assign(**{"": 0}).groupby(["", *workloads], sort=False, dropna=False):
            yield Screened(name, part.screen, rows, errors)


def _prices(plan: Plan, estimates: pd.DataFrame) -> dict[str, float]:
    """Return the price per node of each machine, by the study's analysis of prices."""
    assert plan.study.cost is not None
    point_of = estimates.drop_duplicates("machine_id").set_index("machine_id")["point_id"]
    machines = {machine_id: plan.points[name].point.machine for machine_id, name in point_of.items()}
    bill = plan.study.cost.model_copy(update={"machines": machines}).rows()
    return {row["machine"]: row["price_per_node"] for row in bill if row["part"] == ALL}


def screened_points(plan: Plan, tables: Tables) -> set[str]:
    """Return the points of the combinations that are simulated.

    If results decide how many seeds they have, this holds for the sample, which has the first ones; others have all.
    """
    axes = [axis for axis in axes_of(tables.points) if axis != "engine"]
    last_seed = {
        combination_key(group.experiment, labels): seeds.first if drawn and seeds.is_adaptive else max(seeds.all)
        for group in _screened(plan, tables)
        for seeds in [plan.study.all_experiments[group.experiment].seeds]
        for labels, drawn, outcome in zip(
            group.rows[axes].to_dict("records"), group.rows["sampled"], group.outcomes, strict=True
        )
        if outcome != "not simulated"
    }
    rows = [row for row in plan.rows if row.seed <= last_seed.get(combination_key(row.experiment, row.labels), -1)]
    return {name for row in rows for name in (row.point_id, *row.baseline_ids) if name}


def screening_table(plan: Plan, tables: Tables) -> pd.DataFrame:
    """Return a row for each combination that was screened."""
    axes = [axis for axis in axes_of(tables.points) if axis != "engine"]
    rows: list[dict[str, Any]] = []
    for group in _screened(plan, tables):
        columns = zip(group.over_fastest, group.miss_probability, group.outcomes, strict=True)
        for row, (over, probability, outcome) in zip(group.rows.to_dict("records"), columns, strict=True):
            rows.append({
                **{name: row[name] for name in (*axes, "engine", "estimate_ns", "ratio", "price_per_node")},
                "experiment": group.experiment, "seed": None, "over_fastest": over, "miss_probability": probability,
                "outcome": outcome,
            })  # fmt: skip
    return pd.DataFrame(rows, columns=list(dict.fromkeys((*names_of("screening"), *axes_of(tables.points)))))
