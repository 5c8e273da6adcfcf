"""Tables and sentences of the page on runtimes, engines and schedules."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fabricstudy.core.columns import DONE, NOT_RUN, SPOT_CHECK, UNDECIDED
from fabricstudy.core.phrasing import count_noun, quantity
from fabricstudy.core.quantities import HOUR_S
from fabricstudy.engine.packet_remarks import packet_remarks
from fabricstudy.engine.registry import engine_of, simulates
from fabricstudy.engine.settings import EngineSettings
from fabricstudy.study.model import Study
from fabricstudy.study.plan import Plan
from fabricstudy.table.files import Tables
from fabricstudy.table.ranks import rank_correlation
from fabricstudy.table.schemas import axes_of
from fabricstudy.table.select import label_text
from fabricstudy.workload.offered import SATURATION

from .text import (
    NO_NUMBER,
    SummaryColumn,
    TextTable,
    format_number,
    frame_table,
    min_median_max,
    number,
    range_text,
    reduced,
    seeds_of,
    summarise,
    varying_axes,
)

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


def searches(plan: Plan, tables: Tables) -> TextTable:
    """Summarise the searches for the saturation load: result, growth of the backlog at it, and how they ended."""
    offered = {name: planned.point.offered for name, planned in plan.points.items()}
    searched = [name for name, traffic in offered.items() if traffic and traffic.load == SATURATION]
    chosen = tables.points["point_id"].isin(searched) & tables.points["engine"].map(simulates).astype(bool)
    points = tables.points[chosen]
    if points.empty:
        return TextTable((), [])
    found = tables.latency.drop_duplicates("point_id").set_index("point_id")
    saturation = [f"saturation_{end}" for end in ("load", "low", "high", "bound")]
    rows = points.join(found[["state", "backlog_growth", "over_bound", *saturation]], on="point_id")
    rows["ending"] = [_ending(row) for row in rows.to_dict("records")]
    axes = [axis for axis in axes_of(rows) if rows[axis].nunique() > 1]
    keys = {name: name for name in ("experiment", *axes, "engine")}

    def interval(part: pd.DataFrame) -> str:
        return f"{number(part['saturation_low'].min(), 3)} to {number(part['saturation_high'].max(), 3)}"

    columns = [
        ("searches", len), ("load", reduced("saturation_load", "median", 3)), ("interval", interval),
        ("bound", reduced("saturation_bound", "median", 3)), ("over bound", reduced("over_bound", "max", 3)),
        ("growth of the backlog %, max", reduced("backlog_growth", "max", 2, 100)),
        ("ended", lambda part: "; ".join(f"{how} ({count})" for how, count in part["ending"].value_counts().items())),
    ]  # fmt: skip
    return summarise(rows, keys, columns, texts=1)


def _ending(row: dict[Any, Any]) -> str:
    """Return in words how a search for the saturation load ended."""
    if pd.isna(row["saturation_load"]):
        return str(row["status"])
    at_bound = row["saturation_high"] >= row["saturation_bound"]
    return f"{row['state']}, {'none saturated up to the bound' if at_bound else 'saturated above'}"


def bounds(jobs: pd.DataFrame) -> TextTable:
    """Summarise runtimes over the larger of their two lower bounds, and name the job with the largest ratio."""
    bounded = jobs[jobs["over_bound"].notna()]
    ratios = bounded[["over_bound", "over_phase_bound", "over_critical_path"]]
    bounded = bounded.assign(**{_OVER: ratios.min(axis="columns")})
    axes = [axis for axis in axes_of(bounded) if bounded[axis].nunique() > 1]
    columns = [
        ("jobs", len),
        ("phase bound is larger", lambda part: int((part["phase_bound_ns"] > part["bound_ns"]).sum())),
        *min_median_max(_OVER),
        ("below 1", lambda part: int((part[_OVER] < 1 - EQUAL_TOLERANCE).sum())),
        ("max at", lambda part: _largest(part, axes)),
    ]
    keys = {"experiment": "experiment", "bound_method": "link bound from"}
    return summarise(bounded, keys, columns, texts=1)


def _largest(among: pd.DataFrame, axes: list[str]) -> str:
    """Name the job with the largest ratio by its point and by its values on the axes."""
    job = among[among[_OVER] == among[_OVER].max()].iloc[0]
    labels = "".join(f", {axis} {label_text(job[axis])}" for axis in axes if pd.notna(job[axis]))
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


def buffer_limits(tables: Tables) -> list[str]:
    """Return a sentence on the points in which packets wait for credits, whatever else there is; none without any."""
    columns = ["point_id", "buffer_limit", "buffer_needed_bytes"]
    rows = pd.concat([table[columns] for table in (tables.jobs, tables.latency)]).drop_duplicates("point_id")
    short = rows[rows["buffer_limit"] < 1]
    if short.empty:
        return []
    shares = dict.fromkeys(number(100 * short["buffer_limit"].agg(end), 3) for end in ("min", "max"))
    needed = quantity(float(short["buffer_needed_bytes"].max()), "byte")
    return [
        f"Buffers: in {len(short):,} of {count_noun(len(rows), 'point')} the buffer of an input is less than bandwidth "
        f"times round trip of a link, so that one stream of packets has at most {' to '.join(shares)} % of the "
        f"bandwidth (column buffer_limit). That waiting is no contention; {needed} would do."
    ]


def size_remarks(plan: Plan, tables: Tables) -> list[str]:
    """Return a sentence on each size of packets that decides times, on engines that simulate packets."""
    simulated = set(tables.jobs.loc[tables.jobs["buffer_limit"].notna(), "point_id"])
    found = packet_remarks(planned.point for name, planned in plan.points.items() if name in simulated)
    return [f"Packets: {text} ({count_noun(count, 'point')})." for text, count in found.items()]


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


MAX_SLOWDOWNS = 200
"""Largest table of slowdowns in a page, in rows."""

_ENGINE, _SLOWDOWN, _POINT = "(engine)", "(slowdown)", "(point)"


def differences(plan: Plan, tables: Tables) -> list[tuple[str, str]]:
    """Return the known model differences that concern points run by two engines."""
    compared = set(tables.agreement["point_a_id"]) | set(tables.agreement["point_b_id"])
    points = [plan.points[name].point for name in compared if name in plan.points]
    engines = {point.engine.kind: engine_of(point.engine) for point in points}
    return [
        (name, caveat.text)
        for name, engine in sorted(engines.items())
        for caveat in engine.caveats
        if any(point.engine.kind == name and caveat.applies_to(point) for point in points)
    ]


def ratios(tables: Tables) -> TextTable:
    """Return ratios and rank correlation of the runtimes, and the CPU time of the points on both engines."""
    cpu_s = tables.points.drop_duplicates("point_id").set_index("point_id")["cpu_s"]

    def cost(part: pd.DataFrame) -> str:
        sides = (part[f"point_{side}_id"].unique() for side in ("b", "a"))
        return " / ".join(number(cpu_s.reindex(side).sum(), 3) for side in sides)

    return _compared(tables.agreement, "ratio", "runtime_a_ns", "runtime_b_ns", ("CPU seconds", cost))


def slowdown_ratios(tables: Tables) -> TextTable:
    """Return ratios of the slowdowns of the same jobs."""
    compared = tables.agreement[tables.agreement["slowdown_ratio"].notna()]
    return _compared(compared, "slowdown_ratio", "slowdown_a", "slowdown_b")


def _compared(rows: pd.DataFrame, ratio: str, first: str, second: str, *more: SummaryColumn) -> TextTable:
    rank = ("rank correlation", lambda part: number(rank_correlation("spearman", part[first], part[second]), 3))
    keys = {"experiment": "experiment", "pair": "engines"}
    return summarise(rows, keys, [("jobs", len), *min_median_max(ratio, 3), rank, *more])


def slowdowns(tables: Tables) -> TextTable:
    """Return the slowdown of each job on each engine, medians over seeds; empty if there are too many for a page."""
    compared = tables.agreement[tables.agreement["slowdown_ratio"].notna()]
    sides = []
    for side in ("a", "b"):
        columns = {f"engine_{side}": _ENGINE, f"slowdown_{side}": _SLOWDOWN, f"point_{side}_id": _POINT}
        sides.append(compared[["experiment", *axes_of(compared), "job", *columns]].rename(columns=columns))
    by_engine = pd.concat(sides).drop_duplicates([_POINT, "experiment", "job"])
    engines = sorted(by_engine[_ENGINE].unique())
    keys = ["experiment", *axes_of(compared), "job"]
    rows = []
    for key, part in by_engine.groupby(keys, sort=False, dropna=False):
        experiment, *labels = key
        texts = zip(keys[1:], map(label_text, labels), strict=True)
        job = ", ".join(f"{name} {text}" for name, text in texts if text != label_text(None))
        medians = part.groupby(_ENGINE)[_SLOWDOWN].median()
        rows.append([str(experiment), job, *(number(medians.get(engine), 3) for engine in engines)])
    rows = rows if len(rows) <= MAX_SLOWDOWNS else []
    return TextTable(("experiment", "job", *engines), rows, frozenset(range(2, 2 + len(engines))))


def verdict_rows(tables: Tables) -> TextTable:
    """Return the verdict of each engine alone on each part of each claim, and whether all engines agree.

    An undecided verdict contradicts no other.
    """
    engines = list(dict.fromkeys(tables.verdicts["engine"]))
    rows = []
    claims = tables.claims[["claim", "part", "part_statement", "show", "accept_low", "accept_high"]]
    merged = tables.verdicts.merge(claims, on=["claim", "part"], how="left")
    for (claim, _), part in merged.groupby(["claim", "part"], sort=False):
        first, by_engine = part.iloc[0], part.drop_duplicates("engine").set_index("engine")
        texts = []
        for engine in engines:
            measured, verdict = by_engine.loc[engine, ["measured", "verdict"]]
            texts.append(verdict if pd.isna(measured) else f"{format_number(measured, first['show'])}, {verdict}")
        kinds = set(part["verdict"])
        differing = UNDECIDED if len(kinds - {UNDECIDED}) == 1 else "no"
        same = NO_NUMBER if NOT_RUN in kinds else "yes" if len(kinds) == 1 else differing
        quantity = "" if pd.isna(first["part_statement"]) else first["part_statement"]
        accepted = range_text(first["accept_low"], first["accept_high"], first["show"])
        rows.append([str(claim), quantity, accepted, *texts, same])
    return TextTable(("claim", "quantity", "accepted", *engines, "same verdict"), rows)


def _checked_engines(tables: Tables) -> dict[str, str]:
    """Return the engines of the points that have a spot check, each with the engine that checks it."""
    drawn = set(tables.points.loc[tables.points["experiment"] == SPOT_CHECK, "engine"])
    return {
        name: kind.checked_by
        for name, kind in _engines(tables).items()
        if kind.checked_by is not None and (kind.needs_check or kind.checked_by in drawn)
    }


def _engines(tables: Tables) -> dict[str, type[EngineSettings]]:
    kinds = {name: EngineSettings.FAMILY.find(name) for name in sorted(tables.points["engine"].unique())}
    return {name: kind for name, kind in kinds.items() if kind and issubclass(kind, EngineSettings)}


def spot_check_summary(tables: Tables) -> list[str]:
    """Return a sentence for each engine that needs a check, unless the study compares it with the checking engine."""
    done = tables.points[tables.points["status"] == DONE].groupby("engine")["point_id"].nunique()
    compared = tables.points.loc[tables.points["experiment"] != SPOT_CHECK, "engine"].unique()
    return [
        f"Spot check: simulated on {name}: {count_noun(int(done.get(name, 0)), 'point')}. "
        f"{_runtime_ratio(tables, name, by)}"
        for name, by in _checked_engines(tables).items()
        if by not in compared
    ]


def _runtime_ratio(tables: Tables, name: str, by: str) -> str:
    """Return the ratio of the runtimes on the points of the spot check."""
    rows, pairs = (table[table["experiment"] == SPOT_CHECK] for table in (tables.points, tables.agreement))
    pairs = pairs[(pairs["engine_a"] == by) | (pairs["engine_b"] == by)]
    if pairs.empty:
        drawn = rows.loc[rows["engine"] == by, "point_id"].nunique()
        words = (
            f"None of the {drawn} points drawn for {by} was done on both" if drawn else f"No point was drawn for {by}"
        )
        return f"{words}: the error is unknown."
    # The denominator is the first engine in alphabetical order.
    ratio = pairs["ratio"] if by < name else 1 / pairs["ratio"]
    low, middle, high = (number(value, 3) for value in (ratio.min(), ratio.median(), ratio.max()))
    count = pairs["point_a_id"].nunique()
    return f"On a sample of {count} cheap points, runtimes are {middle} ({low} to {high}) times those of {by}."


def judged_unchecked(study: Study, tables: Tables) -> dict[str, str]:
    """Return the claims that rest on one engine that needs a check, and that engine."""
    engines_of = tables.points.groupby("experiment")["engine"].agg(set).to_dict()
    checked = {name for name, kind in _engines(tables).items() if kind.needs_check}
    unchecked = {}
    for claim in study.claims:
        experiments = {measure.experiment for part in claim.parts for measure in part.measures() if measure.of_points}
        ran_on = set().union(*(engines_of.get(name, set()) for name in experiments))
        simulators = {name for name in ran_on if simulates(name)}
        if len(simulators) == 1 and simulators <= checked:
            unchecked[claim.id] = simulators.pop()
    return unchecked


_SHARES = ("utilisation", "useful_utilisation", "idle_no_cables", "idle_reserved", "idle_fragmented", "idle_no_jobs")
_LIST_FACTS = (
    "class_nodes", "partitions", "concurrent_max", "concurrent_share", "cables", "conflicts", "bisection_links",
)  # fmt: skip


def schedule_summaries(study: Study, tables: Tables) -> list[dict[str, Any]]:
    """Summarise each schedule of a study: `row` as of an experiment, numbers of runs, tables and reasons."""
    summaries = []
    for name, runs in tables.schedules.groupby("schedule", sort=False) if len(tables.schedules) else ():
        axes = [axis for axis in axes_of(runs) if runs[axis].notna().any()]
        done = runs[runs["status"] == DONE]
        summaries.append({
            "name": name, "runs": len(runs), "done": len(done), "saturated": int(done["saturated"].fillna(False).sum()),
            "row": (name, len(runs), runs["seed"].nunique(), varying_axes(runs, axes, study.meanings)),
            "waits": _waits(str(name), done, axes, tables.size_classes),
            "lists": _lists(str(name), axes, tables.partition_lists),
            "reasons": _by_frequency(runs.loc[runs["status"] != DONE, "reason"]),
            "repairs": _by_frequency(runs["trace_repairs"].dropna()),
        })  # fmt: skip
    return summaries


def _by_frequency(texts: pd.Series[Any]) -> list[str]:
    return [f"{text} ({count_noun(count, 'run')})" for text, count in texts.value_counts().items()]


def _waits(name: str, runs: pd.DataFrame, axes: list[str], classes: pd.DataFrame) -> TextTable:
    of_classes = classes[classes["schedule"] == name]
    sizes = sorted(of_classes["class_nodes"].unique())
    by_run = of_classes.pivot_table(index=[*axes, "seed"], columns="class_nodes", values="wait_mean_s", dropna=False)
    keys = axes or ["schedule"]
    rows = []
    for key, part in runs.groupby(keys, sort=False, dropna=False):
        labels = [label_text(label) for label in key][: len(axes)]
        shares = [f"{100 * part[share].median():.1f}" for share in _SHARES]
        hours = [number(part[column].median() / HOUR_S, 3) for column in ("wait_mean_s", "response_mean_s")]
        wanted = pd.MultiIndex.from_frame(part[[*axes, "seed"]]) if axes else pd.Index(part["seed"])
        medians = by_run.reindex(wanted).median()
        each = [NO_NUMBER if pd.isna(medians.get(size)) else number(medians[size] / HOUR_S, 3) for size in sizes]
        rows.append([*labels, *shares, *hours, *each])
    head = [
        *axes, "busy %", "useful %", "no cables %", "reserved %", "fragmented %", "empty %", "mean wait (h)",
        "mean response (h)", *(f"wait of {size:,}" for size in sizes),
    ]  # fmt: skip
    return TextTable(head, rows, frozenset(range(len(axes), len(head))))


def _lists(name: str, axes: list[str], lists: pd.DataFrame) -> TextTable:
    of_schedule = lists[lists["schedule"] == name]
    shown = [axis for axis in axes if of_schedule[axis].notna().any()]
    return frame_table(of_schedule, shown, _LIST_FACTS)
