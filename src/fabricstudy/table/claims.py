"""Measured numbers of claims, and verdicts on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import bdtr

from fabricstudy.core.arrays import Floats
from fabricstudy.core.columns import (
    DIFFERS,
    IN_PART,
    KEYS,
    NAMES,
    NOT_RUN,
    REPRODUCED,
    UNDECIDED,
    UNIT_SYMBOL,
    column_unit,
    names_of,
)
from fabricstudy.core.quantities import label_number
from fabricstudy.study import claims as grammar
from fabricstudy.study.claims import Correlation, Crossing, Measure, PairMeasure, Spread, Trend
from fabricstudy.study.figures import Condition

from .files import Tables
from .ranks import MIN_ROWS, rank_correlation
from .select import AGAINST, VALUE, analysis_rows, group_by, join, label_text, mask, medians, observe

_EMPTY: dict[type[Measure], str] = {
    Correlation: f"a rank correlation needs {MIN_ROWS} rows, and neither column may be constant"
}
SimpleMeasure = grammar.Value | grammar.Contrast | Trend | Crossing | Spread | Correlation

_ROWS, _LAST = "(rows)", "(last)"
_SLACK = 1e-9
"""Relative slack of the accepted range, for the rounding of floating-point numbers."""


class NotMeasurable(Exception):
    """A measure has no number; the message is the reason."""


@dataclass(frozen=True)
class Measurement:
    """A measured number, from medians over seeds, with the points (or machines) and seeds that it is based on."""

    value: float
    """Infinite for a level that is not reached."""
    low: float
    high: float
    """Interval from `low` to `high`; both equal to `value` if there are too few seeds."""
    interval: str
    at_labels: str
    """Labels of the points with the maximum or minimum; empty for medians and means."""
    points: int
    seeds: int
    pairs: int | None = None
    pairs_planned: int | None = None
    """Comparisons made and planned: pairs of points, groups of a spread, rows of a correlation; None without any."""
    last: float | None = None
    """Last label, if some seeds do not reach a level."""


def judge(claims: Iterable[grammar.Claim], tables: Tables) -> pd.DataFrame:
    """Judge the claims; return one row per part, and one row for a claim without parts."""
    rows = [row for claim in claims for row in _judge_claim(claim, tables)]
    return pd.DataFrame(rows, columns=names_of("claims"))


def _judge_claim(claim: grammar.Claim, tables: Tables) -> list[dict[str, Any]]:
    head = {
        "claim": claim.id, "statement": claim.statement, "source": claim.source, "note": claim.note or None,
        "scope": claim.scope or None,
    }  # fmt: skip
    rows = [{**head, "part": number, **_judge_part(part, tables)} for number, part in enumerate(claim.parts)]
    if not rows:
        rows = [{**head, "part": 0, "points": 0, "seeds": 0, "verdict": NOT_RUN, "reason": claim.note}]
    verdicts = {row["verdict"] for row in rows}
    verdict = next((worst for worst in (DIFFERS, UNDECIDED, REPRODUCED) if worst in verdicts), NOT_RUN)
    if verdict == REPRODUCED and (claim.scope or NOT_RUN in verdicts):  # not all cases of the source are run
        verdict = IN_PART
    return [{**row, "claim_verdict": verdict} for row in rows]


def _judge_part(part: grammar.Part, tables: Tables) -> dict[str, Any]:
    unit = column_unit(part.measure.metric) if isinstance(part.measure, grammar.Value) else None
    statement = f"{part.statement} ({UNIT_SYMBOL[unit]})" if unit else part.statement
    row: dict[str, Any] = {
        "part_statement": statement, "show": part.show, "source_low": part.source_range[0],
        "source_high": part.source_range[1], "accept_low": part.accepted[0], "accept_high": part.accepted[1],
        "accept_reason": part.reason or None, "points": 0, "seeds": 0,
    }  # fmt: skip
    try:
        measured = measure(part.measure, tables)
    except NotMeasurable as reason:
        return {**row, "verdict": NOT_RUN, "reason": str(reason)}
    reached = measured.value < np.inf
    facts: dict[str, Any] = {
        "measured": measured.value if reached else None, "at_labels": measured.at_labels or None,
        "high": measured.high if measured.high < np.inf else None,
        **{name: getattr(measured, name) for name in ("low", "interval", "points", "seeds", "pairs", "pairs_planned")},
    }  # fmt: skip
    if measured.last is not None:
        facts["reason"] = f"not reached up to {measured.last:g}{' by each seed' * reached}"
    return {**row, **facts, "verdict": (_compare if reached else _compare_unreached)(measured, *part.accepted)}


def _compare(measured: Measurement, least: float | None, most: float | None) -> str:
    """Return the verdict on a number from its interval, or from the number alone if there is one seed."""
    slack = _SLACK * max(1.0, abs(measured.value))
    least, most = -np.inf if least is None else least - slack, np.inf if most is None else most + slack
    # The number, from medians over seeds, may be outside the range over single seeds.
    low, high = min(measured.low, measured.value), max(measured.high, measured.value)
    if least <= low and high <= most:
        return REPRODUCED
    return DIFFERS if high < least or most < low else UNDECIDED


def _compare_unreached(measured: Measurement, least: float | None, most: float | None) -> str:
    """Return the verdict on a level that is not reached: the number is above the last label."""
    if most is not None:
        return DIFFERS if most <= measured.low else UNDECIDED
    return REPRODUCED if least is None or least <= measured.low else UNDECIDED


def measure(query: grammar.AnyMeasure, tables: Tables) -> Measurement:
    """Compute a measure. Raises NotMeasurable if a point has no number, or nothing is selected.

    The interval is the range over single seeds (for a spread over seeds, leaving out one at a time) of the group that
    decided a maximum or minimum, or of the median or mean. From nine seeds on it is the distribution-free 95 % interval
    of their median [1]_, since the range widens with every seed.

    A distance, and a spread over labels, of a single seed is above 0 by run-to-run variation alone, however many seeds
    there are. So the interval of a distance is that of the change without its sign, and a single seed's spread is
    between the labels with the largest and the smallest median over seeds, not less than that of equal values.

    References
    ----------
    .. [1] David and Nagaraja, Order Statistics, 3rd ed., Wiley 2003, section 7.1.
    """
    if isinstance(query, grammar.Rows):
        return _differing_rows(query, tables)
    if isinstance(query, grammar.Quotient):
        return _measured([_Sample(query.of, tables), _Sample(query.against, tables)], np.divide)
    return _measured([_Sample(query, tables)], lambda number: number)


COMPUTED, TOO_FEW_SEEDS = "computed, not simulated", "too few seeds"


def _differing_rows(query: grammar.Rows, tables: Tables) -> Measurement:
    """Count the rows that are only in the printed or only in the computed table."""
    if query.analysis not in tables.analyses:
        raise NotMeasurable("the table of the analysis is missing")
    if failure := tables.failure_of(query.analysis):
        raise NotMeasurable(failure)
    rows_computed = analysis_rows(tables, query)[list(query.columns)].itertuples(index=False, name=None)
    printed, computed = (
        # Numbers are equal if nine digits are.
        Counter(tuple(cell if isinstance(cell, str) else float(f"{cell:.9g}") for cell in row) for row in rows)
        for rows in (query.rows, rows_computed)
    )
    extra, lacking = computed - printed, printed - computed
    count = float(max(extra.total(), lacking.total()))
    sides = (("printed", lacking), ("computed", extra))
    labels = [f"only {side}: {', '.join(map(label_text, next(iter(rows))))}" for side, rows in sides if rows]
    return Measurement(count, count, count, COMPUTED, "; ".join(labels), len(query.rows), 0)


def _measured(samples: list[_Sample], number_of: Callable[..., Any]) -> Measurement:
    common = sorted(set.intersection(*(sample.seeds for sample in samples)))
    every = set.union(*(sample.seeds for sample in samples))
    over_seeds, seeded = any(sample.over_seeds for sample in samples), any(sample.seeded for sample in samples)
    folds = len(samples) == 1 and samples[0].folds
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(number_of(*(sample.on(every) for sample in samples)))
        if over_seeds:
            # A spread over seeds needs two.
            subsets = [set(common) - {seed} for seed in common] if len(common) > 2 else []
            parts = [float(number_of(*(sample.on(subset) for sample in samples))) for subset in subsets]
        else:
            each = [sample.of_each(common, signed=folds) for sample in samples]
            shared = sorted(set.intersection(*(set(numbers.index) for numbers in each)))
            parts = number_of(*(numbers.loc[shared] for numbers in each)).tolist() if len(shared) > 1 else []
    last = samples[0].last if len(samples) == 1 and np.inf in (value, *parts) else None
    if not np.isfinite([number for number in (value, *parts) if last is None or number != np.inf]).all():
        raise NotMeasurable("the number is not finite (a division by zero, or a constant column)")
    interval = "leaving out one seed at a time" if over_seeds else "single seeds"
    if not parts:
        parts, interval = [value], TOO_FEW_SEEDS if seeded else "no seeds involved"
    if all(sample.query.analysis for sample in samples):
        interval = COMPUTED
    ordered = sorted(parts)
    outside = 0 if over_seeds else values_outside(len(parts))
    if outside:
        interval = "95 % interval of the median over seeds"
    low, high = ordered[outside], ordered[-1 - outside]
    if folds:
        low, high = max(low, -high, 0.0), max(-low, high)
    low = low if last is None or value < np.inf else min(low, last)
    compared = [sample.compared for sample in samples if sample.compared]
    pairs, planned = map(sum, zip(*compared, strict=True)) if compared else (None, None)
    at_labels = " over ".join(sample.at_labels for sample in samples if sample.at_labels)
    return Measurement(
        value, low, high, interval, at_labels,
        points=sum(sample.points for sample in samples), seeds=len(every) if seeded else 0, pairs=pairs,
        pairs_planned=planned, last=last,
    )  # fmt: skip


class _Sample:
    """The observations that a measure needs, and the groups that decide it."""

    def __init__(self, query: SimpleMeasure, tables: Tables) -> None:
        self.query = query
        frame, self.keys = _gather(query, tables)
        self.frame = _with_common_seeds(query, frame, self.keys)
        self.seeds = {int(seed) for seed in self.frame["seed"]}
        self.seeded = query.analysis is None and query.table not in ("machines", "partition_lists")
        self.over_seeds = isinstance(query, Spread) and "seed" in query.over
        within = {*KEYS[query.table], *NAMES.get(query.table, ())} - {"engine"}
        of_point = [name for name in self.keys if query.analysis or name not in within]
        self.points = len(self.frame[[*of_point, "seed"]].drop_duplicates())
        groups = _VALUES[type(query)](query, self.frame, self.keys)
        if groups.empty:
            raise NotMeasurable(_EMPTY.get(type(query), "no two otherwise equal points to compare"))
        self.compared = _compared(query, self.frame, self.keys, groups)
        self.labels = [name for name in groups if name not in (VALUE, _ROWS, _LAST)]
        self.last = float(groups[_LAST].min()) if _LAST in groups else None
        self.deciding, self.at_labels = groups, ""
        if query.reduce in ("max", "min"):
            self.deciding = groups[groups[VALUE] == groups[VALUE].agg(query.reduce)].head(1)
            varied = [name for name in self.labels if groups[name].nunique(dropna=False) > 1]
            self.at_labels = ", ".join(f"{name} {label_text(self.deciding[name].iloc[0])}" for name in varied)
        self.folds = isinstance(query, grammar.Contrast) and query.form == "distance" and len(self.deciding) == 1

    def on(self, seeds: set[int]) -> float:
        """Return the measure from some seeds, over the deciding groups."""
        return float(self._groups(self.frame["seed"].isin(seeds), self.keys)[VALUE].agg(self.query.reduce))

    def of_each(self, seeds: list[int], signed: bool = False) -> pd.Series[float]:
        """Return the measure from each of some seeds that has all deciding groups; `signed`: change for distance.

        With ``seeds: {until: 2 %}`` two compared points can have different numbers of seeds.
        """
        groups = self._groups(self.frame["seed"].isin(seeds), [*self.keys, "seed"], signed)
        rows = groups.assign(**{_ROWS: groups.get(_ROWS, 1)}).groupby("seed")
        whole = self.deciding[_ROWS].sum() if _ROWS in groups else len(self.deciding)
        numbers: pd.Series[float] = rows[VALUE].agg(self.query.reduce)
        return numbers[rows[_ROWS].sum() == whole]

    def _groups(self, chosen: pd.Series[bool], keys: list[str], signed: bool = False) -> pd.DataFrame:
        query = self.query.model_copy(update={"form": "change"}) if signed else self.query
        if isinstance(query, Spread) and "seed" in keys and not self.over_seeds:
            groups = _spreads_between(query, self.frame[chosen], self.keys, medians(self.frame, self.keys))
        else:
            groups = _VALUES[type(query)](query, self.frame[chosen], keys)
        return groups.merge(self.deciding[self.labels], on=self.labels) if self.labels else groups


def values_outside(count: int) -> int:
    """Return how many of `count` ordered values are below a 95 % interval of their median, and above it.

    The 2.5 % quantile of the binomial distribution with probability 1/2, less 1.

    Examples
    --------
    >>> values_outside(5), values_outside(6), values_outside(20)
    (0, 0, 5)
    """
    at_most = bdtr(np.arange(count + 1), count, 0.5)
    return max(int(np.searchsorted(at_most, 0.025)) - 1, 0)


def _gather(query: SimpleMeasure, tables: Tables) -> tuple[pd.DataFrame, list[str]]:
    """Return the observations that a measure needs and their keys. Raises NotMeasurable if some are missing."""
    sides: list[Mapping[str, Condition]] = [{}]
    if isinstance(query, PairMeasure):
        along = query.along if isinstance(query, Trend) else {}
        sides = [{**query.of, **along}, {**query.against, **along}]
    observations = observe(tables, query, query.metric, sides)
    if observations.gap():
        raise NotMeasurable(observations.gap())
    if not isinstance(query, Correlation):
        return observations.frame, observations.keys
    against = observe(tables, query, query.against)
    if against.gap():
        raise NotMeasurable(against.gap())
    names = [*observations.keys, "seed"]
    return join(observations.frame[[*names, VALUE]], against.frame[[*names, VALUE]], names), observations.keys


def _with_common_seeds(query: SimpleMeasure, frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return the observations of those seeds that all points have which a measure compares with each other.

    With ``seeds: {until: decided}`` their numbers of seeds may differ, and medians of other seeds differ by variation.
    """
    if isinstance(query, PairMeasure):
        compared = {*query.against, *(query.along if isinstance(query, Trend) else ())}
    elif isinstance(query, Spread) and "seed" not in query.over:
        compared = set(query.over)
    else:
        return frame
    others = [name for name in keys if name not in compared]
    point, group = (group_by(frame, names).ngroup() for names in (keys, others))
    numbers = pd.DataFrame({"point": point, "group": group, "seed": frame["seed"]})
    points, points_of_seed = (
        numbers.groupby(names)["point"].transform("nunique") for names in (["group"], ["group", "seed"])
    )
    return frame[points == points_of_seed]


