"""Effects of the axes of a study: how much the choice of a value changes the runtime, and run-to-run variation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from fabricstudy.core.columns import ADDED_EXPERIMENTS, DONE, MIN_DIFFERENCE, column_unit
from fabricstudy.core.phrasing import count_noun
from fabricstudy.study.figures import AnyFigure, ScatterFigure, Selection
from fabricstudy.study.model import Study
from fabricstudy.table.files import Tables
from fabricstudy.table.schemas import axes_of
from fabricstudy.table.select import VALUE, label_text, observe

from .figure_style import column_text
from .text import TextTable, number

_WORK, _ALL = "(work)", "(all)"


@dataclass(frozen=True)
class Metric:
    """The column by which the labels of an axis are ranked, and the reduction of the jobs of a point to one number.

    Smaller is better, except for rates.
    """

    selection: Selection = field(default_factory=Selection)
    column: str = "runtime_ns"

    @property
    def noun(self) -> str:
        """Return the metric as a noun."""
        return _NOUNS.get(self.column, column_text(self.column))


_NOUNS = {"wait_mean_s": "mean wait", "rank_mean_ns": "mean time of a rank"}


def metric_of(figures: Sequence[AnyFigure]) -> Metric:
    """Return the first time or rate that a figure of jobs has; by default the runtime of the slowest job of each point.

    A slowdown or another ratio ranks nothing: what is slow alone loses little beside others.
    """
    for figure in figures:
        if figure.of_points and figure.table in ("jobs", "interference") and figure.numbers():
            column = figure.y if isinstance(figure, ScatterFigure) else figure.numbers()[0]
            if column_unit(column) in ("nanosecond", "byte/second"):
                where = {name: wanted for name, wanted in figure.where.items() if name in ("job", "job_name")}
                selection = Selection(table=figure.table, reduce_jobs=figure.reduce_jobs, where=where)
                return Metric(selection, column)
    return Metric()


@dataclass(frozen=True)
class Effect:
    """Difference between the labels of one axis, all else equal, each label by its median over seeds.

    `median` and `largest` are the largest over the smallest value among the labels: median and maximum over the
    comparisons, one for each combination of the other axes' labels; `where` has these labels at the maximum.
    In `clear` comparisons a label is not tied with the best. `times_best` counts those in which a label is best or tied
    with the best (not distinguishable from it), and `times_alone` those in which no other is. With `by_rate`, labels
    are ranked by time per byte, since their points send different numbers of bytes, as those of `left_out` others do.
    """

    axis: str
    median: float
    largest: float
    where: str
    comparisons: int
    clear: int
    times_best: dict[str, int]
    times_alone: dict[str, int]
    by_rate: bool = False
    left_out: int = 0


@dataclass(frozen=True)
class Unranked:
    """Labels of an axis that are not ranked, all if `labels` is empty, and the reason."""

    axis: str
    reason: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Growth:
    """Growth of the metric from the smallest to the largest label of an axis of sizes, all else equal.

    `factors` are min, median and max of the value at `most` over that at `least`.
    """

    axis: str
    least: str
    most: str
    factors: tuple[float, float, float]
    comparisons: int


@dataclass(frozen=True)
class Crossing:
    """The best label of an axis over the sizes of another one, all else equal: label, first and last size."""

    axis: str
    by: str
    best: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Effects:
    """Effects of the design axes, the largest first, and run-to-run variation.

    `noise` is the largest over the smallest value among the seeds of a point, its median and its maximum; None with one
    seed. `jobs` describes the reduction of the jobs of a point; "" where points have one job.
    """

    metric: Metric
    axes: list[Effect]
    growths: list[Growth]
    noise: tuple[float, float] | None
    unranked: list[Unranked] = field(default_factory=list)
    jobs: str = ""
    crossings: list[Crossing] = field(default_factory=list)

    @property
    def grid(self) -> TextTable:
        """Return effects and run-to-run variation as a table."""
        rows = []
        for effect in self.axes:
            counts = (effect.times_alone, effect.times_best)
            best = [
                "; ".join(f"{label}: {of_labels[label]}" for label in of_labels if of_labels[label])
                for of_labels in counts
            ]
            numbers = (number(effect.median, 3), number(effect.largest, 3), str(effect.comparisons))
            rows.append([effect.axis, *numbers, effect.where, *(text or "none" for text in best)])
        if rows and self.noise:
            rows.append(["run-to-run variation", *(number(factor, 3) for factor in self.noise), *[""] * 4])
        best = (
            ["best alone in", "best or not distinguishable in"]
            if self.noise
            else ["alone smallest in", "smallest or equal in"]
        )
        head = ["axis", "factor, median", "max", "comparisons", "max at", *best]
        return TextTable(head, rows, frozenset((1, 2, 3)))


def size_axes(study: Study) -> dict[str, tuple[str, ...]]:
    """Return the axes whose labels are sizes (of messages, jobs, machines), with their labels, the smallest first."""
    sizes = {}
    for name, axis in study.all_axes():
        if axis.magnitudes and len(axis) > 1:
            ordered = sorted(zip(axis.magnitudes, axis.labels, strict=True))
            sizes[name] = tuple(label_text(label) for _, label in ordered)
    return sizes


def effects(
    tables: Tables,
    chosen: Set[str],
    sized: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    metric: Metric | None = None,
    algorithms: Set[str] = frozenset(),
) -> Effects | None:
    """Compare the simulations of a study or the waits of its schedules, whichever are more.

    Only `chosen` axes and `algorithms` are ranked. Points are compared if they send equally many bytes, else by time
    per byte, and never across engines; of algorithms the times, since the same work needs other bytes. Growth is
    computed along the other axes of `sized`.
    """
    chosen = chosen | algorithms
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
    ranked = [
        _effect(rows.assign(**{_WORK: 1.0}) if axis in algorithms else rows, axis, keys, metric) for axis in varied
    ]
    axis_effects = sorted((part for part in ranked if isinstance(part, Effect)), key=lambda effect: -effect.median)
    known = {effect.axis for effect in axis_effects}
    sized = {axis: sizes for axis, sizes in sized.items() if axis in keys}
    growths = (_growth(rows, axis, keys, (sizes[0], sizes[-1])) for axis, sizes in sized.items() if axis not in known)
    noise = (spread.median(), spread.max()) if len(spread) else None
    unranked = [axis for axis in ranked if isinstance(axis, Unranked)] + _without_number(tables.points, rows, chosen)
    jobs = "" if metric.column == "wait_mean_s" else _job_reduction(tables.jobs, metric)
    pairs = ((effect.axis, by) for effect in axis_effects for by in sized if by != effect.axis)
    crossings = [_crossing(rows, axis, by, sized[by], keys, metric) for axis, by in pairs]
    found = [crossing for crossing in crossings if crossing]
    return Effects(metric, axis_effects, [growth for growth in growths if growth], noise, unranked, jobs, found)


def _observed(tables: Tables, metric: Metric) -> tuple[pd.DataFrame, list[str]]:
    """Return the numbers of all experiments, each with the bytes sent, and the columns that identify them."""
    frames, keys = [], ["experiment", *axes_of(tables.points)]
    for name in tables.points["experiment"].unique():
        if name in ADDED_EXPERIMENTS:
            continue
        selection = metric.selection.model_copy(update={"experiment": str(name)})
        observed = observe(tables, selection, metric.column)
        of_point = [*observed.keys, "seed"]
        frame = observed.frame[[*of_point, "point_id", VALUE]].assign(experiment=name, **{_WORK: 1.0})
        if column_unit(metric.column) in ("nanosecond", "byte"):  # they grow with the bytes of a point
            of_bytes = {"table": "jobs", "reduce_jobs": "each" if selection.reduce_jobs == "each" else "sum"}
            sent = observe(tables, selection.model_copy(update=of_bytes), "bytes").frame
            work = sent.set_index([*of_point, "point_id"])[VALUE]
            frame[_WORK] = work.reindex(pd.MultiIndex.from_frame(frame[[*of_point, "point_id"]])).to_numpy()
        frames += [frame[frame[VALUE] > 0]] * bool((frame[VALUE] > 0).any())
        keys += [key for key in observed.keys if key not in keys]
    rows = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[*keys, VALUE])
    return rows.reindex(columns=list(dict.fromkeys([*keys, *rows]))), keys


def _without_number(points: pd.DataFrame, rows: pd.DataFrame, chosen: Set[str]) -> list[Unranked]:
    planned = points[~points["experiment"].isin(ADDED_EXPERIMENTS)]
    # Experiments of another metric have no numbers here.
    if "experiment" in rows:
        planned = planned[planned["experiment"].isin(rows["experiment"]) | (planned["status"] != DONE)]
    axes = [axis for axis in axes_of(points) if axis in chosen and axis in rows]
    lost = {axis: set(planned[axis].dropna().map(label_text)) - set(rows[axis]) for axis in axes}
    return [Unranked(axis, "no point has a number", tuple(sorted(gone))) for axis, gone in lost.items() if gone]


_REDUCTIONS = {
    "max": "that of its slowest job", "sum": "the sum over its jobs",
    **{f"{prefix}mean": f"the {prefix.replace('-', ' ')}mean over its jobs" for prefix in ("", "geometric-")},
}  # fmt: skip


def _job_reduction(jobs: pd.DataFrame, metric: Metric) -> str:
    jobs = jobs[~jobs["background"] & ~jobs["experiment"].isin(ADDED_EXPERIMENTS) & (jobs["runtime_ns"] > 0)]
    of_points = jobs.drop_duplicates(["experiment", "point_id", "job"]).groupby(["experiment", "point_id"], sort=False)
    if jobs.empty or of_points.size().max() == 1:
        return ""
    over, noun = metric.selection.reduce_jobs, metric.noun
    if over == "each" or metric.selection.table != "jobs":
        return f"Each job is compared by its own {noun}."
    sentence = f"The {noun} of a point is {_REDUCTIONS[over]}"
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


def _crossing(
    rows: pd.DataFrame, axis: str, by: str, sizes: Sequence[str], keys: list[str], metric: Metric
) -> Crossing | None:
    """Return where the best label of an axis changes along sizes, if its lead at both ends exceeds the variation.

    The best label at a size has the smallest median, over the comparisons with all labels, of its value over that of
    the fastest label.
    """
    equal = [_ALL, *(key for key in keys if key not in (axis, by))]
    if column_unit(metric.column) == "byte/second":
        rows = rows.assign(**{VALUE: 1 / rows[VALUE]})
    values = rows.groupby([*equal, by, axis])[VALUE].median().unstack(axis).dropna()
    over_best = values.div(values.min(axis=1), axis=0).groupby(level=by).median()
    over_best = over_best.loc[[size for size in sizes if size in over_best.index]]
    if len(over_best) < 2:
        return None
    best = over_best.idxmin(axis=1)
    first, last = best.iloc[0], best.iloc[-1]
    by_seed = rows.groupby([*equal, by, "seed", axis])[VALUE].median().unstack(axis).dropna()
    lead = (by_seed[last] / by_seed[first]).transform(np.log)
    logs = lead.groupby(level=[by, "seed"]).mean().unstack(by)
    leads = pd.DataFrame({"first": logs[over_best.index[0]], "last": -logs[over_best.index[-1]]})
    if (leads.mean() <= np.log1p(MIN_DIFFERENCE)).any() or (_lower_end(leads) <= 0).any():
        return None
    runs = [group.index for _, group in best.groupby((best != best.shift()).cumsum())]
    return Crossing(axis, by, tuple((str(best[run[0]]), str(run[0]), str(run[-1])) for run in runs))


def _effect(rows: pd.DataFrame, axis: str, keys: list[str], metric: Metric) -> Effect | Unranked:
    equal = [_ALL, *(key for key in keys if key != axis)]
    paired, by_rate = rows[rows.groupby(equal)[axis].transform("nunique") > 1], False
    if paired.empty:
        return Unranked(axis, "no two of its points differ only in this axis")
    paired = _distinct_comparisons(paired, axis, equal)
    work = paired.groupby([*equal, axis])[_WORK].transform("median").groupby([paired[key] for key in equal])
    same = paired[work.transform("max") == work.transform("min")]
    planned, unit = paired.groupby(equal).ngroups, column_unit(metric.column)
    if same.empty and unit == "nanosecond" and (paired[_WORK] > 0).all():
        paired, by_rate = paired.assign(**{VALUE: paired[VALUE] / paired[_WORK]}), True
    elif same.empty:
        return Unranked(axis, "its points send different numbers of bytes")
    else:
        paired = same
    if unit == "byte/second":  # of rates the largest is best
        paired = paired.assign(**{VALUE: 1 / paired[VALUE]})
    by_seed = paired.groupby([*equal, "seed", axis])[VALUE].median().unstack(axis)
    values = paired.groupby([*equal, axis])[VALUE].median().unstack(axis)
    ratio = values.max(axis=1) / values.min(axis=1)
    labels = dict(zip(equal, ratio.index[int(ratio.argmax())], strict=True))
    varied = [name for name in equal[2:] if rows[name].nunique() > 1 and labels[name] != label_text(None)]
    where = ", ".join(f"{name} {labels[name]}" for name in varied)
    best = ties(values, by_seed)
    clear = int((~best.where(values.notna(), True)).any(axis=1).sum())
    counts = (best.sum(), best[best.sum(axis=1) == 1].sum())
    labelled = [label for label in dict.fromkeys(rows[axis]) if label in best]
    times, alone = ({str(label): int(count[label]) for label in labelled} for count in counts)
    middle, largest = float(ratio.median()), float(ratio.max())
    return Effect(axis, middle, largest, where, len(values), clear, times, alone, by_rate, planned - len(values))


def _distinct_comparisons(paired: pd.DataFrame, axis: str, equal: list[str]) -> pd.DataFrame:
    """Return the rows without comparisons of the same points under other labels, or in another experiment."""
    points = paired[axis] + " " + paired["point_id" if "point_id" in paired else "run_id"]
    rows = points + " " + paired[VALUE].map(repr)
    comparison = rows.groupby([paired[key] for key in equal]).transform(lambda texts: "; ".join(sorted(texts)))
    return paired[~(comparison + rows).duplicated()]


def ties(values: pd.DataFrame, by_seed: pd.DataFrame) -> pd.DataFrame:
    """Return for each comparison which labels are best or tied with the best within run-to-run variation.

    `values` has the medians over the seeds, a row for each comparison and a column for each label, `by_seed` a row for
    each of their seeds. Labels tie if they differ by less than `MIN_DIFFERENCE`, or if the 95 % interval of the ratio
    of the two, seed by seed, contains 1; without a common seed nothing tells them apart.
    """
    logs: Any = np.log(by_seed)
    best = logs.columns.get_indexer(values.idxmin(axis=1).reindex(logs.index.droplevel("seed")))
    over_best = logs.sub(logs.to_numpy()[np.arange(len(logs)), best], axis=0)
    groups = over_best.groupby(level=values.index.names)
    near = values.div(values.min(axis=1), axis=0) <= 1 + MIN_DIFFERENCE
    tied: pd.DataFrame = near | (_lower_end(groups) <= 0) | (groups.count() == 0)
    return tied & values.notna()


def _lower_end(logs: Any) -> Any:
    """Return the lower end of the 95 % interval of the mean over seeds, by Student's t; NaN with one seed."""
    count = logs.count()
    return logs.mean() - stdtrit(count - 1, 0.975) * logs.std() / np.sqrt(count)
