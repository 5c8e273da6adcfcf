"""How many seeds each combination of an experiment needs, and the intervals of what was measured with them.

Two stages. After the first one, a precision needs as many seeds as Stein's rule states, which depends on the variance
of the first stage alone: the interval has its coverage whatever that variance is [1]_. A decision is made after the
first or after all seeds, at half of the error each (Bonferroni), so that it is wrong in 5 % of the cases at most [2]_.
Both take logarithms: ratios of runtimes become differences, and skewed times nearly symmetric. Values that are compared
have the same seeds, so that differences are taken seed by seed.

References
----------
.. [1] Stein, A two-sample test for a linear hypothesis whose power is independent of the variance, Annals of
   Mathematical Statistics 16 (1945), 243-258.
.. [2] Jennison and Turnbull, Group Sequential Methods, Chapman and Hall 2000, chapter 9.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from fabricstudy.core.arrays import Floats
from fabricstudy.core.columns import DONE, UNDECIDED, names_of
from fabricstudy.study.model import Study
from fabricstudy.study.plan import Plan
from fabricstudy.study.seeds import DECIDED, Seeds

from .claims import judge
from .files import Tables
from .schemas import axes_of
from .select import label_text, mask

ERROR = 0.05
"""Probability that an interval does not contain the geometric mean, and that a decision is wrong."""


@dataclass(frozen=True)
class Interval:
    """A geometric mean with its interval."""

    mean: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """The upper end over the mean, minus 1."""
        return self.high / self.mean - 1

    @property
    def excludes_one(self) -> bool:
        return self.low > 1 or self.high < 1


def stein_seeds(first: Floats, half_width: float, most: int) -> int:
    """Return how many seeds give an interval of this relative half width.

    Parameters
    ----------
    first
        Values of the first stage, at least two.
    half_width
        Upper end of the interval over the geometric mean, minus 1.
    most
        Number of seeds that is not exceeded.

    Examples
    --------
    >>> stein_seeds(np.array([1.0, 1.0, 1.0]), 0.02, 30), stein_seeds(np.array([1.0, 1.01, 0.99]), 0.02, 30)
    (3, 5)
    """
    scale = stdtrit(len(first) - 1, 1 - ERROR / 2) * np.log(first).std(ddof=1) / np.log1p(half_width)
    return int(np.clip(np.ceil(scale**2), len(first), most))


def stein_interval(values: Floats, first: int) -> Interval:
    """Return the geometric mean of all values with its 95 % interval, by the variance of the `first` ones."""
    return _interval(values, np.log(values[:first]), ERROR)


def look_interval(values: Floats) -> Interval:
    """Return the geometric mean with the interval of one of two looks."""
    return _interval(values, np.log(values), ERROR / 2)


def _interval(values: Floats, of_variance: Floats, error: float) -> Interval:
    mean = np.log(values).mean()
    half = stdtrit(len(of_variance) - 1, 1 - error / 2) * of_variance.std(ddof=1) / np.sqrt(len(values))
    return Interval(*(float(value) for value in np.exp((mean, mean - half, mean + half))))


@dataclass(frozen=True, eq=False)
class Combination:
    """The points of one combination of values, in the order of the seeds."""

    experiment: str
    labels: dict[str, Any]
    """Label on each axis, and the engine."""
    times_ns: Floats
    """Runtimes, up to the first point without one."""
    cpu_s: float
    """Mean processor time of a point."""
    rule: Seeds

    @property
    def is_repeatable(self) -> bool:
        """Whether all points of the first stage have a runtime."""
        return len(self.times_ns) >= self.rule.first

    @property
    def first_ns(self) -> Floats:
        return self.times_ns[: self.rule.first]

    @property
    def seeds_needed(self) -> int:
        """Seeds that the wanted precision needs, up to ten times the most that are allowed."""
        return stein_seeds(self.first_ns, float(self.rule.until), self.rule.most_estimated)


def longest_ns(tables: Tables) -> pd.Series[float]:
    """Return the runtime of each point, by its id: that of its slowest job."""
    runtimes: pd.Series[float] = tables.jobs[~tables.jobs["background"]].groupby("point_id")["runtime_ns"].max()
    return runtimes


def _combinations(study: Study, tables: Tables) -> Iterator[Combination]:
    rules = {name: part.seeds for name, part in study.all_experiments.items() if part.seeds.is_adaptive}
    points = tables.points[tables.points["experiment"].isin(list(rules)) & (tables.points["status"] == DONE)]
    points = points.assign(time_ns=points["point_id"].map(longest_ns(tables)).astype(float)).sort_values(
        "seed", kind="stable"
    )
    axes = list(dict.fromkeys((*axes_of(points), "engine")))
    for _, rows in points.groupby(["experiment", *axes], sort=False, dropna=False):
        head = rows.iloc[0]
        known = (rows["seed"].to_numpy() == np.arange(1, len(rows) + 1)) & rows["time_ns"].notna().to_numpy()
        times_ns = rows["time_ns"].to_numpy()[: int(np.cumprod(known).sum())]
        labels = {axis: head[axis] for axis in axes}
        yield Combination(head["experiment"], labels, times_ns, float(rows["cpu_s"].mean()), rules[head["experiment"]])


@dataclass(frozen=True, eq=False)
class Order:
    """Two combinations that differ in the label on one axis."""

    axis: str
    left: Combination
    right: Combination

    @property
    def ratios(self) -> Floats:
        """Ratios of the runtimes, left over right, seed by seed."""
        common = min(len(self.left.times_ns), len(self.right.times_ns))
        return np.asarray(self.left.times_ns[:common] / self.right.times_ns[:common])

    @property
    def interval(self) -> Interval:
        """Interval of the ratio of the runtimes."""
        return look_interval(self.ratios)

    @property
    def seeds_needed(self) -> int:
        """Seeds that decide it if mean and variance stay, up to ten times the most that are allowed."""
        logarithms, limit = np.log(self.ratios), self.left.rule.most_estimated
        seeds = np.arange(len(logarithms), limit)
        half_widths = stdtrit(seeds - 1, 1 - ERROR / 4) * logarithms.std(ddof=1) / np.sqrt(seeds)
        enough = seeds[half_widths < abs(logarithms.mean())]
        return int(enough[0]) if len(enough) else limit

    @property
    def is_decided(self) -> bool:
        """Whether one is faster, or both are equal with each seed."""
        interval = self.interval
        return interval.excludes_one or interval.low == interval.high == 1


def _orders(chosen: Iterable[Combination]) -> Iterator[Order]:
    groups: dict[tuple[Any, ...], list[Combination]] = {}
    for one in chosen:
        for axis in one.rule.decide if one.is_repeatable else ():
            rest = tuple(str(label) for name, label in one.labels.items() if name != axis)
            groups.setdefault((one.experiment, axis, *rest), []).append(one)
    for (_, axis, *_rest), group in groups.items():
        yield from (Order(axis, left, right) for left, right in combinations(group, 2))


def _of_undecided_claims(study: Study, tables: Tables, chosen: list[Combination]) -> Iterator[Combination]:
    """Yield the combinations on which an undecided part of a claim is based."""
    verdicts = judge(study.claims, tables)
    undecided = set(
        zip(*(verdicts.loc[verdicts["verdict"] == UNDECIDED, name] for name in ("claim", "part")), strict=True)
    )
    frame = pd.DataFrame([{"experiment": one.experiment, **one.labels} for one in chosen])
    for claim in study.claims:
        for number, part in enumerate(claim.parts):
            for measure in part.measures() if (claim.id, number) in undecided else ():
                where = {name: condition for name, condition in measure.where.items() if name in frame}
                selected = mask(frame, {"experiment": measure.experiment, **where})
                yield from (one for one, wanted in zip(chosen, selected, strict=True) if wanted)


def needed_points(plan: Plan, tables: Tables) -> set[str]:
    """Return the points of the second stage that a precision or a decision needs; `tables` are of the first stage.

    A budget pays the cheapest combinations first, so that most of them are finished.
    """
    chosen = [one for one in _combinations(plan.study, tables) if one.is_repeatable]
    undecided = {id(one) for order in _orders(chosen) if not order.is_decided for one in (order.left, order.right)}
    undecided |= {id(one) for one in _of_undecided_claims(plan.study, tables, chosen)}
    wanted = [(one, _seeds_wanted(one, id(one) in undecided)) for one in chosen]
    seeds = {combination_key(one.experiment, one.labels): count for one, count in _affordable(wanted)}
    needed: set[str] = set()
    for row in plan.rows:
        engine = plan.points[row.point_id].point.engine.kind
        if row.seed <= seeds.get(combination_key(row.experiment, {**row.labels, "engine": engine}), 0):
            needed |= {row.point_id, *(baseline for baseline in row.baseline_ids if baseline)}
    return needed


def combination_key(experiment: str, labels: Mapping[Any, Any]) -> tuple[str, ...]:
    """Return a key of a combination that is the same for labels of the plan and of tables."""
    return experiment, *(f"{name} {label_text(label)}" for name, label in sorted(labels.items()))


def _seeds_wanted(one: Combination, undecided: bool) -> int:
    if one.rule.until == DECIDED:
        return one.rule.most if undecided else one.rule.first
    return min(one.seeds_needed, one.rule.most)


def _affordable(wanted: list[tuple[Combination, int]]) -> Iterator[tuple[Combination, int]]:
    left_s = {one.experiment: one.rule.budget_cpu_s for one, _ in wanted}
    for one, seeds in sorted(wanted, key=lambda entry: (entry[1] - entry[0].rule.first) * entry[0].cpu_s):
        cost_s = (seeds - one.rule.first) * one.cpu_s
        budget_s = left_s[one.experiment]
        if budget_s is None or cost_s <= budget_s:
            left_s[one.experiment] = None if budget_s is None else budget_s - cost_s
            yield one, seeds


def repetition_rows(study: Study, tables: Tables) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables `repetitions`, a row a combination, and `orders`, a row a pair of values."""
    chosen = list(_combinations(study, tables))
    orders = list(_orders(chosen))
    to_decide: dict[int, int] = {}
    for order in orders:
        for one in () if order.is_decided else (order.left, order.right):
            to_decide[id(one)] = max(to_decide.get(id(one), 0), order.seeds_needed)
    rows = [_repetitions(one, to_decide.get(id(one))) for one in chosen]
    pairs = [_order_row(order) for order in orders]
    axes = [name for name in axes_of(tables.points) if name not in names_of("repetitions")]
    frames = []
    for table, made in (("repetitions", rows), ("orders", pairs)):
        frames.append(pd.DataFrame(made, columns=list(dict.fromkeys((*names_of(table), *axes)))))
    return frames[0], frames[1]


