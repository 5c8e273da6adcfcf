"""The sentences that open the page say what the numbers say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fabricstudy.core.arrays import Floats
from fabricstudy.report.effects import effects, metric_of, size_axes, ties
from fabricstudy.report.findings import leading, sentences
from fabricstudy.report.summaries import verdict_rows as grid
from fabricstudy.study.figures import Figure
from fabricstudy.study.file import validate_study
from fabricstudy.table.files import Tables

from .conftest import HOSTILE, STUDY, Case

Make = Callable[..., Case]


def told(case: Case, **changed: Any) -> str:
    tables = replace(case.tables, **changed)
    return " ".join(sentences(tables, effects(tables, case.study.design_axes)))


def timed(tables: Tables, time_ns: Callable[[pd.Series], float]) -> Tables:
    return replace(tables, jobs=tables.jobs.assign(runtime_ns=[time_ns(row) for _, row in tables.jobs.iterrows()]))


def test_factors_are_medians_of_otherwise_equal_points(make: Make) -> None:
    """Valiant takes twice as long; at alpha 2 it is three times, and the seeds differ by a tenth."""

    def time_ns(row: pd.Series) -> float:
        factor = {("valiant", 0.5): 2.0, ("valiant", 2.0): 3.0}.get((row["routing"], row["alpha"]), 1.0)
        return 1e6 * factor * (1.1 if row["seed"] == 3 else 1.0)

    case = make()
    found = effects(timed(case.tables, time_ns), case.study.design_axes)
    assert found is not None and [one.axis for one in found.axes] == ["routing", "alpha"]
    routing = found.axes[0]
    assert (routing.median, routing.largest) == pytest.approx((2.5, 3)) and routing.comparisons == 4
    assert routing.times_alone == {"minimal": 4, "valiant": 0} and routing.where.startswith("alpha 2, message ")
    assert found.noise == pytest.approx((1.1, 1.1))


def test_a_tie_is_told_as_one(make: Make) -> None:
    """Each routing is the faster one at one of the two ratios."""
    case = make()
    faster = {("valiant", 0.5), ("minimal", 2.0)}
    found = effects(
        timed(case.tables, lambda row: 1e6 if (row["routing"], row["alpha"]) in faster else 2e6),
        case.study.design_axes,
    )
    assert found is not None
    (routing,) = (one for one in found.axes if one.axis == "routing")
    assert routing.times_alone == routing.times_best == {"minimal": 2, "valiant": 2} and routing.comparisons == 4


def test_labels_within_run_to_run_variation_tie_and_all_are_named(make: Make) -> None:
    """Medians 1.00, 1.04 and 1.50: the ratio of the first two is 1.15, 1.04 and 0.94 by seed."""
    sweep = {"routing": {"of": "routing", "values": ["minimal", "valiant", "ugal"]}}
    case = make(sweep=sweep, figures=[], claims=[])

    def time_ns(row: pd.Series) -> float:
        of_seed = (0.05 if row["routing"] == "valiant" else -0.05) * (int(row["seed"]) - 2)
        return 1e6 * ({"minimal": 1.04, "valiant": 1.0, "ugal": 1.5}[row["routing"]] + of_seed)

    found = effects(timed(case.tables, time_ns), {"routing"})
    assert found is not None
    assert found.axes[0].times_best == {"minimal": 1, "ugal": 0, "valiant": 1}
    assert set(found.axes[0].times_alone.values()) == {0} and found.axes[0].clear == 1
    assert "No label is best alone. Best routing in 1 comparison: " in " ".join(sentences(case.tables, found))


@pytest.mark.parametrize("seeds", [3, 5, 12])
def test_values_with_common_seeds_are_compared_seed_by_seed(seeds: int) -> None:
    """Seeds change both by 5 % alike and each by 0.5 %: equal ones differ in 5 % of the cases, 3 % nearly always.

    With pairs of different seeds, 3 % are hidden.
    """
    cases, chance = 4000, np.random.default_rng(seeds)
    alike, own = chance.normal(0, 0.05, (cases, seeds, 1)), chance.normal(0, 0.005, (cases, seeds, 2))

    def told_apart(logs: Floats) -> float:
        index = pd.MultiIndex.from_product([range(cases), range(seeds)], names=["case", "seed"])
        by_seed = pd.DataFrame(np.exp(logs).reshape(-1, 2), index, ["a", "b"])
        best = ties(by_seed.groupby(level=["case"]).median(), by_seed)
        return float((best.sum(axis=1) == 1).mean())

    slower = np.array([0, 0.03])
    assert told_apart(alike + own) == pytest.approx(0.05, abs=0.015)
    assert told_apart(alike + own + slower) > 0.9
    assert told_apart(np.concatenate([alike, np.roll(alike, 1, axis=1)], axis=2) + own + slower) < 0.5


def test_values_with_no_common_seed_tie_and_one_seed_alone_decides() -> None:
    index = pd.MultiIndex.from_tuples([("x", 1), ("x", 2), ("y", 1)], names=["case", "seed"])
    by_seed = pd.DataFrame({"a": [1.0, np.nan, 1.0], "b": [np.nan, 2.0, 2.0]}, index)
    best = ties(by_seed.groupby(level=["case"]).median(), by_seed)
    assert best.to_numpy().tolist() == [[True, True], [True, False]]


def test_comparisons_won_alone_are_counted_apart_from_ties(make: Make) -> None:
    """Minimal is faster in one of four comparisons, and equal in the others."""
    case = make()
    slower = ("valiant", 2.0, HOSTILE)
    found = effects(
        timed(case.tables, lambda row: 1e6 + 1e6 * ((row["routing"], row["alpha"], row["message"]) == slower)),
        {"routing"},
    )
    assert found is not None
    assert found.axes[0].times_alone == {"minimal": 1, "valiant": 0}
    assert found.axes[0].times_best == {"minimal": 4, "valiant": 3}
    assert "minimal alone in 1 and not distinguishable in 3; valiant not distinguishable in 3" in " ".join(
        sentences(case.tables, found)
    )
    assert found.grid.rows[0][-2:] == ["minimal: 1", "minimal: 4; valiant: 3"]


@pytest.mark.parametrize(("others", "ties"), [(1.0000, True), (1.0005, True), (1.002, False)])
def test_with_one_seed_only_equal_times_tie(make: Make, others: float, ties: bool) -> None:
    case = make(seeds=1)
    found = effects(timed(case.tables, lambda row: others if row["routing"] == "valiant" else 1.0), {"routing"})
    assert found is not None
    assert found.axes[0].times_best == {"minimal": 4, "valiant": 4 * ties}


def test_points_that_send_other_amounts_are_compared_by_their_time_per_byte(make: Make) -> None:
    """Large messages take as long as others and send a tenth of the bytes: ten times as long a byte."""
    tables = timed(make().tables, lambda row: 1e6)
    jobs = tables.jobs.assign(bytes=tables.jobs["bytes"].where(tables.jobs["message"] == HOSTILE, 14_400))
    found = effects(replace(tables, jobs=jobs), {"routing", "alpha", "message"})
    assert found is not None and not found.unranked
    by_rate = {one.axis: (one.by_rate, one.median) for one in found.axes}
    assert by_rate == {"message": (True, pytest.approx(10)), "routing": (False, 1.0), "alpha": (False, 1.0)}
    assert next(one for one in found.axes if one.axis == "message").times_alone == {HOSTILE: 2 * 2, "large": 0}
    silent = replace(tables, jobs=jobs.assign(bytes=jobs["bytes"].where(jobs["message"] == HOSTILE, 0)))
    unranked = effects(silent, {"message"})
    assert unranked is not None and not unranked.axes
    (why,) = unranked.unranked
    assert why.axis == "message" and "message" in " ".join(sentences(silent, unranked)) and "bytes" in why.reason


def test_algorithms_are_compared_by_time_whatever_they_send(make: Make) -> None:
    """One takes half of the time with a tenth of the bytes, five times as long a byte."""
    tables = timed(make().tables, lambda row: 1e6 if row["message"] == HOSTILE else 2e6)
    jobs = tables.jobs.assign(bytes=tables.jobs["bytes"].where(tables.jobs["message"] != HOSTILE, 144))
    found = effects(replace(tables, jobs=jobs), set(), algorithms={"message"})
    assert found is not None and not found.axes[0].by_rate
    assert found.axes[0].median == pytest.approx(2) and found.axes[0].times_alone == {HOSTILE: 4, "large": 0}


def test_axes_that_set_algorithms_alone() -> None:
    ring = {"kind": "all-reduce", "message": "1 kB"}
    axes = {
        "algorithm": {"of": "jobs.0.pattern.algorithm", "values": ["ring", "recursive-doubling"]},
        "routing": STUDY["sweep"]["routing"],
    }
    study = STUDY | {"jobs": [{"share": 1.0, "pattern": ring}], "sweep": axes, "figures": [], "claims": []}
    assert validate_study(study).algorithm_axes == {"algorithm"}


def test_what_differs_in_nothing_alone_or_has_no_number_is_named(make: Make) -> None:
    tables = make().tables
    zipped = tables.jobs[(tables.jobs["routing"] == "minimal") == (tables.jobs["alpha"] == 0.5)]
    found = effects(replace(tables, jobs=zipped), {"routing", "alpha"})
    assert found is not None and [one.axis for one in found.unranked] == ["alpha", "routing"]
    lost = tables.jobs[tables.jobs["routing"] == "minimal"]
    found = effects(replace(tables, jobs=lost), {"routing", "alpha"})
    assert found is not None and [one.axis for one in found.axes] == ["alpha"]
    assert [(one.axis, one.labels) for one in found.unranked] == [("routing", ("valiant",))]


@pytest.mark.parametrize(
    ("figure", "best"),
    [
        ({"y": "over_bound"}, "minimal"),  # a ratio: the slowest job again
        ({"y": "runtime_ns"}, "minimal"),  # the slowest job: 3 against 4
        ({"y": "runtime_ns", "reduce_jobs": "mean"}, "valiant"),  # 3 against 2.5
        ({"y": "runtime_ns", "reduce_jobs": "geometric-mean"}, "valiant"),  # 3 against 2
        ({"y": "runtime_ns", "reduce_jobs": "each", "where": {"job_name": "io"}}, "minimal"),
        ({"y": "rate_Bps", "reduce_jobs": "each", "where": {"job_name": "halo"}}, "valiant"),
    ],
)
def test_labels_are_ranked_by_the_first_time_or_rate_of_figures(make: Make, figure: dict[str, Any], best: str) -> None:
    """Under minimal both jobs take 3, under Valiant 1 and 4; the figure of machines has no say."""
    base = {"kind": "bar", "title": "t", "x": "routing"}
    machines = {**base, "id": "m", "table": "machines", "x": "alpha", "y": "bisection_Bps"}
    case = make(figures=[machines, {**base, "id": "f", **figure}], claims=[])
    metric = metric_of(case.study.report_figures)
    column = figure["y"] if figure["y"] in ("runtime_ns", "rate_Bps") else "runtime_ns"
    assert (metric.column, metric.selection.reduce_jobs) == (column, figure.get("reduce_jobs", "max"))
    of_routing = {"minimal": (3.0, 3.0), "valiant": (1.0, 4.0)}
    parts = [
        case.tables.jobs.assign(
            job=number,
            job_name=name,
            runtime_ns=case.tables.jobs["routing"].map(lambda one, n=number: of_routing[one][n]),
        )
        for number, name in enumerate(("halo", "io"))
    ]
    jobs = pd.concat(parts, ignore_index=True)
    jobs["rate_Bps"] = jobs["bytes"] / jobs["runtime_ns"]
    found = effects(replace(case.tables, jobs=jobs), {"routing"}, metric=metric)
    assert found is not None and max(found.axes[0].times_alone.items(), key=itemgetter(1))[0] == best
    if metric.selection.reduce_jobs == "geometric-mean":
        assert found.axes[0].median == pytest.approx(3 / 2)


def test_what_is_given_is_not_ranked() -> None:
    """Nobody chooses a pattern, a size of messages or an engine; an axis that sets one along with a mapping is none."""
    mapping = {"jobs.0.mapping": "random"}
    sweep = {
        "routing": STUDY["sweep"]["routing"],
        "pattern": {"of": "jobs.0.pattern.kind", "values": ["ring"]},
        "mapping": {"set": {"b": mapping}},
        "both": {"set": {"a": {"jobs.0.pattern.message": "2 kB", "jobs.0.allocation": "random"}}},
        "engine": ["caminos"],
    }
    assert validate_study({**STUDY, "sweep": sweep, "figures": [], "claims": []}).design_axes == {"routing", "mapping"}


def test_engines_are_told_apart_and_their_agreement_is_told(make: Make) -> None:
    case = make(figures=[], sweep={"engine": ["caminos", "sst"], "routing": STUDY["sweep"]["routing"]})
    found = effects(case.tables, case.study.design_axes)
    assert found is not None and [one.axis for one in found.axes] == ["routing"]
    assert "the same verdict on 1 of 1 number behind the claims." in told(case)
    assert "by caminos and sst" in told(case)


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        (["reproduced in part"], "Of 1 claim, 1 is reproduced in part."),
        (["undecided", "reproduced", "differs", "undecided", "not run"],
         "Of 5 claims, 1 is reproduced, 2 are undecided (c0, c3), 1 differs and 1 could not be tested."),
        (["differs"] * 7, "Of 7 claims, 7 differ."),
        (["computed"] * 2 + ["differs", "not run"],
         "Of 4 claims, 2 need no simulation: 2 are reproduced. Of the others, 1 differs and 1 could not be tested."),
    ],
)  # fmt: skip
def test_verdicts_are_counted_and_what_is_not_reproduced_is_named(make: Make, verdicts: list[str], words: str) -> None:
    ids = [f"c{number}" for number in range(len(verdicts))]
    seeds = [0 if verdict in ("computed", "not run") else 3 for verdict in verdicts]
    verdicts = ["reproduced" if verdict == "computed" else verdict for verdict in verdicts]
    claims = pd.DataFrame({"claim": ids, "statement": ids, "claim_verdict": verdicts, "seeds": seeds})
    assert told(make(figures=[]), claims=claims).startswith(words)


@pytest.mark.parametrize(
    ("sst", "words"),
    [
        ("reproduced", "on 1 of 1 number"),
        ("undecided", "on 0 of 1 number behind"),
        ("differs", "and opposite ones on 1."),
    ],
)
def test_an_undecided_verdict_contradicts_no_other_one(make: Make, sst: str, words: str) -> None:
    case = make(figures=[], sweep={"engine": ["caminos", "sst"], "routing": STUDY["sweep"]["routing"]})
    rows = case.tables.verdicts
    changed = rows.assign(verdict=rows["verdict"].mask((rows["engine"] == "sst") & (rows["claim"] == "2.1"), sst))
    text = told(case, verdicts=changed)
    assert words in text and ("opposite" in text) == (sst == "differs")
    (same,) = {row[-1] for row in grid(replace(case.tables, verdicts=changed)).rows if row[0] == "2.1"}
    assert same == {"reproduced": "yes", "undecided": "undecided", "differs": "no"}[sst]


def test_one_seed_says_nothing_of_chance(make: Make) -> None:
    assert "With one seed" in told(make(seeds=1))
    assert "With one seed" not in told(make(seeds=2))


def test_what_was_computed_is_told_apart(make: Make) -> None:
    case = make()
    assert "Computation" not in told(case)
    jobs = case.tables.jobs.head(4).assign(runtime_ns=100.0, compute_ns=[0.0, 20.0, 40.0, 90.0])
    assert "40 % of the runtime in the median (20 to 90 %, 3 jobs); " in told(case, jobs=jobs)
    assert "streams of a rank" in told(case, jobs=jobs.assign(compute_ns=[0.0, 20.0, 40.0, 110.0]))
    assert "the rest is communication and waiting" in told(case, jobs=jobs)
    known = jobs.assign(exposed_ns=[np.nan, 30.0, 50.0, 4.0], bubble_ns=[np.nan, 50.0, 10.0, 6.0])
    assert "exposed communication is 30 %, and other waiting 10 %" in told(case, jobs=known)


def test_slowdowns_are_told(make: Make) -> None:
    slowdowns = [1.0, 1.5, 3.0, 3.0]  # the last one is that of the same job in another experiment
    rows = pd.DataFrame({"point_id": ["a", "b", "c", "c"], "job": 0, "slowdown": slowdowns})
    words = told(make(), interference=rows)
    assert "1.5 in the median (1 to 3, 3 jobs)" in words


def test_saturation_loads_of_a_study_are_told(make: Make) -> None:
    loads = {"saturation_load": 0.5, "saturation_bound": 0.9, "saturation_low": 0.45, "saturation_high": 0.55}
    rows = pd.DataFrame(
        [
            {"experiment": "main", "machine": f"m{number}", "seed": 1, "point_id": number, **loads}
            for number in range(18)
        ]
    )
    words = told(make(figures=[]), latency=rows[:8])
    assert all(f"machine m{number}: 0.5 (0.45 to 0.55, bound 0.9)" in words for number in range(8))
    words = told(make(figures=[]), latency=rows)
    assert all(f"m{number} 0.5; " in words for number in range(8)) and "m8" not in words and "; 10 more." in words


def test_many_saturation_loads_are_told_as_ranges(make: Make) -> None:
    loads = {"saturation_bound": 0.9, "saturation_low": 0.1, "saturation_high": 0.9}
    rows = pd.DataFrame([
        {"experiment": "main", "machine": f"m{machine}", "draw": draw, "seed": 1, "point_id": f"{machine} {draw}",
         "saturation_load": load - draw / 100, **loads}
        for machine, load in ((1, 0.8), (2, 0.5)) for draw in range(13)
    ])  # fmt: skip
    words = told(make(figures=[]), latency=rows)
    assert "by machine: m1 0.68 to 0.8; m2 0.38 to 0.5." in words and "draw" not in words


def test_whose_time_it_is_where_points_have_several_jobs(make: Make) -> None:
    case = make()
    assert "slowest" not in told(case)
    first = case.tables.jobs.assign(job_name="halo")
    second = first.assign(job=1, job_name="io", runtime_ns=first["runtime_ns"] * ([2.0] * 20 + [0.5] * 4))
    words = told(case, jobs=pd.concat([first, second], ignore_index=True))
    assert "that of its slowest job, most often the job io (20 of 24 points)." in words


def test_nothing_done_is_said_to_be_nothing(make: Make) -> None:
    words = told(make(lost=24, claims=[]))
    assert "0 of 24 simulations of 2 machines by no engine (24 CPU-seconds, 3 seeds)" in words


@pytest.mark.parametrize(
    ("figures", "first"),
    [
        (["of machines", "of another axis", "rate by routing", "time by routing"], 3),
        (["of machines", "of another axis", "rate by routing"], 2),
        (["of machines"], 0),
        ([], None),
    ],
)
def test_the_first_figure_shows_the_largest_effect(make: Make, figures: list[str], first: int | None) -> None:
    """Routing matters most here."""
    kinds = {
        "of machines": {"table": "machines", "x": "alpha", "y": "bisection_Bps"},
        "of another axis": {"x": "seed", "y": "rate_Bps"},
        "rate by routing": {"x": "routing", "y": "rate_Bps"},
        "time by routing": {"x": "routing", "y": "runtime_ns"},
    }
    drawn = [{"id": f"f{number}", "kind": "bar", "title": name, **kinds[name]} for number, name in enumerate(figures)]
    case = make(figures=drawn)
    tables = timed(case.tables, lambda row: 2.0 if row["routing"] == "valiant" else 1.0)
    assert leading(case.study.figures, effects(tables, case.study.design_axes)) == first


def test_many_schedules_count_for_more_than_the_few_simulations_behind_them(make: Make) -> None:
    """Meshes wait half as long; the order of the queue changes nothing."""
    tables = make().tables
    runs = pd.DataFrame(
        [
            {
                "schedule": "s", "network": network, "order": order, "seed": seed, "status": "done",
                "run_id": f"{network}-{order}-{seed}",
                "wait_mean_s": (20.0 if network == "torus" else 10.0) * (1 + seed / 100),
            }
            for network in ("torus", "mesh") for order in ("fcfs", "wfp") for seed in range(100)
        ]
    )  # fmt: skip
    found = effects(replace(tables, schedules=runs), {"network", "order"})
    assert found is not None and found.metric.noun == "mean wait" and len(runs) > len(tables.jobs)
    assert {one.axis: one.median for one in found.axes} == {"network": pytest.approx(2), "order": pytest.approx(1)}
    few = effects(replace(tables, schedules=runs.head(4)), {"routing"})
    assert few is not None and few.metric.column == "runtime_ns"


def test_a_study_of_sizes_alone_tells_what_grows_and_draws_a_line(make: Make) -> None:
    """Messages are given, not chosen; 16 kB take ten times as long as 1 kB, and those between half of that."""
    sweep = {"message": {"of": "jobs.0.pattern.message", "values": ["4 kB", "16 kB", "1 kB"]}}
    case = make(sweep=sweep, figures=[], claims=[])
    assert case.study.report_figures == ()  # the file says that it wants none
    left_out = validate_study(
        {key: value for key, value in STUDY.items() if key != "figures"} | {"sweep": sweep, "claims": []}
    )
    (figure,) = left_out.report_figures
    assert isinstance(figure, Figure) and (figure.kind, figure.x, figure.y_log) == ("line", "message", True)
    tables = timed(case.tables, lambda row: {"1 kB": 1e6, "4 kB": 5e6, "16 kB": 1e7}[row["message"]])
    found = effects(tables, case.study.design_axes, size_axes(case.study))
    assert found is not None and found.axes == []
    (growth,) = found.growths
    assert (growth.least, growth.most, growth.factors, growth.comparisons) == ("1 kB", "16 kB", (10, 10, 10), 1)
    assert "by a factor of 10 from message 1 kB to 16 kB." in " ".join(sentences(tables, found))


@pytest.mark.parametrize(("lead", "told"), [(1.5, True), (1.0005, False)])
def test_where_another_label_becomes_the_best_one(make: Make, lead: float, told: bool) -> None:
    """Minimal is the best one up to 4 kB, Valiant from 16 kB on, unless the lead at an end is within 0.1 %."""
    sweep = {
        "message": {"of": "jobs.0.pattern.message", "values": ["4 kB", "16 kB", "1 kB", "64 kB"]},
        "routing": STUDY["sweep"]["routing"],
    }
    case = make(sweep=sweep, figures=[], claims=[], seeds=1)
    minimal = {"1 kB": 1.0, "4 kB": 1.0, "16 kB": 2.0, "64 kB": lead}
    valiant = {"1 kB": 2.0, "4 kB": 1.1, "16 kB": 1.0, "64 kB": 1.0}
    times = {"minimal": minimal, "valiant": valiant}
    tables = timed(case.tables, lambda row: times[row["routing"]][row["message"]])
    found = effects(tables, case.study.design_axes, size_axes(case.study))
    assert found is not None and bool(found.crossings) == told
    words = " ".join(sentences(tables, found))
    assert ("Best routing by message: minimal from 1 kB to 4 kB, valiant from 16 kB to 64 kB." in words) == told


def test_a_choice_of_sizes_is_not_told_twice(make: Make) -> None:
    case = make()
    assert set(size_axes(case.study)) == {"alpha", "message"}
    found = effects(case.tables, case.study.design_axes, size_axes(case.study))
    assert found is not None and "alpha" in {one.axis for one in found.axes}
    assert [one.axis for one in found.growths] == ["message"]


def test_an_axis_that_is_called_otherwise_is_told_with_what_it_sets(make: Make) -> None:
    case = make()
    assert case.study.meanings == {"alpha": "machine.bandwidth.global"}
    tables = timed(case.tables, lambda row: row["alpha"])
    found = effects(tables, case.study.design_axes)
    assert "alpha (machine.bandwidth.global) changes" in " ".join(sentences(tables, found, case.study.meanings))