def _ratios(query: PairMeasure, frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    points = medians(frame, keys)
    others = [name for name in keys if name not in query.against]
    right = points.loc[mask(points, query.against), [*others, VALUE]]
    return _divided(join(_compared_points(query, points), right, others))


def _compared_points(query: PairMeasure, points: pd.DataFrame) -> pd.DataFrame:
    # A point is not compared with itself.
    return points[mask(points, query.of) & ~mask(points, query.against)]


def _compared(
    query: SimpleMeasure, frame: pd.DataFrame, keys: list[str], groups: pd.DataFrame
) -> tuple[int, int] | None:
    """Return how many comparisons are made and planned; None if nothing is compared."""
    if isinstance(query, PairMeasure):
        along = query.along if isinstance(query, Trend) else {}
        wanted = _compared_points(query, frame)[[name for name in keys if name not in along]]
        made = int(groups[_ROWS].sum()) if _ROWS in groups else len(groups)
        return made, len(wanted.drop_duplicates())
    if isinstance(query, Spread):
        rest = [name for name in keys if name not in query.over]
        return len(groups), len(frame[rest].drop_duplicates()) if rest else 1
    if isinstance(query, Correlation):
        return int(groups[_ROWS].sum()), len(frame[keys].drop_duplicates()) if keys else 1
    return None


def _divided(pairs: pd.DataFrame) -> pd.DataFrame:
    return pairs.assign(**{VALUE: pairs[VALUE] / pairs[AGAINST]}).drop(columns=AGAINST)


def _contrasts(query: grammar.Contrast, frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    ratios = _ratios(query, frame, keys)
    ratio = ratios[VALUE]
    forms = {"ratio": ratio, "change": ratio - 1, "reduction": 1 - ratio, "distance": (ratio - 1).abs()}
    return ratios.assign(**{VALUE: forms[query.form]})


def _trends(query: Trend, frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    ((axis, (start, end)),) = query.along.items()
    ratios = _ratios(query, frame, keys)
    others = [str(name) for name in ratios if name not in (axis, VALUE)]
    at_end, at_start = (ratios[mask(ratios, {axis: label})].drop(columns=axis) for label in (end, start))
    return _divided(join(at_end, at_start, others))


def _crossings(query: Crossing, frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    ratios = _ratios(query, frame, keys)
    ratios[query.along] = ratios[query.along].map(label_number)
    if ratios[query.along].isna().any() or (query.log and (ratios[query.along] <= 0).any()):
        raise NotMeasurable(f"labels of {query.along} are not numbers{' above 0' * query.log}")
    rest = [name for name in keys if name != query.along]
    groups = []
    for _, line in ratios.sort_values(query.along).assign(**{"": 0}).groupby(["", *rest], sort=False, dropna=False):
        positions, values = (line[name].to_numpy(float) for name in (query.along, VALUE))
        rises_at = _rises_to(query.level, np.log(positions) if query.log else positions, values)
        rises_at = float(np.exp(rises_at)) if query.log else rises_at
        last = line[query.along].iloc[-1]
        groups.append(line.iloc[[0]][rest].assign(**{VALUE: rises_at, _ROWS: len(line), _LAST: last}))
    return pd.concat(groups) if groups else pd.DataFrame(columns=[*rest, VALUE, _ROWS, _LAST])


def _rises_to(level: float, x: Floats, y: Floats) -> float:
    reached = np.flatnonzero(y >= level)
    if not len(reached):
        return np.nan if np.isnan(y).any() else np.inf
    first = reached[0]
    around = slice(first - 1, first + 1)
    return float(np.interp(level, y[around], x[around]) if first else x[0])


def _spreads(query: Spread, frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    points = frame if "seed" in query.over else medians(frame, keys)
    rest = [name for name in keys if name not in query.over]
    columns = {f"({name})": name for name in ("max", "min", "median", "size")}
    groups = group_by(points, rest).agg(**columns).reset_index().drop(columns="")
    groups = groups[groups["(size)"] > 1]
    most, least, middle = (groups[name] for name in ("(max)", "(min)", "(median)"))
    forms = {"range": (most - least) / middle, "ratio": most / least, "excess": most / least - 1}
    spreads: pd.DataFrame = groups[rest].assign(**{VALUE: forms[query.form]})
    return spreads


def _spreads_between(query: Spread, frame: pd.DataFrame, keys: list[str], points: pd.DataFrame) -> pd.DataFrame:
    """Return the spread of each seed between the labels with the extremes of `points`, the medians over seeds."""
    rest = [name for name in keys if name not in query.over]
    by_seed = [*rest, "seed"]
    groups = group_by(points, rest)
    most, least = (
        frame.merge(points.loc[of_end(), keys], on=keys)[[*by_seed, VALUE]] for of_end in (groups.idxmax, groups.idxmin)
    )
    ends = join(most, least, by_seed)
    middle = medians(frame, by_seed).rename(columns={VALUE: "(median)"})
    spreads = ends.merge(middle, on=by_seed)
    ratio, difference = spreads[VALUE] / spreads[AGAINST], spreads[VALUE] - spreads[AGAINST]
    forms = {"range": difference / spreads["(median)"], "ratio": ratio, "excess": ratio - 1}
    equal = 1.0 if query.form == "ratio" else 0.0
    return spreads[by_seed].assign(**{VALUE: forms[query.form].clip(lower=equal)})


def _correlations(query: Correlation, frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    left, right = (frame[[*keys, name]].rename(columns={name: VALUE}) for name in (VALUE, AGAINST))
    pairs = join(medians(left, keys), medians(right, keys), keys)
    rest = [name for name in keys if (name not in query.over if query.over else name == "seed")]
    groups = []
    for _, part in pairs.assign(**{"": 0}).groupby(["", *rest], sort=False, dropna=False):
        if len(part) >= MIN_ROWS:
            value = rank_correlation(query.form, part[VALUE], part[AGAINST])
            groups.append(part.iloc[[0]][rest].assign(**{VALUE: value, _ROWS: len(part)}))
    if not groups:
        return pd.DataFrame(columns=[*rest, VALUE, _ROWS])
    return pd.concat(groups).dropna(subset=VALUE)


_VALUES: dict[type[Measure], Callable[..., pd.DataFrame]] = {
    grammar.Value: lambda query, frame, keys: medians(frame, keys),
    grammar.Contrast: _contrasts,
    Trend: _trends,
    Crossing: _crossings,
    Spread: _spreads,
    Correlation: _correlations,
}