def _repetitions(one: Combination, to_decide: int | None) -> dict[str, Any]:
    seeds, rule = len(one.times_ns), one.rule
    row: dict[str, Any] = {
        "experiment": one.experiment, **one.labels, "seed": None, "seeds_first": rule.first, "seeds": seeds,
    }  # fmt: skip
    if not one.is_repeatable:
        return {**row, "outcome": "failed"}
    decides = rule.until == DECIDED
    interval = look_interval(one.times_ns) if decides else stein_interval(one.times_ns, rule.first)
    needed = to_decide if decides else one.seeds_needed
    if one.first_ns.min() == one.first_ns.max():
        outcome = "no variation"
    elif decides:
        outcome = "all seeds" if seeds == rule.most else "first seeds"
    else:
        outcome = "precise" if interval.half_width <= float(rule.until) * (1 + 1e-9) else "not precise"
    more = max(0, (needed or 0) - seeds)
    return {
        **row, "outcome": outcome, "mean_ns": interval.mean, "low_ns": interval.low, "high_ns": interval.high,
        "half_width": interval.half_width, "seeds_needed": needed, "more_cpu_s": more * one.cpu_s,
    }  # fmt: skip


def _order_row(order: Order) -> dict[str, Any]:
    interval = order.interval
    labels = {name: label for name, label in order.left.labels.items() if name != order.axis}
    return {
        "experiment": order.left.experiment, **labels, "seed": None, "compared_axis": order.axis,
        "left": str(order.left.labels[order.axis]), "right": str(order.right.labels[order.axis]),
        "ratio": interval.mean, "low": interval.low, "high": interval.high,
        "seeds": min(len(order.left.times_ns), len(order.right.times_ns)),
        "outcome": "decided" if interval.excludes_one else "equal" if order.is_decided else UNDECIDED,
    }  # fmt: skip
