"""What a study found, in a few sentences that are written from its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import pandas as pd

from fabricstudy.columns import ADDED, DIFFERS, DONE, IN_PART, NOT_RUN, REPRODUCED, UNDECIDED
from fabricstudy.study.figures import AnyFigure
from fabricstudy.study.model import Study
from fabricstudy.table.noise import basis_of_noise
from fabricstudy.table.schemas import axes_of
from fabricstudy.table.select import label_text
from fabricstudy.table.store import Tables
from fabricstudy.words import cpu_time, listed, several

from .text import Grid, number

_VALUE, _WORK, _ALL = "(value)", "(work)", "(all)"
_MOST_AXES, _MOST_CLAIMS = 3, 6


@dataclass(frozen=True)
class Effect:
    """How far the labels of one axis lie apart where all else is equal, seeds by their median.

    Parameters
    ----------
    axis : str
        Which axis.
    median, largest : float
        Largest over least value among its labels: of the comparisons, the median and the largest.
    where : str
        The other axes' labels at the largest.
    comparisons : int
        How many there are: one for each combination of the other axes' labels.
    best : tuple of str
        The label that most often has the least value; several, if as often.
    best_in : int
        In how many of the comparisons each of them has.
    """

    axis: str
    median: float
    largest: float
    where: str
    comparisons: int
    best: tuple[str, ...]
    best_in: int


@dataclass(frozen=True)
class Growth:
    """What becomes of the value from the least to the largest label of an axis of sizes, all else equal.

    Parameters
    ----------
    axis, least, most : str
        Which axis, and its labels.
    factors : tuple of float
        Value at `most` over that at `least`: of the comparisons, the least, the median and the largest.
    comparisons : int
        How many there are.
    """

    axis: str
    least: str
    most: str
    factors: tuple[float, float, float]
    comparisons: int


@dataclass(frozen=True)
class Effects:
    """The effects of what a study chooses, the largest first, and what chance does to the same numbers.

    Parameters
    ----------
    of, column : str
        What is compared, as a noun, and the column that holds it.
    axes : list of Effect
        One for each chosen axis whose labels can be compared.
    growths : list of Growth
        One for each other axis of sizes.
    noise : tuple of float or None
        Largest over least value among the seeds of a point: median and largest; None with one seed.
    slowest : str
        Which job's time that of a point is, in a sentence; "" where a point has one job.
    """

    of: str
    column: str
    axes: list[Effect]
    growths: list[Growth]
    noise: tuple[float, float] | None
    slowest: str = ""

    @property
    def grid(self) -> Grid:
        """All of them as a table."""
        head = ("varied", "comparisons", "median factor", "largest factor", "which is at", "best most often")
        rows = [
            [one.axis, str(one.comparisons), number(one.median, 3), number(one.largest, 3), one.where, listed(one.best)]
            for one in self.axes
        ]
        return Grid(head, rows, frozenset((1, 2, 3)))


_CHOSEN = {"machine", "routing", "network", "allocation", "mapping", "partitions", "order", "backfill"}
_GIVEN = {"jobs", "pattern", "trace", "engine"}


def choices(study: Study) -> set[str]:
    """Give the axes that whoever designs or runs a machine chooses: neither the workload nor the simulator."""
    sections_of: dict[str, set[str]] = {}
    for part in (*study.all_experiments.values(), *study.schedules.values()):
        for name, axis in part.sweep.items():
            paths = [path.split(".") for change in axis.changes for path in change]
            sections = {path[2] if path[0] == "jobs" and len(path) > 2 else path[0] for path in paths}
            sections_of.setdefault(name, set()).update(sections)
    return {name for name, sections in sections_of.items() if sections & _CHOSEN and not sections & _GIVEN}


def sizes(study: Study) -> dict[str, tuple[str, str]]:
    """Give the axes whose labels are sizes (of messages, jobs, machines), with the least and the largest label."""
    found = {}
    for part in (*study.all_experiments.values(), *study.schedules.values()):
        for name, axis in part.sweep.items():
            if axis.magnitudes and len(axis) > 1:
                ordered = sorted(zip(axis.magnitudes, axis.labels, strict=True))
                found[name] = (label_text(ordered[0][1]), label_text(ordered[-1][1]))
    return found


def effects(
    tables: Tables, chosen: set[str], sized: Mapping[str, tuple[str, str]] = MappingProxyType({})
) -> Effects | None:
    """Compare the times of a study's simulations or the waits of its schedules, whichever there are more of.

    Only chosen axes are compared: no pattern or size of messages is better than another. The time of a point is that of
    its slowest job. Points are compared only if they send equally many bytes, and never across engines. Along the other
    axes of `sized` the value is told at both ends.
    """
    jobs = tables.jobs[~tables.jobs["background"] & ~tables.jobs["experiment"].isin(ADDED)]
    jobs = jobs[jobs["runtime_ns"] > 0]
    runs = tables.schedules
    if len(runs):
        runs = runs[(runs["status"] == DONE) & (runs["wait_mean_s"] > 0)]
    if len(runs) > len(jobs):
        rows = runs.copy()
        rows[_VALUE], rows[_WORK] = rows["wait_mean_s"], 1
        return _effects("mean wait", "wait_mean_s", rows, [runs.columns[0], *axes_of(runs)], chosen, sized)
    if len(jobs):
        keys = ["experiment", *axes_of(jobs), "seed"]
        of_points = jobs.assign(**{_VALUE: jobs["runtime_ns"], _WORK: jobs["bytes"]})
        rows = of_points.groupby([*keys, "point_id"], dropna=False, sort=False).agg({_VALUE: "max", _WORK: "sum"})
        found = _effects("time", "runtime_ns", rows.reset_index(), keys[:-1], chosen, sized)
        return replace(found, slowest=_slowest(jobs))
    return None


def _effects(
    of: str, column: str, rows: pd.DataFrame, keys: list[str], chosen: set[str], sized: Mapping[str, tuple[str, str]]
) -> Effects:
    rows[_ALL] = ""
    rows[keys] = rows[keys].map(label_text)
    seeds = rows.groupby([*keys, "engine"] if "engine" in rows else keys)[_VALUE].agg(["max", "min", "size"])
    seeds = seeds[seeds["size"] > 1]
    spread = seeds["max"] / seeds["min"]
    of_axes = [_effect(rows, axis, keys) for axis in keys[1:] if axis in chosen]
    ordered = sorted((one for one in of_axes if one), key=lambda one: -one.median)
    told = {one.axis for one in ordered}
    of_sizes = [_growth(rows, axis, keys, ends) for axis, ends in sized.items() if axis in keys and axis not in told]
    growths = [one for one in of_sizes if one]
    return Effects(of, column, ordered, growths, (spread.median(), spread.max()) if len(spread) else None)


def _slowest(jobs: pd.DataFrame) -> str:
    of_points = jobs.drop_duplicates(["experiment", "point_id", "job"]).groupby(["experiment", "point_id"], sort=False)
    if of_points.size().max() == 1:
        return ""
    slowest = jobs.loc[of_points["runtime_ns"].idxmax(), "job_name"].astype(str)
    sentence = "The time of a point is that of its slowest job"
    if jobs["job_name"].nunique() == 1:
        return f"{sentence}."
    name, count = next(iter(slowest.value_counts().items()))
    return f"{sentence}, most often the job {name} ({count} of {several(len(slowest), 'point')})."


def _growth(rows: pd.DataFrame, axis: str, keys: list[str], ends: tuple[str, str]) -> Growth | None:
    equal = [_ALL, *(key for key in keys if key != axis)]
    values = rows.groupby([*equal, axis])[_VALUE].median().unstack(axis)
    if not set(ends) <= set(values):
        return None
    ratio = (values[ends[1]] / values[ends[0]]).dropna()
    if ratio.empty:
        return None
    return Growth(axis, *ends, (ratio.min(), ratio.median(), ratio.max()), len(ratio))


def _effect(rows: pd.DataFrame, axis: str, keys: list[str]) -> Effect | None:
    equal = [_ALL, *(key for key in keys if key != axis)]
    of_labels = rows.groupby([*equal, axis])[[_VALUE, _WORK]].median().unstack(axis)
    values, work = pd.DataFrame(of_labels[_VALUE]), pd.DataFrame(of_labels[_WORK])
    same_work = work.max(axis=1) == work.min(axis=1)
    values = values[(values.notna().sum(axis=1) > 1) & same_work]
    if values.empty:
        return None
    ratio = values.max(axis=1) / values.min(axis=1)
    labels = dict(zip(equal, ratio.index[int(ratio.argmax())], strict=True))
    varied = [name for name in equal[2:] if rows[name].nunique() > 1 and labels[name] != label_text(None)]
    where = ", ".join(f"{name} {labels[name]}" for name in varied)
    times_best = values.idxmin(axis=1).value_counts()
    most = int(times_best.max())
    best = tuple(str(label) for label in values.columns if times_best.get(label) == most)
    return Effect(axis, float(ratio.median()), float(ratio.max()), where, len(values), best, most)


def sentences(tables: Tables, changes: Effects | None, meanings: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Sum up the claims, the choices with the largest effects, the engines' differences and the number of runs.

    Axes of which `meanings` holds what they set are told with it.
    """
    parts = (
        _of_claims(tables),
        _of_effects(changes, meanings),
        _of_computing(tables.jobs),
        _of_slowdowns(tables.interference),
        _of_engines(tables),
        _basis(tables),
    )
    return [part for part in parts if part]


