"""Every sentence of Key findings is computed a second time, by plain loops over the tables of all bundled studies."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import correlation, geometric_mean, mean, median
from typing import Any

import pandas as pd
import pytest
import yaml

from fabricstudy.core.columns import ADDED_EXPERIMENTS, MIN_DIFFERENCE, column_unit
from fabricstudy.report.effects import Effects, Metric, effects, metric_of, size_axes
from fabricstudy.report.findings import sentences
from fabricstudy.report.text import number
from fabricstudy.study.file import validate_study
from fabricstudy.study.model import Study
from fabricstudy.table.files import Tables
from fabricstudy.table.select import label_text, mask

from ..table.synthetic import synthetic

CONFIGS = Path(__file__).resolve().parents[3] / "configs"
# The same experiments in other sizes or on other engines.
LIKE_OTHERS = {"dragonfly-arrangements-paper", "dragonfly-arrangements-small", "dragonfly-arrangements-sst", "quick"}
REDUCE: dict[str, Callable[[list[float]], float]] = {
    "max": max, "sum": sum, "mean": mean, "geometric-mean": geometric_mean,
}  # fmt: skip
Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Number:
    """The number of a point or job, what identifies it besides the seed, and the bytes that it sent."""

    labels: dict[str, str]
    engine: str
    value: float
    sent: float
    job: tuple[str, str]
    """Point and job."""
    seed: int


@dataclass(frozen=True)
class World:
    """What sentences are recomputed from."""

    study: Study
    tables: Tables
    metric: Metric

    @cached_property
    def numbers(self) -> list[Number]:
        """All numbers that are compared."""
        selection = self.metric.selection
        frame = getattr(self.tables, selection.table)
        rows = frame[mask(frame, selection.where) & ~frame["experiment"].isin(ADDED_EXPERIMENTS)]
        rows = rows[(rows["messages"] > 0) & ~rows["background"]] if selection.table == "jobs" else rows
        columns = list(frame.columns)
        axes = ["experiment", *columns[1 : columns.index("seed")]]
        each = selection.table != "jobs" or selection.reduce_jobs == "each"
        name = "job_name" if "job_name" in selection.where else "job"
        groups: dict[Any, list[Any]] = defaultdict(list)
        for row in rows.to_dict("records"):
            labels = tuple((axis, label_text(row[axis])) for axis in axes)
            groups[row["point_id"], row[name] if each else "", labels].append(row)
        found = []
        for (point_id, job, of_axes), of_point in groups.items():
            values = [float(row[self.metric.column]) for row in of_point]
            value = REDUCE["max" if each else selection.reduce_jobs](values)
            if value > 0:
                sent = sum(row["bytes"] for row in of_point)
                found.append(
                    Number(
                        {**dict(of_axes), "(job)": str(job)},
                        of_point[0]["engine"],
                        value,
                        sent,
                        (point_id, str(job)),
                        of_point[0]["seed"],
                    )
                )
        return found

    def comparisons(self, axis: str) -> tuple[list[dict[str, dict[int, float]]], bool]:
        """Values over the seeds by label, for each comparison, and whether they are per byte."""
        groups: dict[Key, dict[str, list[Number]]] = defaultdict(lambda: defaultdict(list))
        for one in self.numbers:
            others = tuple((name, label) for name, label in one.labels.items() if name != axis)
            groups[others][one.labels[axis]].append(one)
        # A comparison of the same points under other labels is the same one.
        distinct = {
            frozenset((label, one.job) for label, of_label in labels.items() for one in of_label): labels
            for labels in groups.values()
        }
        several = [labels for labels in distinct.values() if len(labels) > 1]
        free = axis in self.study.algorithm_axes or column_unit(self.metric.column) != "nanosecond"
        same = [
            labels for labels in several
            if free or len({median(one.sent for one in of_label) for of_label in labels.values()}) == 1
        ]  # fmt: skip
        rate = bool(several) and not same
        chosen = several if rate else same
        power = -1 if column_unit(self.metric.column) == "byte/second" else 1
        values = [
            {label: {one.seed: (one.value / one.sent if rate else one.value) ** power for one in of_label}
             for label, of_label in labels.items()} for labels in chosen
        ]  # fmt: skip
        return values, rate


def ties(seeds: Mapping[str, dict[int, float]]) -> list[str]:
    """Labels that are best, or not distinguishable from the best one seed by seed."""
    best = min(seeds, key=lambda label: median(seeds[label].values()))

    def is_tied(label: str) -> bool:
        common = [seed for seed in seeds[label] if seed in seeds[best]]
        logs = [math.log(seeds[label][seed] / seeds[best][seed]) for seed in common]
        ratio = median(seeds[label].values()) / median(seeds[best].values())
        if ratio <= 1 + MIN_DIFFERENCE or not common:
            return True
        # Two seeds: the quantile of Student's t with one degree of freedom is known in closed form.
        return len(logs) == 2 and mean(logs) <= math.tan(math.pi * 0.475) * abs(logs[0] - logs[1]) / 2

    return [label for label in seeds if is_tied(label)]


def check_effect(world: World, found: re.Match[str]) -> None:
    comparisons, rate = world.comparisons(found["axis"])
    medians = [[median(values.values()) for values in labels.values()] for labels in comparisons]
    factors = [max(values) / min(values) for values in medians]
    assert found["median"] == number(median(factors), 3) and ("per byte" in found["noun"]) == rate
    assert found["most"] in (None, number(max(factors), 3))
    # A slowdown ranks nothing: what is slow alone loses little beside others.
    assert "slowdown" not in found["noun"]
    best: dict[str, int] = defaultdict(int)
    alone: dict[str, int] = defaultdict(int)
    for labels in comparisons:
        tied = ties(labels)
        for label in tied:
            best[label] += 1
            alone[label] += len(tied) == 1
    if "Best" in found["best"] or "Smallest" in found["best"]:
        counts = re.search(r"in ([\d,]+) comparisons?: (.*)$", re.sub(r" \(\d+ more excluded.*", "", found["best"]))
        assert counts and int(counts[1].replace(",", "")) == len(comparisons)
        leader = max(best, key=lambda label: (best[label], alone[label]))
        ahead = (best[leader], alone[leader])
        leaders = [label for label in best if (best[label], alone[label]) == ahead]
        assert any(counts[2].startswith(f"{label} ") for label in leaders)
        for label in best:
            told = re.search(
                rf"(?:^|; ){re.escape(label)} (?:alone in (\d+))?(?: and )?(?:not distinguishable in (\d+))?", counts[2]
            )
            if told and any(told.groups()):
                assert [int(one or 0) for one in told.groups()] == [alone[label], best[label] - alone[label]]
    else:
        assert all(best[label] == len(comparisons) for labels in comparisons for label in labels)


def check_growth(world: World, found: re.Match[str]) -> None:
    axis, least, most = found["axis"], found["least"], found["most"]
    groups: dict[Key, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in world.numbers:
        others = tuple((name, label) for name, label in one.labels.items() if name != axis)
        groups[others][one.labels[axis]].append(one.value)
    factors = [median(of[most]) / median(of[least]) for of in groups.values() if {least, most} <= set(of)]
    assert found["factor"] == number(median(factors), 3)


def check_crossing(world: World, found: re.Match[str]) -> None:
    """At the first and at the last size the label has the smallest median of its value over that of the best label."""
    axis, by = found["axis"], found["by"]
    groups: dict[tuple[str, Key], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in world.numbers:
        others = tuple((name, label) for name, label in one.labels.items() if name not in (axis, by))
        groups[one.labels[by], others][one.labels[axis]].append(one.value)
    every = {one.labels[axis] for one in world.numbers}
    ratios: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (size, _), labels in groups.items():
        medians = {label: median(values) for label, values in labels.items()}
        for label, value in medians.items() if set(medians) == every else ():
            ratios[size][label].append(value / min(medians.values()))
    sizes = [size for size in size_axes(world.study)[by] if size in ratios]
    winners = [min(ratios[size], key=lambda label, at=size: median(ratios[at][label])) for size in sizes]  # type: ignore[misc]
    spans = [(winners[0], sizes[0], sizes[0])]
    for label, size in zip(winners[1:], sizes[1:], strict=True):
        spans = [*spans[:-1], (label, spans[-1][1], size)] if label == spans[-1][0] else [*spans, (label, size, size)]
    told = ", ".join(f"{label} from {a} to {b}" if a != b else f"{label} at {a}" for label, a, b in spans)
    assert found["best"] == told and winners[0] != winners[-1]


def check_variation(world: World, found: re.Match[str]) -> None:
    groups: dict[Any, list[float]] = defaultdict(list)
    for one in world.numbers:
        groups[tuple(one.labels.items()), one.engine].append(one.value)
    ratios = [max(values) / min(values) for values in groups.values() if len(values) > 1]
    assert (found["median"], found["most"]) == (number(median(ratios), 3), number(max(ratios), 3))


def spread(values: list[float], digits: int) -> tuple[str, str, str, str]:
    low, high = (number(end(values), digits) for end in (min, max))
    return number(median(values), digits), low, high, f"{len(values):,}"


def check_slowdown(world: World, found: re.Match[str]) -> None:
    rows = world.tables.interference.dropna(subset="slowdown")
    values = {(row["point_id"], row["job"]): row["slowdown"] for row in rows.to_dict("records")}
    assert (found["median"], found["low"], found["high"], found["jobs"]) == spread(list(values.values()), 3)


def check_engines(world: World, found: re.Match[str]) -> None:
    rows = world.tables.agreement
    pairs = {
        (row["point_a_id"], row["point_b_id"], row["job"]): row
        for row in rows[rows["pair"] == found["pair"]].to_dict("records")
    }
    values = [row["ratio"] for row in pairs.values()]
    assert (found["median"], found["low"], found["high"], found["jobs"]) == spread(values, 3)
    first, second = ([row[f"runtime_{side}_ns"] for row in pairs.values()] for side in "ab")
    assert found["rank"] == number(correlation(mean_ranks(first), mean_ranks(second)), 3)


def mean_ranks(values: list[float]) -> list[float]:
    """Ranks from 1; equal values share the mean of theirs."""
    return [sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values]


def check_verdicts(world: World, found: re.Match[str]) -> None:
    parts: dict[Any, list[str]] = defaultdict(list)
    for row in world.tables.verdicts.to_dict("records"):
        if row["verdict"] != "not run":
            parts[row["claim"], row["part"]].append(row["verdict"])
    compared = [verdicts for verdicts in parts.values() if len(verdicts) > 1]
    same = sum(len(set(verdicts)) == 1 for verdicts in compared)
    opposite = sum("reproduced" in verdicts and "differs" in verdicts for verdicts in compared)
    told = tuple(int(found[name] or 0) for name in ("same", "numbers", "opposite"))
    assert told == (same, len(compared), opposite)


def check_jobs(world: World, found: re.Match[str]) -> None:
    selection, axis = world.metric.selection, found["axis"]
    factors = {}
    for name in set(world.tables.jobs.loc[~world.tables.jobs["background"], "job_name"]):
        where = {**selection.where, "job_name": name}
        metric = replace(world.metric, selection=selection.model_copy(update={"where": where}))
        comparisons, _ = World(world.study, world.tables, metric).comparisons(axis)
        medians = [[median(values.values()) for values in labels.values()] for labels in comparisons]
        if medians:
            factors[name] = max(max(values) / min(values) for values in medians)
    told = [part.rpartition(" ") for part in found["jobs"].split("; ") if " more job" not in part]
    assert [factor for *_, factor in told] == [number(factors[name], 3) for name, *_ in told]
    assert sorted(factors.values(), reverse=True)[: len(told)] == [factors[name] for name, *_ in told]


def check_saturation(world: World, found: re.Match[str]) -> None:
    searched = world.tables.latency.dropna(subset="saturation_load").to_dict("records")
    told = re.findall(rf"({NUMBER}) \(({NUMBER}) to ({NUMBER}), bound ({NUMBER})\)", found.string)
    loads, lows, highs = ([row[f"saturation_{part}"] for row in searched] for part in ("load", "low", "high"))
    assert told and min(float(row[1]) for row in told) == float(number(min(lows), 3))
    assert max(float(row[2]) for row in told) == float(number(max(highs), 3))
    assert all(min(loads) <= float(row[0]) * 1.001 and float(row[0]) <= max(loads) * 1.001 for row in told)


def check_saturation_ranges(world: World, found: re.Match[str]) -> None:
    loads: dict[str, list[float]] = defaultdict(list)
    for row in world.tables.latency.dropna(subset="saturation_load").to_dict("records"):
        loads[label_text(row[found["axis"]])].append(row["saturation_load"])
    ends = {label: (number(min(of), 3), number(max(of), 3)) for label, of in loads.items()}
    of_labels = [f"{label} {low}" + (f" to {high}" if low != high else "") for label, (low, high) in ends.items()]
    further = [f"{len(of_labels) - 8} more"] * (len(of_labels) > 8)
    assert found["ranges"] == "; ".join(of_labels[:8] + further)


def check_computing(world: World, found: re.Match[str]) -> None:
    jobs = world.tables.jobs[~world.tables.jobs["experiment"].isin(ADDED_EXPERIMENTS)].to_dict("records")
    shares = {
        (row["point_id"], row["job"]): 100 * row["compute_ns"] / row["runtime_ns"]
        for row in jobs if row["compute_ns"] > 0 and row["runtime_ns"] > 0
    }  # fmt: skip
    assert (found["median"], found["low"], found["high"], found["jobs"]) == spread(list(shares.values()), 2)


def check_claims(world: World, found: re.Match[str]) -> None:
    verdicts = dict(zip(world.tables.claims["claim"], world.tables.claims["claim_verdict"], strict=True))
    assert int(found["count"]) == len(verdicts)
    text = found.string.split(" Differing: ")[0]
    for verdict, words in {
        "reproduced": "(?:is|are) reproduced(?! in part)", "reproduced in part": "(?:is|are) reproduced in part",
        "differs": "differs?", "undecided": "(?:is|are) undecided", "not run": "could not be tested",
    }.items():  # fmt: skip
        told = sum(map(int, re.findall(rf"(\d+) {words}", text)))
        assert told == list(verdicts.values()).count(verdict), verdict


def check_basis(world: World, found: re.Match[str]) -> None:
    """A point in several experiments counts once, and one that needs no simulator is no simulation."""
    engine_of = dict(zip(world.tables.points["point_id"], world.tables.points["engine"], strict=True))
    without = [name for name, engine in engine_of.items() if engine == "analysis"]
    simulated = re.search(r"([\d,]+) simulations?", found.string)
    computed = re.search(r"([\d,]+) points? without simulation", found.string)
    for told, count in ((simulated, len(engine_of) - len(without)), (computed, len(without))):
        assert (int(told[1].replace(",", "")) if told else 0) == count


def check_unranked(world: World, found: re.Match[str]) -> None:
    if "no point has a number" not in found.string:
        comparisons, _ = world.comparisons(found["axis"])
        assert not comparisons or "bytes" in found.string


def check_slowest(world: World, found: re.Match[str]) -> None:
    jobs = world.tables.jobs
    jobs = jobs[~jobs["experiment"].isin(ADDED_EXPERIMENTS) & ~jobs["background"] & (jobs["runtime_ns"] > 0)]
    slowest: dict[Any, Any] = {}
    for row in jobs.to_dict("records"):
        key = row["experiment"], row["point_id"]
        if key not in slowest or row["runtime_ns"] > slowest[key]["runtime_ns"]:
            slowest[key] = row
    names = pd.Series([row["job_name"] for row in slowest.values()])
    assert (int(found["times"]), int(found["points"].replace(",", ""))) == ((names == found["job"]).sum(), len(names))


NUMBER = r"[\d.e+]+"
DISTRIBUTION = (
    rf"(?P<median>{NUMBER}) in the median \((?P<low>{NUMBER}) to (?P<high>{NUMBER}), (?P<jobs>[\d,]+) jobs?\)"
)
CHECKS: list[tuple[str, Callable[[World, re.Match[str]], None]]] = [
    (rf"(?:Largest effect: |The axis )(?P<axis>[\w.-]+) changes the (?P<noun>.+?) by a factor of (?P<median>{NUMBER})"
     rf"(?: in the median)?(?: \(within run-to-run variation\))?(?: and (?P<most>{NUMBER}) at most)?, all else equal\. "
     r"(?P<best>.*)\.$", check_effect),
    (rf"The (?P<noun>.+) changes by a factor of (?P<factor>{NUMBER}).* from (?P<axis>[\w.-]+) (?P<least>.+) to "
     r"(?P<most>.+)\.$", check_growth),
    (r"Best (?P<axis>[\w.-]+) by (?P<by>[\w.-]+): (?P<best>.*)\.$", check_crossing),
    (rf"Run-to-run variation of the .+: a factor of (?P<median>{NUMBER}) in the median and "
     rf"(?P<most>{NUMBER}) at most\.", check_variation),
    (rf"Slowdown by other jobs, over the baseline run: {DISTRIBUTION}\.", check_slowdown),
    (rf"Ratio of the runtimes by (?P<pair>.+?): {DISTRIBUTION}; rank correlation (?P<rank>.+)\.$",
     check_engines),
    (r"The engines give the same verdict on (?P<same>\d+) of (?P<numbers>\d+) numbers? behind the claims"
     r"(?: and opposite ones on (?P<opposite>\d+))?\.$", check_verdicts),
    (r"By job, (?P<axis>.+?) changes the .+? by a factor of at most: (?P<jobs>.+)\.$", check_jobs),
    (r"Saturation load with its interval", check_saturation),
    (r"Range of the saturation load, .*, by (?P<axis>.+?): (?P<ranges>.+)\.$", check_saturation_ranges),
    (rf"Computation is (?P<median>{NUMBER}) % of the runtime in the median "
     rf"\((?P<low>{NUMBER}) to (?P<high>{NUMBER}) %, (?P<jobs>[\d,]+) jobs?\)", check_computing),
    (r"Of (?P<count>\d+) claims?, ", check_claims),
    (r"Based on ", check_basis),
    (r"Not ranked: (?P<axis>[\w.-]+)", check_unranked),
    (r".*most often the job (?P<job>.+) \((?P<times>\d+) of (?P<points>[\d,]+) points?\)\.$", check_slowest),
    (r"(?:Each job is compared|The .+ of a point is).*\.$|(?:.* )?With one seed", lambda world, found: None),
]  # fmt: skip
"""Sentences of each kind, and their second computation."""


def parts_of(found: list[str]) -> Iterator[str]:
    """The variation, and whose time a point has, are two sentences in one."""
    for text in found:
        yield from re.split(r"(?<=at most\.) (?=The |Each )|(?<=\.) (?=With one seed|Ratio of|The engines give)", text)


def few_seeds(data: dict[str, Any]) -> dict[str, Any]:
    for one in (data, *data.get("experiments", {}).values()):
        if "seeds" in one:
            one["seeds"] = min(2, one["seeds"]) if isinstance(one["seeds"], int) else one["seeds"][:2]
    return data


def judged(study: Study, tables: Tables) -> tuple[World, Effects | None, list[str]]:
    metric = metric_of(study.report_figures)
    found = effects(tables, study.design_axes, size_axes(study), metric, study.algorithm_axes)
    world = World(study, tables, found.metric if found else metric)
    texts = list(parts_of(sentences(tables, found)))
    assert all(text[0].isupper() for text in texts)
    return world, found, texts


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(CONFIGS.glob("*.yaml")) if path.stem not in LIKE_OTHERS],
    ids=lambda path: path.stem,
)
def test_every_sentence_is_what_the_tables_say(path: Path) -> None:
    study = validate_study(few_seeds(yaml.safe_load(path.read_text())), path)
    # Analyses have no rows here, and a few claims are counted as many are.
    claims = [one for one in study.claims if all(of.of_points for part in one.parts for of in part.measures())]
    study = study.model_copy(update={"claims": tuple(claims[:5])})
    world, _, told = judged(study, synthetic(study))
    for sentence in told:
        matches = [(check, found) for pattern, check in CHECKS if (found := re.match(pattern, sentence))]
        assert matches, f"no second computation: {sentence}"
        matches[0][0](world, matches[0][1])
