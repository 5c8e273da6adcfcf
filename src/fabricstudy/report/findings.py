"""Key findings of a study as sentences, computed from its tables."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from fabricstudy.core.columns import ADDED_EXPERIMENTS, DIFFERS, DONE, IN_PART, NOT_RUN, REPRODUCED, UNDECIDED
from fabricstudy.core.phrasing import count_noun, cpu_time, join_words
from fabricstudy.engine.registry import simulates
from fabricstudy.study.figures import AnyFigure
from fabricstudy.table.files import Tables
from fabricstudy.table.schemas import axes_of
from fabricstudy.table.select import label_text

from .effects import Effect, Effects, effects
from .text import number

_MOST_AXES, _MOST_CLAIMS, _MOST_BEST = 3, 3, 6


def sentences(
    tables: Tables,
    changes: Effects | None,
    meanings: Mapping[str, str] = MappingProxyType({}),
    fronts: Sequence[str] = (),
) -> list[str]:
    """Return the key findings; `meanings` maps axes to what they vary."""
    return [sentence for sentence in (
        _claim_sentence(tables), _saturation_sentence(tables), *fronts, *_effect_sentences(changes, meanings),
        _job_sentence(tables, changes),
        _computing_sentence(tables.jobs), _slowdown_sentence(tables.interference), _engine_sentence(tables),
        _basis(tables),
    ) if sentence]  # fmt: skip


_MOST_LOADS = 8

_VERDICT_WORDS = {
    REPRODUCED: ("is reproduced", "are reproduced"),
    IN_PART: ("is reproduced in part", "are reproduced in part"),
    UNDECIDED: ("is undecided", "are undecided"),
    DIFFERS: ("differs", "differ"),
    NOT_RUN: ("could not be tested", "could not be tested"),
}


def _saturation_sentence(tables: Tables) -> str:
    """Return the saturation loads that were searched, with their intervals and bounds; of many, their ranges."""
    searched = tables.latency[tables.latency["saturation_load"].notna()]
    if searched.empty:
        return ""
    measure = "as a share of the bandwidth of a node's link"
    axes = [axis for axis in axes_of(searched) if searched[axis].nunique() > 1]
    groups = list(searched.groupby(axes, sort=False)) if axes else [((), searched)]
    if len(groups) > _MOST_LOADS:
        by, ranges = _ranges(searched, axes)
        return f"Range of the saturation load, {measure}, by {by}: {'; '.join(ranges)}.{_unbounded(searched)}"
    parts = []
    for labels, rows in groups:
        load, bound = (number(rows[name].median(), 3) for name in ("saturation_load", "saturation_bound"))
        low, high = number(rows["saturation_low"].min(), 3), number(rows["saturation_high"].max(), 3)
        named = ", ".join(f"{axis} {label_text(label)}" for axis, label in zip(axes, labels, strict=True))
        parts.append(f"{named}{': ' * bool(named)}{load} ({low} to {high}, bound {bound})")
    return f"Saturation load with its interval, {measure}: {'; '.join(parts)}.{_unbounded(searched)}"


def _unbounded(searched: pd.DataFrame) -> str:
    """Return a sentence on the searches that found no load above their result to be saturated."""
    searched = searched.drop_duplicates("point_id")
    count = int((searched["saturation_high"] >= searched["saturation_bound"]).sum())
    points = count_noun(len(searched), "point")
    return f" No load up to the bound was certainly saturated in {count} of {points}." if count else ""


def _ranges(searched: pd.DataFrame, axes: list[str]) -> tuple[str, list[str]]:
    """Return the axis along which the median of the saturation load changes most, and the range at each label."""
    loads = {axis: searched.groupby(axis, sort=False)["saturation_load"] for axis in axes}
    by = max(axes, key=lambda axis: np.ptp(loads[axis].median()))
    ends = loads[by].agg(["min", "max"])
    texts = {label_text(label): (number(low, 3), number(high, 3)) for label, low, high in ends.itertuples()}
    shown = [f"{label} {' to '.join(dict.fromkeys(text))}" for label, text in texts.items()]
    return by, shown[:_MOST_LOADS] + [f"{len(shown) - _MOST_LOADS} more"] * (len(shown) > _MOST_LOADS)


def _claim_sentence(tables: Tables) -> str:
    claims = tables.claims.drop_duplicates("claim")
    if claims.empty:
        return ""
    seeds = tables.claims.groupby("claim")["seeds"].transform("max").loc[claims.index]
    simulated = (seeds > 0) | (claims["claim_verdict"] == NOT_RUN)
    sentence = f"Of {count_noun(len(claims), 'claim')}, {_verdict_counts(claims)}."
    if simulated.any() and not simulated.all():
        computed = claims[~simulated]
        sentence = (
            f"Of {count_noun(len(claims), 'claim')}, {len(computed)} need no simulation: {_verdict_counts(computed)}. "
            f"Of the others, {_verdict_counts(claims[simulated])}."
        )
    differ = claims[claims["claim_verdict"] == DIFFERS]
    if differ.empty:
        return sentence
    rows = differ.head(_MOST_CLAIMS).to_dict("records")
    quoted = [f"{row['claim']}, \u201c{row['statement'].rstrip('.')}\u201d" for row in rows]
    quoted += [f"and {len(differ) - _MOST_CLAIMS} more"] * (len(differ) > _MOST_CLAIMS)
    return f"{sentence} Differing: {'; '.join(quoted)}."


def _verdict_counts(claims: pd.DataFrame) -> str:
    """Count the verdicts in words; `claims` has a row for each claim."""
    parts = []
    for verdict, words in _VERDICT_WORDS.items():
        ids = claims.loc[claims["claim_verdict"] == verdict, "claim"].astype(str).tolist()
        named = f" ({', '.join(ids)})" if verdict == UNDECIDED and len(ids) <= _MOST_CLAIMS else ""
        parts += [f"{len(ids)} {words[len(ids) > 1]}{named}"] * bool(ids)
    return join_words(parts)


def _effect_sentences(changes: Effects | None, meanings: Mapping[str, str]) -> list[str]:
    """Return a sentence for each of the largest effects and growths, and one on the run-to-run variation."""
    if changes is None or not (changes.axes or changes.growths or changes.unranked):
        return []
    noun, parts = changes.metric.noun, []

    def named(axis: str) -> str:
        return f"{axis} ({meanings[axis]})" if axis in meanings else axis

    for index, effect in enumerate(changes.axes[:_MOST_AXES]):
        lead = "Largest effect: " if index == 0 and len(changes.axes) > 1 else "The axis "
        within = " (within run-to-run variation)" * bool(changes.noise and 2 * effect.clear < effect.comparisons)
        factor = f"{number(effect.median, 3)}{within}"
        if effect.comparisons > 1:
            median = f"{number(effect.median, 3)} in the median{within}"
            factor = f"{median} and {number(effect.largest, 3)} at most"
        parts.append(
            f"{lead}{named(effect.axis)} changes the {noun}{' per byte' * effect.by_rate} by a factor of "
            f"{factor}, all else equal. {_best(effect, changes.noise is not None)}."
        )
    for growth in changes.growths[:_MOST_AXES]:
        least, middle, most = (number(factor, 3) for factor in growth.factors)
        spread = f" in the median ({least} to {most}, {growth.comparisons} comparisons)" * (growth.comparisons > 1)
        ends = f"from {named(growth.axis)} {growth.least} to {growth.most}"
        parts.append(f"The {noun} changes by a factor of {middle}{spread} {ends}.")
    for crossing in changes.crossings[:_MOST_AXES]:
        best = (
            f"{label} {f'from {low} to {high}' if low != high else f'at {low}'}" for label, low, high in crossing.best
        )
        parts.append(f"Best {named(crossing.axis)} by {crossing.by}: {', '.join(best)}.")
    for unranked in changes.unranked:
        labels = f"{unranked.axis} {join_words(unranked.labels)}" if unranked.labels else unranked.axis
        parts.append(f"Not ranked: {labels} ({unranked.reason}).")
    if changes.noise is None:
        return [*parts, " ".join([changes.jobs, "With one seed, the run-to-run variation is unknown."]).strip()]
    middle, most = (number(factor, 3) for factor in changes.noise)
    variation = f"Run-to-run variation of the {noun}: a factor of {middle} in the median and {most} at most."
    return [*parts, f"{variation} {changes.jobs}".strip()]


def _job_sentence(tables: Tables, changes: Effects | None) -> str:
    """Return the effect of the first axis on each job, where the ranking reduces several jobs to one number."""
    names = list(dict.fromkeys(tables.jobs.loc[~tables.jobs["background"], "job_name"].astype(str)))
    if changes is None or not changes.axes or len(names) == 1:
        return ""
    metric, axis = changes.metric, changes.axes[0].axis
    selection = metric.selection
    if selection.table != "jobs" or selection.reduce_jobs == "each" or "job_name" in selection.where:
        return ""
    factors: dict[str, float] = {}
    for name in names:
        of_job = selection.model_copy(update={"where": {**selection.where, "job_name": name}})
        found = effects(tables, {axis}, metric=replace(metric, selection=of_job))
        if found and found.axes:
            factors[name] = found.axes[0].largest
    ordered = sorted(factors, key=lambda name: -factors[name])
    texts = [f"{name} {number(factors[name], 3)}" for name in ordered[:_MOST_BEST]]
    texts += [count_noun(len(ordered) - _MOST_BEST, "more job")] * (len(ordered) > _MOST_BEST)
    return f"By job, {axis} changes the {metric.noun} by a factor of at most: {'; '.join(texts)}." if texts else ""


def _best(effect: Effect, has_seeds: bool) -> str:
    """Return a text with the comparisons in which labels are best alone or tied with the best, the best label first.

    With one seed nobody knows whether a label is better than another, and only the smallest values are counted.
    """
    best, alone = effect.times_best, effect.times_alone
    if min(best.values()) == effect.comparisons:
        text = "No label is better than another" + " beyond run-to-run variation" * has_seeds
    else:
        labels = sorted((label for label in best if best[label]), key=lambda label: (-best[label], -alone[label]))
        counts = [
            f"{label} {' and '.join(_counts(alone[label], best[label] - alone[label]))}"
            if has_seeds else f"{label} in {best[label]}"
            for label in labels[:_MOST_BEST]
        ]  # fmt: skip
        counts += [count_noun(len(labels) - _MOST_BEST, "more label")] * (len(labels) > _MOST_BEST)
        nothing = "No label is best alone. " * (has_seeds and not any(alone.values()))
        word = "Best" if has_seeds else "Smallest value, with one seed, by"
        text = f"{nothing}{word} {effect.axis} in {count_noun(effect.comparisons, 'comparison')}: {'; '.join(counts)}"
    if effect.left_out:
        text += f" ({effect.left_out} more excluded: their points send different numbers of bytes)"
    return text


def _counts(alone: int, tied: int) -> list[str]:
    """Return the counts above 0 in words; a tie is within run-to-run variation, by few seeds a wide one."""
    return [*[f"alone in {alone}"] * (alone > 0), *[f"not distinguishable in {tied}"] * (tied > 0)]


def _computing_sentence(jobs: pd.DataFrame) -> str:
    jobs = jobs[~jobs["experiment"].isin(ADDED_EXPERIMENTS)].drop_duplicates(["point_id", "job"])
    share = (jobs["compute_ns"] / jobs["runtime_ns"])[jobs["compute_ns"] > 0].dropna()
    middle, text = _distribution(100 * share, 2, " %")
    several = "; streams of a rank compute at the same time and are added up" * bool((share > 1.005).any())
    if share.empty:
        return ""
    known = jobs[jobs["bubble_ns"].notna()]
    exposed, bubble = (
        number(100 * (known[name] / known["runtime_ns"]).median(), 2) for name in ("exposed_ns", "bubble_ns")
    )
    rest = "the rest is communication and waiting"
    if len(known):
        rest = (
            f"exposed communication is {exposed} %, and other waiting {bubble} % (each the median of "
            f"{count_noun(len(known), 'job')}, so that they need not add up)"
        )
    return f"Computation is {middle} % of the runtime in the median ({text}){several}; {rest}."


def _slowdown_sentence(rows: pd.DataFrame) -> str:
    slowdown = rows.drop_duplicates(["point_id", "job"])["slowdown"].dropna()
    middle, text = _distribution(slowdown, 3)
    return f"Slowdown by other jobs, over the baseline run: {middle} in the median ({text})." if len(slowdown) else ""


def _engine_sentence(tables: Tables) -> str:
    pairs = []
    # Pairs of a spot check are in the experiment of the points, too, if that has both engines.
    distinct = tables.agreement.drop_duplicates(["point_a_id", "point_b_id", "job"])
    for pair, part in distinct.groupby("pair", sort=False):
        middle, text = _distribution(part["ratio"], 3)
        rank = number(part["runtime_a_ns"].rank().corr(part["runtime_b_ns"].rank()), 3)
        pairs.append(f"Ratio of the runtimes by {pair}: {middle} in the median ({text}); rank correlation {rank}.")
    return " ".join([*pairs, _verdict_sentence(tables.verdicts)]).strip() if pairs else ""


def _distribution(values: pd.Series[Any], digits: int, unit: str = "") -> tuple[str, str]:
    """Return the median over jobs, and range and count in words."""
    low, middle, high = (number(value, digits) for value in values.quantile([0, 0.5, 1]))
    return middle, f"{low} to {high}{unit}, {count_noun(len(values), 'job')}"


def _basis(tables: Tables) -> str:
    """Count the simulations, runs of schedules and analyses behind the page."""
    points, runs = tables.points.drop_duplicates("point_id"), tables.schedules
    parts = []
    if len(points):
        is_simulated = points["engine"].map(simulates)
        computed, points = points[~is_simulated], points[is_simulated]
        if len(computed):
            parts.append(
                f"{_done_text(int((computed['status'] == DONE).sum()), len(computed), 'point')} without simulation"
            )
    if len(points):
        done = points[points["status"] == DONE]
        engines = join_words(sorted(done["engine"].unique())) if len(done) else "no engine"
        machines = count_noun(points["machine_id"].nunique(), "machine")
        seeds = count_noun(points["seed"].nunique(), "seed")
        simulations = _done_text(len(done), len(points), "simulation")
        parts.append(f"{simulations} of {machines} by {engines} ({cpu_time(points['cpu_s'].sum())}, {seeds})")
    if len(runs):
        scheduled = _done_text(int((runs["status"] == DONE).sum()), len(runs), "run")
        parts.append(f"{scheduled} of schedules ({count_noun(runs['seed'].nunique(), 'seed')})")
    if count := len(tables.analyses):
        failed = sum(bool(tables.failure_of(name)) for name in tables.analyses)
        noun = "analysis" if count == 1 else "analyses"
        parts.append(f"{f'{count - failed} of ' * bool(failed)}{count} {noun} without simulation")
    return f"Based on {join_words(parts)}." if parts else ""


def _done_text(done: int, count: int, noun: str) -> str:
    return count_noun(count, noun) if done == count else f"{done:,} of {count_noun(count, noun)}"


def _verdict_sentence(verdicts: pd.DataFrame) -> str:
    ran = verdicts[verdicts["verdict"] != NOT_RUN].groupby(["claim", "part"])["verdict"].agg(list)
    compared = [set(part) for part in ran if len(part) > 1]
    same, opposite = sum(len(part) == 1 for part in compared), sum({REPRODUCED, DIFFERS} <= part for part in compared)
    text = f"The engines give the same verdict on {same} of {count_noun(len(compared), 'number')} behind the claims"
    return f"{text}{f' and opposite ones on {opposite}' if opposite else ''}." if compared else ""


def leading(figures: Sequence[AnyFigure | None], changes: Effects | None) -> int | None:
    """Return the index of the figure that shows the largest effect, of the compared metric if possible, else the first.

    Figures that are not drawn are None.
    """
    drawn = {index: figure for index, figure in enumerate(figures) if figure}
    if changes is None:
        return min(drawn, default=None)
    measured = [index for index, figure in drawn.items() if figure.analysis is None and figure.table != "machines"]
    compared = [index for index in measured if changes.metric.column in drawn[index].numbers()]
    candidates = itertools.product((compared, measured), changes.axes)
    shown = (i for indices, effect in candidates for i in indices if effect.axis in drawn[i].axes())
    return next(shown, min(drawn, default=None))