def _of_claims(tables: Tables) -> str:
    claims = tables.claims.drop_duplicates("claim")
    ids = {str(name): part["claim"].astype(str).tolist() for name, part in claims.groupby("claim_verdict")}
    words = {REPRODUCED: ("is reproduced", "are reproduced"), IN_PART: ("is reproduced in part",
             "are reproduced in part"), UNDECIDED: ("is undecided", "are undecided"), DIFFERS: ("differs", "differ"),
             NOT_RUN: ("could not be tested", "could not be tested")}  # fmt: skip
    parts = []
    for verdict in (name for name in words if name in ids):
        named = verdict in (UNDECIDED, DIFFERS) and len(ids[verdict]) <= _MOST_CLAIMS
        parts.append(f"{len(ids[verdict])} {words[verdict][len(ids[verdict]) > 1]}")
        parts[-1] += f" ({', '.join(ids[verdict])})" if named else ""
    return f"Of {several(len(claims), 'claim')}, {listed(parts)}." if parts else ""


def _of_effects(changes: Effects | None, meanings: Mapping[str, str]) -> str:
    if changes is None or not (changes.axes or changes.growths):
        return ""
    parts = [_of_choices(changes, meanings)] if changes.axes else []
    parts += [_of_growth(changes.of, one, meanings) for one in changes.growths[:_MOST_AXES]]
    parts += [changes.slowest] * bool(changes.slowest)
    if changes.noise is None:
        parts.append("With one seed, nothing says how much of this is chance.")
    else:
        middle, largest = (number(factor, 3) for factor in changes.noise)
        parts.append(f"Seeds alone change the {changes.of} by a factor of {middle}, at most {largest}.")
    return " ".join(parts)


