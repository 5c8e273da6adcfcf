"""What a study found, in a few sentences that are written from its numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import pandas as pd

from fabricstudy.core.columns import (
    ADDED_EXPERIMENTS,
    DIFFERS,
    DONE,
    IN_PART,
    MIN_DIFFERENCE,
    NOT_RUN,
    REPRODUCED,
    UNDECIDED,
    column_unit,
)
from fabricstudy.core.phrasing import count_noun, cpu_time, join_words
from fabricstudy.study.figures import AnyFigure, ScatterFigure, Selection
from fabricstudy.study.model import Study
from fabricstudy.table.files import Tables
from fabricstudy.table.schemas import axes_of
from fabricstudy.table.select import VALUE, label_text, observe

from .figure_style import column_text
from .text import TextTable, number

_WORK, _ALL = "(work)", "(all)"
_MOST_AXES, _MOST_CLAIMS = 3, 6


@dataclass(frozen=True)
class Metric:
    """The number by which the labels of an axis are ranked: a column of a table, and how jobs become one number.

    Less is better, but of rates. Times are compared between points that send equally many bytes.
    """

    selection: Selection = field(default_factory=Selection)
    column: str = "runtime_ns"

    @property
    def noun(self) -> str:
        """The number in a sentence."""
        return "mean wait" if self.column == "wait_mean_s" else column_text(self.column)

    @property
    def needs_equal_work(self) -> bool:
        """Whether it grows with the bytes of a point."""
        return column_unit(self.column) in ("nanosecond", "byte")


def metric_of(figures: Sequence[AnyFigure]) -> Metric:
    """Return what the first figure of jobs shows; the runtime of the slowest job of each point if there is none."""
    for figure in figures:
        if figure.of_points and figure.table in ("jobs", "interference") and figure.numbers():
            of_jobs = {name: wanted for name, wanted in figure.where.items() if name in ("job", "job_name")}
            selection = Selection(table=figure.table, reduce_jobs=figure.reduce_jobs, where=of_jobs)
            column = figure.y if isinstance(figure, ScatterFigure) else figure.numbers()[0]
            return Metric(selection, column)
    return Metric()


@dataclass(frozen=True)
class Effect:
    """How far the labels of one axis differ where all else is equal, each by its median over seeds.

    Parameters
    ----------
    median, largest : float
        Largest over least value among its labels: of the comparisons, the median and the largest.
    where : str
        The other axes' labels at the largest.
    comparisons : int
        How many there are: one for each combination of the other axes' labels.
    times_best : dict of str to int
        In how many comparisons each label is best, or ties with the best: its range over the seeds overlaps that of the
        best one, or their medians differ by no more than the range of one of the two.
    by_rate : bool
        Whether labels are ranked by time per byte, since their points send different numbers of bytes.
    left_out : int
        Further combinations of the other axes' labels, whose points send different numbers of bytes.
    """

    axis: str
    median: float
    largest: float
    where: str
    comparisons: int
    times_best: dict[str, int]
    by_rate: bool = False
    left_out: int = 0

    @property
    def best_in(self) -> int:
        """In how many comparisons the labels that are best most often are."""
        return max(self.times_best.values())

    @property
    def best(self) -> tuple[str, ...]:
        """All labels that are best most often."""
        return tuple(label for label, times in self.times_best.items() if times == self.best_in)


@dataclass(frozen=True)
class Unranked:
    """Labels of an axis that were not ranked, or all of them if `labels` is empty, and the reason."""

    axis: str
    reason: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Growth:
    """What becomes of the value from the least to the largest label of an axis of sizes, all else equal.

    `factors` are the value at `most` over that at `least`: of the comparisons, the least, the median and the largest.
    """

    axis: str
    least: str
    most: str
    factors: tuple[float, float, float]
    comparisons: int


@dataclass(frozen=True)
class Effects:
    """The effects of what a study chooses, the largest first, and what chance does to the same numbers.

    Each chosen axis has an effect, or is unranked; each other axis of sizes has a growth. `noise` is the largest over
    the least value among the seeds of a point, its median and its largest; None with one seed. `jobs` says how the jobs
    of a point become one number; "" where a point has one job.
    """

    metric: Metric
    axes: list[Effect]
    growths: list[Growth]
    noise: tuple[float, float] | None
    unranked: list[Unranked] = field(default_factory=list)
    jobs: str = ""

    @property
    def grid(self) -> TextTable:
        """All of them as a table."""
        rows = []
        for one in self.axes:
            best = ", ".join(f"{label}: {times}" for label, times in one.times_best.items())
            numbers = (str(one.comparisons), number(one.median, 3), number(one.largest, 3))
            rows.append([one.axis, *numbers, one.where, best])
        head = ["varied", "comparisons", "median factor", "largest factor", "which is at"]
        return TextTable([*head, "times best, or tied with it"], rows, frozenset((1, 2, 3)))


_CHOSEN = {"machine", "routing", "network", "allocation", "mapping", "partitions", "order", "backfill"}
_GIVEN = {"jobs", "pattern", "trace", "engine"}


def design_axes(study: Study) -> set[str]:
    """Return the axes that whoever designs or runs a machine chooses: neither the workload nor the simulator."""
    sections_of: dict[str, set[str]] = {}
    for part in (*study.all_experiments.values(), *study.schedules.values()):
        for name, axis in part.sweep.items():
            paths = [path.split(".") for change in axis.changes for path in change]
            sections = {path[2] if path[0] == "jobs" and len(path) > 2 else path[0] for path in paths}
            sections_of.setdefault(name, set()).update(sections)
    return {name for name, sections in sections_of.items() if sections & _CHOSEN and not sections & _GIVEN}


def size_axes(study: Study) -> dict[str, tuple[str, str]]:
    """Return the axes whose labels are sizes (of messages, jobs, machines), with the least and the largest label."""
    found = {}
    for part in (*study.all_experiments.values(), *study.schedules.values()):
        for name, axis in part.sweep.items():
            if axis.magnitudes and len(axis) > 1:
                ordered = sorted(zip(axis.magnitudes, axis.labels, strict=True))
                found[name] = (label_text(ordered[0][1]), label_text(ordered[-1][1]))
    return found


def effects(
    tables: Tables,
    chosen: set[str],
    sized: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    metric: Metric | None = None,
) -> Effects | None:
    """Compare the numbers of a study's simulations or the waits of its schedules, whichever there are more of.

    Only chosen axes are compared: no pattern or size of messages is better than another. Points are compared only if
    they send equally many bytes, else by their time per byte, and never across engines. Along the other axes of `sized`
    the value is given at both ends.
    """
    metric = metric or Metric()
    rows, keys = _observed(tables, metric)
    if rows.empty:
        metric = Metric()
        rows, keys = _observed(tables, metric)
    runs = tables.schedules
    if len(runs):
        runs = runs[(runs["status"] == DONE) & (runs["wait_mean_s"] > 0)]
    if len(runs) > len(rows):
        metric = Metric(column="wait_mean_s")
        rows, keys = runs.copy(), [runs.columns[0], *axes_of(runs)]
        rows[VALUE], rows[_WORK] = runs["wait_mean_s"], 1
    if rows.empty:
        return None
    rows[_ALL] = ""
    rows[keys] = rows[keys].map(label_text)
    seeds = rows.groupby([*keys, "engine"] if "engine" in rows else keys)[VALUE].agg(["max", "min", "size"])
    seeds = seeds[seeds["size"] > 1]
    spread = seeds["max"] / seeds["min"]
    none = label_text(None)
    varied = [axis for axis in keys[1:] if axis in chosen and len(set(rows[axis]) - {none}) > 1]
    ranked = [_effect(rows, axis, keys, metric) for axis in varied]
    of_axes = sorted((one for one in ranked if isinstance(one, Effect)), key=lambda one: -one.median)
    known = {one.axis for one in of_axes}
    growths = [_growth(rows, axis, keys, ends) for axis, ends in sized.items() if axis in keys and axis not in known]
    noise = (spread.median(), spread.max()) if len(spread) else None
    unranked = [one for one in ranked if isinstance(one, Unranked)] + _without_number(tables.points, rows, chosen)
    jobs = "" if metric.column == "wait_mean_s" else _of_jobs(tables.jobs, metric)
    return Effects(metric, of_axes, [one for one in growths if one], noise, unranked, jobs)


def _observed(tables: Tables, metric: Metric) -> tuple[pd.DataFrame, list[str]]:
    """Return the numbers of all experiments, each with the bytes sent, and the columns that identify them."""
    frames, keys = [], ["experiment", *axes_of(tables.points)]
    for name in tables.points["experiment"].unique():
        if name in ADDED_EXPERIMENTS:
            continue
        selection = metric.selection.model_copy(update={"experiment": str(name)})
        seen = observe(tables, selection, metric.column)
        of_point = [*seen.keys, "seed"]
        frame = seen.frame[[*of_point, "point_id", VALUE]].assign(experiment=name, **{_WORK: 1.0})
        if metric.needs_equal_work:
            one_by_one = {"table": "jobs", "reduce_jobs": "each" if selection.reduce_jobs == "each" else "sum"}
            sent = observe(tables, selection.model_copy(update=one_by_one), "bytes").frame
            work = sent.set_index([*of_point, "point_id"])[VALUE]
            frame[_WORK] = work.reindex(pd.MultiIndex.from_frame(frame[[*of_point, "point_id"]])).to_numpy()
        frames += [frame[frame[VALUE] > 0]] * bool((frame[VALUE] > 0).any())
        keys += [key for key in seen.keys if key not in keys]
    rows = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[*keys, VALUE])
    return rows.reindex(columns=list(dict.fromkeys([*keys, *rows]))), keys


def _without_number(points: pd.DataFrame, rows: pd.DataFrame, chosen: set[str]) -> list[Unranked]:
    planned = points[~points["experiment"].isin(ADDED_EXPERIMENTS)]
    axes = [axis for axis in axes_of(points) if axis in chosen and axis in rows]
    lost = {axis: set(planned[axis].dropna().map(label_text)) - set(rows[axis]) for axis in axes}
    return [Unranked(axis, "no point has a number", tuple(sorted(gone))) for axis, gone in lost.items() if gone]


_OVER_JOBS = {"max": "that of its slowest job", "mean": "the mean over its jobs", "sum": "the sum over its jobs"}


def _of_jobs(jobs: pd.DataFrame, metric: Metric) -> str:
    jobs = jobs[~jobs["background"] & ~jobs["experiment"].isin(ADDED_EXPERIMENTS) & (jobs["runtime_ns"] > 0)]
    of_points = jobs.drop_duplicates(["experiment", "point_id", "job"]).groupby(["experiment", "point_id"], sort=False)
    if jobs.empty or of_points.size().max() == 1:
        return ""
    over, noun = metric.selection.reduce_jobs, metric.noun
    if over == "each" or metric.selection.table != "jobs":
        return f"The {noun} of each job is compared by itself."
    sentence = f"The {noun} of a point is {_OVER_JOBS[over]}"
    if over != "max" or metric.column != "runtime_ns":
        return f"{sentence.replace('slowest job', 'job with the largest')}."
    slowest = jobs.loc[of_points["runtime_ns"].idxmax(), "job_name"].astype(str)
    if jobs["job_name"].nunique() == 1:
        return f"{sentence}."
    name, count = next(iter(slowest.value_counts().items()))
    return f"{sentence}, most often the job {name} ({count} of {count_noun(len(slowest), 'point')})."


def _growth(rows: pd.DataFrame, axis: str, keys: list[str], ends: tuple[str, str]) -> Growth | None:
    equal = [_ALL, *(key for key in keys if key != axis)]
    values = rows.groupby([*equal, axis])[VALUE].median().unstack(axis)
    if not set(ends) <= set(values):
        return None
    ratio = (values[ends[1]] / values[ends[0]]).dropna()
    if ratio.empty:
        return None
    return Growth(axis, *ends, (ratio.min(), ratio.median(), ratio.max()), len(ratio))


def _effect(rows: pd.DataFrame, axis: str, keys: list[str], metric: Metric) -> Effect | Unranked:
    equal = [_ALL, *(key for key in keys if key != axis)]
    paired, by_rate = rows[rows.groupby(equal)[axis].transform("nunique") > 1], False
    if paired.empty:
        return Unranked(axis, "no two of its points are equal in all else")
    work = paired.groupby([*equal, axis])[_WORK].transform("median").groupby([paired[key] for key in equal])
    same = paired[work.transform("max") == work.transform("min")]
    asked, unit = paired.groupby(equal).ngroups, column_unit(metric.column)
    if same.empty and unit == "nanosecond" and (paired[_WORK] > 0).all():
        paired, by_rate = paired.assign(**{VALUE: paired[VALUE] / paired[_WORK]}), True
    elif same.empty:
        return Unranked(axis, "its points send different numbers of bytes")
    else:
        paired = same
    if unit == "byte/second":  # of rates the largest is best
        paired = paired.assign(**{VALUE: 1 / paired[VALUE]})
    of_labels = paired.groupby([*equal, axis])[VALUE].agg(["median", "min", "max"]).unstack(axis)
    values, least, most = (pd.DataFrame(of_labels[name]) for name in ("median", "min", "max"))
    ratio = values.max(axis=1) / values.min(axis=1)
    labels = dict(zip(equal, ratio.index[int(ratio.argmax())], strict=True))
    varied = [name for name in equal[2:] if rows[name].nunique() > 1 and labels[name] != label_text(None)]
    where = ", ".join(f"{name} {labels[name]}" for name in varied)
    times = {str(label): int(count) for label, count in _ties(values, least, most).sum().items()}
    middle, largest = float(ratio.median()), float(ratio.max())
    return Effect(axis, middle, largest, where, len(values), times, by_rate, asked - len(values))


def _ties(values: pd.DataFrame, least: pd.DataFrame, most: pd.DataFrame) -> pd.DataFrame:
    """Return for each comparison which labels are best, or tie with the best within run-to-run variation.

    The frames have a row each comparison and a column each label: median, least and largest value over the seeds.
    Ranges of labels that tie overlap, or the ratio of their medians is within the range of one of the two; times that
    differ by less than `MIN_DIFFERENCE` are equal.
    """
    at, low, high = (frame.to_numpy(dtype=float) for frame in (values, least, most))
    first = np.nanargmin(at, axis=1)[:, None]
    best, best_low, best_high = (np.take_along_axis(one, first, axis=1) for one in (at, low, high))
    range_of_two = np.fmax(np.fmax(high / low, best_high / best_low), 1 + MIN_DIFFERENCE)
    return pd.DataFrame((low <= best_high) | (at / best <= range_of_two), index=values.index, columns=values.columns)


def sentences(
    tables: Tables,
    changes: Effects | None,
    meanings: Mapping[str, str] = MappingProxyType({}),
    fronts: Sequence[str] = (),
) -> list[str]:
    """Return the key findings: claims, fronts, the choices with the largest effects, engines' differences, runs.

    Axes of which `meanings` holds what they set are given with it.
    """
    parts = (
        _of_claims(tables),
        *fronts,
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
        named = verdict == UNDECIDED and len(ids[verdict]) <= _MOST_CLAIMS
        parts.append(f"{len(ids[verdict])} {words[verdict][len(ids[verdict]) > 1]}")
        parts[-1] += f" ({', '.join(ids[verdict])})" if named else ""
    sentence = f"Of {count_noun(len(claims), 'claim')}, {join_words(parts)}." if parts else ""
    differ = claims[claims["claim_verdict"] == DIFFERS]
    first = differ.head(_MOST_CLAIMS).to_dict("records")
    shown = [f"{one['claim']}, \u201c{one['statement'].rstrip('.')}\u201d" for one in first]
    shown += [f"and {len(differ) - _MOST_CLAIMS} more"] * (len(differ) > _MOST_CLAIMS)
    return f"{sentence} Not as expected: {'; '.join(shown)}." if shown else sentence


def _of_effects(changes: Effects | None, meanings: Mapping[str, str]) -> str:
    if changes is None or not (changes.axes or changes.growths or changes.unranked):
        return ""
    noun = changes.metric.noun
    parts = [_of_choices(changes, meanings)] if changes.axes else []
    parts += [_of_growth(noun, one, meanings) for one in changes.growths[:_MOST_AXES]]
    parts += [changes.jobs] * bool(changes.jobs)
    for one in changes.unranked:
        labels = f"{one.axis} {join_words(one.labels)}" if one.labels else one.axis
        parts.append(f"Not ranked: {labels} ({one.reason}).")
    if changes.noise is None:
        return " ".join([*parts, "With one seed, the run-to-run variation is unknown."])
    middle, largest = (number(factor, 3) for factor in changes.noise)
    noise = f"The run-to-run variation of the {noun} is a factor of {middle} in the median, at most {largest}."
    return " ".join([*parts, noise])


def _of_choices(changes: Effects, meanings: Mapping[str, str]) -> str:
    first, *others = changes.axes[:_MOST_AXES]
    noun = changes.metric.noun
    sentence = (
        f"Of the choices varied, {_named(first.axis, meanings)} changes the {noun} most: all else equal, the largest "
        f"is {number(first.median, 3)} times the least in the median, and {number(first.largest, 3)} times at most. "
        f"{_best(first, start=True)}."
    )
    rest = []
    for one in others:
        meant = f"{meanings[one.axis]}; " if one.axis in meanings else ""
        factors = f"{number(one.median, 3)}, at most {number(one.largest, 3)}"
        rest.append(f"{one.axis} ({meant}{factors}; {_best(one)})")
    if rest:
        sentence += f" Then {'comes' if len(rest) == 1 else 'come'} {join_words(rest)}."
    by_rate = [one.axis for one in changes.axes if one.by_rate]
    if by_rate:
        sentence += f" Ranked by {noun} per byte, since points send different numbers of bytes: {join_words(by_rate)}."
    return sentence


def _of_growth(of: str, one: Growth, meanings: Mapping[str, str]) -> str:
    least, middle, most = (number(factor, 3) for factor in one.factors)
    spread = f" in the median ({least} to {most}, {one.comparisons} comparisons)" if one.comparisons > 1 else ""
    return f"From {_named(one.axis, meanings)} {one.least} to {one.most} the {of} grows {middle} times{spread}."


def _named(axis: str, meanings: Mapping[str, str]) -> str:
    return f"{axis} ({meanings[axis]})" if axis in meanings else axis


def _best(one: Effect, start: bool = False) -> str:
    """Return which labels are best, all that tie; capitalised at the start of a sentence."""
    if len(one.best) == len(one.times_best) and one.best_in == one.comparisons:
        text = "no label is better than another beyond run-to-run variation"
    else:
        among = f"{one.best_in} of {count_noun(one.comparisons, 'comparison')}"
        tie = ", tied within run-to-run variation," * (len(one.best) > 1)
        text = f"best{tie} {'is' if len(one.best) == 1 else 'are'} {join_words(one.best)} in {among}"
        text += " each" * (len(one.best) > 1)
    if one.left_out:
        text += f" ({one.left_out} more left out: their points send different numbers of bytes)"
    return text[0].upper() + text[1:] if start else text


def _of_computing(jobs: pd.DataFrame) -> str:
    share = (jobs["compute_ns"] / jobs["runtime_ns"])[jobs["compute_ns"] > 0].dropna()
    if share.empty:
        return ""
    low, middle, high = (number(100 * value, 2) for value in share.quantile([0, 0.5, 1]))
    sentence = (
        f"{count_noun(len(share), 'job')} computed for {middle} % of the runtime in the median ({low} to {high} %)"
    )
    return f"{sentence}; the rest is communication and waiting."


def _of_slowdowns(rows: pd.DataFrame) -> str:
    compared = rows[rows["slowdown"].notna()]
    if compared.empty:
        return ""
    low, middle, high = (number(value, 3) for value in compared["slowdown"].quantile([0, 0.5, 1]))
    text = f"{count_noun(len(compared), 'job')} took {middle} times as long as in their baseline runs in the median"
    return f"Beside others, {text} ({low} to {high})."


def _of_engines(tables: Tables) -> str:
    pairs = []
    for pair, part in tables.agreement.groupby("pair", sort=False):
        low, middle, high = (number(value, 3) for value in part["ratio"].quantile([0, 0.5, 1]))
        rank = number(part["runtime_a_ns"].rank().corr(part["runtime_b_ns"].rank()), 3)
        pairs.append(
            f"Times by {pair} have the ratio {middle} in the median ({low} to {high}, {count_noun(len(part), 'job')}), "
            f"are ordered alike with a rank correlation of {rank}."
        )
    return " ".join([*pairs, _of_verdicts(tables.verdicts)] if pairs else [])


def _basis(tables: Tables) -> str:
    """Count the simulations, runs of schedules and analyses behind the page."""
    points, runs = tables.points.drop_duplicates("point_id"), tables.schedules
    parts = []
    if len(points):
        done = points[points["status"] == DONE]
        engines = join_words(sorted(done["engine"].unique())) if len(done) else "no engine"
        parts.append(
            f"{_of_all(len(done), len(points), 'simulation')} of "
            f"{count_noun(points['machine_id'].nunique(), 'machine')} "
            f"by {engines} ({cpu_time(points['cpu_s'].sum())}, {count_noun(points['seed'].nunique(), 'seed')})"
        )
    if len(runs):
        done_runs = int((runs["status"] == DONE).sum())
        parts.append(
            f"{_of_all(done_runs, len(runs), 'run')} of schedules ({count_noun(runs['seed'].nunique(), 'seed')})"
        )
    if tables.analyses:
        noun = "analysis" if len(tables.analyses) == 1 else "analyses"
        parts.append(f"{len(tables.analyses)} {noun} without simulation")
    return f"The report rests on {join_words(parts)}." if parts else ""


def _of_all(done: int, count: int, noun: str) -> str:
    return count_noun(count, noun) if done == count else f"{done:,} of {count_noun(count, noun)}"


def _of_verdicts(verdicts: pd.DataFrame) -> str:
    ran = verdicts[verdicts["verdict"] != NOT_RUN].groupby(["claim", "part"])["verdict"].agg(list)
    both = [set(part) for part in ran if len(part) > 1]
    same, opposite = sum(len(part) == 1 for part in both), sum({REPRODUCED, DIFFERS} <= part for part in both)
    text = f"They give the same verdict on {same} of {count_noun(len(both), 'number')} behind the claims"
    return f"{text}{f' and opposite ones on {opposite}' if opposite else ''}." if both else ""


def leading(figures: Sequence[AnyFigure | None], changes: Effects | None) -> int | None:
    """Return the place of the figure with the largest effect that any figure shows; else that of the first one drawn.

    Figures of the compared column go first, before those of other numbers of simulations or schedules.
    """
    drawn = {place: figure for place, figure in enumerate(figures) if figure}
    measured = [place for place, figure in drawn.items() if figure.analysis is None and figure.table != "machines"]
    compared = [place for place in measured if changes and changes.metric.column in drawn[place].numbers()]
    for places in (compared, measured):
        for one in changes.axes if changes else ():
            for place in places:
                if one.axis in drawn[place].axes():
                    return place
    return min(drawn, default=None)