def _of_choices(changes: Effects, meanings: Mapping[str, str]) -> str:
    first, *others = changes.axes[:_MOST_AXES]
    sentence = (
        f"Of the choices varied, {_named(first.axis, meanings)} changes the {changes.of} most: all else equal, its "
        f"worst value has {number(first.median, 3)} times the {changes.of} of its best one in the median, and "
        f"{number(first.largest, 3)} times at most. Best {'is' if len(first.best) == 1 else 'are'} {_best(first)}."
    )
    if others:

        def meant(one: Effect) -> str:
            return f"{meanings[one.axis]}; " if one.axis in meanings else ""

        rest = [
            f"{one.axis} ({meant(one)}{number(one.median, 3)}, at most {number(one.largest, 3)}; best {_best(one)})"
            for one in others
        ]
        sentence += f" Then {'comes' if len(others) == 1 else 'come'} {listed(rest)}."
    return sentence


def _of_growth(of: str, one: Growth, meanings: Mapping[str, str]) -> str:
    least, middle, most = (number(factor, 3) for factor in one.factors)
    spread = f" in the median ({least} to {most}, {one.comparisons} comparisons)" if one.comparisons > 1 else ""
    return (
        f"From {_named(one.axis, meanings)} {one.least} to {one.most} the {of} becomes {middle} times as long{spread}."
    )


def _named(axis: str, meanings: Mapping[str, str]) -> str:
    return f"{axis} ({meanings[axis]})" if axis in meanings else axis


def _best(one: Effect) -> str:
    among = f"{one.best_in} of {several(one.comparisons, 'comparison')}"
    return f"{listed(one.best)} in {among}{'' if len(one.best) == 1 else ' each'}"


def _of_computing(jobs: pd.DataFrame) -> str:
    share = (jobs["compute_ns"] / jobs["runtime_ns"])[jobs["compute_ns"] > 0].dropna()
    if share.empty:
        return ""
    low, middle, high = (number(100 * value, 2) for value in share.quantile([0, 0.5, 1]))
    sentence = f"{several(len(share), 'job')} computed for {middle} % of the runtime in the median ({low} to {high} %)"
    return f"{sentence}; the rest is communication and waiting."


def _of_slowdowns(rows: pd.DataFrame) -> str:
    compared = rows[rows["slowdown"].notna()]
    if compared.empty:
        return ""
    low, middle, high = (number(value, 3) for value in compared["slowdown"].quantile([0, 0.5, 1]))
    count = several(len(compared), "job")
    text = f"Beside others, {count} took {middle} times as long as alone in the median ({low} to {high})"
    inside = compared["in_noise"].dropna()
    if inside.empty:
        return f"{text}."
    noise = f"the noise, which is that of {basis_of_noise(rows)}"
    return f"{text}; {int(inside.sum())} of {len(inside)} cannot be told from {noise}."


def _of_engines(tables: Tables) -> str:
    pairs = [_of_pair(str(pair), part) for pair, part in tables.agreement.groupby("pair", sort=False)]
    return " ".join([*pairs, _of_verdicts(tables.verdicts)] if pairs else [])


def _basis(tables: Tables) -> str:
    """Count the simulations, runs of schedules and analyses behind the page."""
    points, runs = tables.points.drop_duplicates("point_id"), tables.schedules
    parts = []
    if len(points):
        done = points[points["status"] == DONE]
        engines = listed(sorted(done["engine"].unique())) if len(done) else "no engine"
        parts.append(
            f"{_of_all(len(done), len(points), 'simulation')} of {several(points['machine_id'].nunique(), 'machine')} "
            f"by {engines} ({cpu_time(points['cpu_s'].sum())}, {several(points['seed'].nunique(), 'seed')})"
        )
    if len(runs):
        done_runs = int((runs["status"] == DONE).sum())
        parts.append(f"{_of_all(done_runs, len(runs), 'run')} of schedules ({several(runs['seed'].nunique(), 'seed')})")
    if tables.analyses:
        parts.append(
            f"{len(tables.analyses)} {'analysis' if len(tables.analyses) == 1 else 'analyses'} without simulation"
        )
    return f"The report rests on {listed(parts)}." if parts else ""


def _of_all(done: int, count: int, noun: str) -> str:
    return several(count, noun) if done == count else f"{done:,} of {several(count, noun)}"


def _of_pair(pair: str, part: pd.DataFrame) -> str:
    low, middle, high = (number(value, 3) for value in part["ratio"].quantile([0, 0.5, 1]))
    rank = number(part["runtime_a_ns"].rank().corr(part["runtime_b_ns"].rank()), 3)
    return (
        f"Times by {pair} have the ratio {middle} in the median ({low} to {high}, {several(len(part), 'job')}) and are "
        f"ordered alike with a rank correlation of {rank}."
    )


def _of_verdicts(verdicts: pd.DataFrame) -> str:
    ran = verdicts[verdicts["verdict"] != NOT_RUN].groupby(["claim", "part"])["verdict"].agg(list)
    both = [set(part) for part in ran if len(part) > 1]
    same, opposite = sum(len(part) == 1 for part in both), sum({REPRODUCED, DIFFERS} <= part for part in both)
    text = f"They give the same verdict on {same} of {several(len(both), 'number')} behind the claims"
    return f"{text}{f' and opposite ones on {opposite}' if opposite else ''}." if both else ""


def leading(figures: Sequence[AnyFigure | None], changes: Effects | None) -> int | None:
    """Give the place of the figure with the largest effect that any figure shows; else that of the first one drawn.

    Figures of the compared column go first, before those of other numbers of simulations or schedules.
    """
    drawn = {place: figure for place, figure in enumerate(figures) if figure}
    measured = [place for place, figure in drawn.items() if figure.analysis is None and figure.table != "machines"]
    compared = [place for place in measured if changes and changes.column in drawn[place].numbers()]
    for places in (compared, measured):
        for one in changes.axes if changes else ():
            for place in places:
                if one.axis in drawn[place].axes():
                    return place
    return min(drawn, default=None)
