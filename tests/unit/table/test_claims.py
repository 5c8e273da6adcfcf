"""Measures against numbers worked out by hand, and verdicts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from fabricstudy.report.text import claim_numbers
from fabricstudy.study.claims import AnyMeasure, Claim
from fabricstudy.table.claims import Measurement, NotMeasurable, _compare, judge, measure
from fabricstudy.table.files import Tables

from .conftest import make_tables

Build = Callable[..., Tables]
READER: TypeAdapter[Any] = TypeAdapter(AnyMeasure)
BASE = {"metric": "runtime_ns", "experiment": "main"}


def measured(tables: Tables, **asked: Any) -> Measurement:
    """Compute a measure given as in a study file."""
    return measure(READER.validate_python({**BASE, **asked}), tables)


def judged(tables: Tables, source: tuple[float | None, float | None], **asked: Any) -> dict[str, Any]:
    """Judge a claim of one part."""
    part = {"statement": "a number", "measure": {**BASE, **asked}, "source_range": source}
    claim = Claim.model_validate({"id": "1", "statement": "something", "source": "somebody", "parts": [part]})
    found: list[Any] = judge([claim], tables).to_dict("records")
    return dict(found[0])


@pytest.fixture
def two_by_two() -> Tables:
    """Times of two arrangements at two ratios with three seeds; medians 100, 90 (ratio 1) and 80, 60 (ratio 2)."""
    times = {
        ("absolute", 1): (90, 100, 130), ("circulant", 1): (90, 85, 95),
        ("absolute", 2): (80, 80, 96), ("circulant", 2): (60, 40, 66),
    }  # fmt: skip
    return make_tables(
        [
            {"arrangement": arrangement, "alpha": alpha, "seed": seed, "runtime_ns": float(time)}
            for (arrangement, alpha), three in times.items()
            for seed, time in enumerate(three, 1)
        ]
    )


def test_a_value_states_the_unit_of_its_column_and_a_ratio_none(two_by_two: Tables) -> None:
    assert judged(two_by_two, (0, None), kind="value", reduce="max")["part_statement"] == "a number (ns)"
    assert judged(two_by_two, (0, None), **PAIR)["part_statement"] == "a number"


PAIR = {"kind": "contrast", "of": {"arrangement": "circulant"}, "against": {"arrangement": "absolute"}}


@pytest.mark.parametrize(
    ("form", "reduce", "expected"),
    [
        ("ratio", "max", 0.9),
        ("ratio", "min", 0.75),
        ("ratio", "mean", 0.825),
        ("ratio", "median", 0.825),
        ("change", "min", -0.25),
        ("reduction", "max", 0.25),
        ("distance", "max", 0.25),
    ],
)
def test_contrast_of_medians_over_seeds(two_by_two: Tables, form: str, reduce: str, expected: float) -> None:
    found = measured(two_by_two, **PAIR, form=form, reduce=reduce)
    assert found.value == pytest.approx(expected)
    assert (found.points, found.seeds) == (12, 3)


def test_contrast_says_where_it_was_decided_and_how_far_the_seeds_move_it(two_by_two: Tables) -> None:
    found = measured(two_by_two, **PAIR, form="ratio", reduce="min")
    assert found.at_labels == "alpha 2"
    # Seeds 1, 2, 3 at ratio 2: 60/80, 40/80, 66/96.
    assert (found.low, found.high) == pytest.approx((0.5, 0.75))
    assert found.interval == "single seeds"


def test_a_mean_has_no_deciding_point_and_its_interval_is_that_of_the_mean(two_by_two: Tables) -> None:
    found = measured(two_by_two, **PAIR, form="ratio", reduce="mean")
    by_seed = [(90 / 90 + 60 / 80) / 2, (85 / 100 + 40 / 80) / 2, (95 / 130 + 66 / 96) / 2]
    assert found.at_labels == ""
    assert (found.low, found.high) == pytest.approx((min(by_seed), max(by_seed)))


def test_where_takes_labels_lists_and_ranges(two_by_two: Tables) -> None:
    for where in ({"alpha": 2}, {"alpha": [2, 7]}, {"alpha": {"min": 1.5}}, {"alpha": {"min": 2, "max": 2}}):
        assert measured(two_by_two, **PAIR, where=where, reduce="max").value == pytest.approx(0.75)


def test_spread_over_an_axis(two_by_two: Tables) -> None:
    spread = {"kind": "spread", "over": "arrangement", "reduce": "max"}
    assert measured(two_by_two, **spread, form="ratio").value == pytest.approx(80 / 60)
    assert measured(two_by_two, **spread, form="excess").value == pytest.approx(20 / 60)
    assert measured(two_by_two, **spread, form="range").value == pytest.approx(20 / 70)


def test_spread_over_two_axes_is_worst_against_best_of_the_pairs(two_by_two: Tables) -> None:
    found = measured(two_by_two, kind="spread", over=["arrangement", "alpha"], form="ratio")
    assert found.value == pytest.approx(100 / 60)


def test_spread_over_seeds_takes_no_median_first(two_by_two: Tables) -> None:
    found = measured(two_by_two, kind="spread", over="seed", where={"arrangement": "absolute"}, reduce="max")
    assert found.value == pytest.approx((130 - 90) / 100)
    # Without seed 1, 2, 3: 30/115, 40/110, 10/95.
    assert (found.low, found.high) == pytest.approx((10 / 95, 40 / 110))
    assert found.interval == "leaving out one seed at a time"


def test_spread_over_two_seeds_has_no_interval() -> None:
    tables = make_tables([{"a": 1, "seed": seed, "runtime_ns": time} for seed, time in ((1, 10.0), (2, 12.0))])
    found = measured(tables, kind="spread", over="seed")
    assert (found.value, found.low, found.high) == pytest.approx((2 / 11,) * 3)
    assert found.interval == "too few seeds"


def of_seeds(**times_ns: Sequence[float]) -> Tables:
    return make_tables([
        {"a": label, "seed": seed, "runtime_ns": float(time_ns)}
        for label, of_label in times_ns.items()
        for seed, time_ns in enumerate(of_label)
    ])  # fmt: skip


def test_the_interval_of_a_distance_is_that_of_the_change_without_its_sign() -> None:
    distance: dict[str, Any] = {"kind": "contrast", "of": {"a": "x"}, "against": {"a": "y"}, "form": "distance"}
    # Of three seeds: changes -20, -10 and -30 %; then +20, -10 and +30 %; in a quotient each seed has its distance.
    found = measured(of_seeds(x=(80, 90, 70), y=(100, 100, 100)), **distance)
    assert (found.value, found.low, found.high) == pytest.approx((0.2, 0.1, 0.3))
    found = measured(of_seeds(x=(120, 90, 130), y=(100, 100, 100)), **distance)
    assert (found.value, found.low, found.high) == pytest.approx((0.2, 0.0, 0.3))
    other = distance | {"of": {"a": "y"}, "against": {"a": "x"}}
    quotient = {"kind": "quotient", "of": BASE | distance, "against": BASE | other}
    found = measure(READER.validate_python(quotient), of_seeds(x=(120, 90, 130), y=(100, 100, 100)))
    assert found.low == pytest.approx(0.1 / (1 / 0.9 - 1))
    # Each of twelve seeds is 10 % off, half of them on either side.
    found = measured(of_seeds(x=[90, 110] * 6, y=[100] * 12), **distance)
    assert (found.value, found.low, found.high) == pytest.approx((0, 0, 0.1), abs=1e-12)


@pytest.mark.parametrize(("asked", "low", "high"), [
    ({"kind": "contrast", "of": {"a": "x"}, "against": {"a": "y"}}, 0.7, 0.9),
    ({"kind": "contrast", "of": {"a": "x"}, "against": {"a": "y"}, "form": "distance"}, 0.1, 0.3),
    ({"kind": "spread", "over": "a", "form": "ratio"}, 100 / 90, 100 / 70),
    ({"kind": "value", "reduce": "mean"}, 85, 95),
])  # fmt: skip
def test_intervals_take_the_seeds_that_all_compared_points_have(asked: dict[str, Any], low: float, high: float) -> None:
    found = measured(of_seeds(x=(80, 90, 70, 5, 500), y=(100, 100, 100)), **asked)
    assert (found.low, found.high) == pytest.approx((low, high))


@pytest.mark.parametrize(("asked", "value"), [
    ({"kind": "contrast", "of": {"a": "x"}, "against": {"a": "y"}}, 0.8),
    ({"kind": "spread", "over": "a", "form": "ratio"}, 1.25),
    ({"kind": "value", "where": {"a": "x"}}, 90),
])  # fmt: skip
def test_points_are_compared_by_the_seeds_that_they_have_in_common(asked: dict[str, Any], value: float) -> None:
    """The further seeds of one point would move its median, and equal points would differ."""
    found = measured(of_seeds(x=(80, 90, 70, 300, 500), y=(100, 100, 100)), **asked)
    assert found.value == pytest.approx(value)


def test_a_spread_of_a_single_seed_is_between_the_labels_that_decide() -> None:
    tables = of_seeds(x=(100, 130, 90), y=(110, 100, 105), z=(105, 90, 104))
    # Medians 100, 105 and 104: between y and x the seeds have 110/100, 100/130 and 105/90.
    for form, value, low, high in (
        ("ratio", 1.05, 1.0, 7 / 6), ("excess", 0.05, 0.0, 1 / 6), ("range", 5 / 104, 0.0, 15 / 104),
    ):  # fmt: skip
        found = measured(tables, kind="spread", over="a", form=form)
        assert (found.value, found.low, found.high) == pytest.approx((value, low, high))


@pytest.mark.parametrize("asked", [
    {"kind": "contrast", "of": {"a": "x"}, "against": {"a": "y"}, "form": "distance"},
    {"kind": "spread", "over": "a", "form": "excess"},
])  # fmt: skip
def test_intervals_of_equal_labels_contain_no_difference(asked: dict[str, Any]) -> None:
    """Two labels with equal distributions differ by nothing, however wide their run-to-run variation is."""
    rng = np.random.default_rng(1)
    studies = [of_seeds(x=rng.lognormal(0, 0.1, 20).tolist(), y=rng.lognormal(0, 0.1, 20).tolist()) for _ in range(40)]
    found = [measured(tables, **asked) for tables in studies]
    assert sum(interval.low == 0 for interval in found) >= 36
    assert np.median([interval.high for interval in found]) < 0.14  # of a single seed


def test_trend_is_the_growth_of_a_ratio() -> None:
    times = {("minimal", 100): 10, ("valiant", 100): 11, ("minimal", 4000): 400, ("valiant", 4000): 528}
    tables = make_tables([{"routing": r, "message": m, "runtime_ns": float(time)} for (r, m), time in times.items()])
    found = measured(
        tables, kind="trend", of={"routing": "valiant"}, against={"routing": "minimal"}, along={"message": [100, 4000]}
    )
    assert found.value == pytest.approx((528 / 400) / (11 / 10))


def lossy(*seeds: tuple[float, ...], losses: tuple[Any, ...] = (0, 0.1, 0.2, 0.4)) -> Tables:
    """Times on a torus (100) and on a mesh, by loss; a row of times for each seed."""
    torus = [{"network": "torus", "loss": 0, "seed": seed, "runtime_ns": 100.0} for seed in range(len(seeds))]
    mesh = [
        {"network": "mesh", "loss": loss, "seed": seed, "runtime_ns": time}
        for seed, times in enumerate(seeds)
        for loss, time in zip(losses, times, strict=True)
    ]
    return make_tables([*torus, *mesh])


EVEN = {
    "kind": "crossing", "along": "loss", "of": {"network": "mesh", "loss": {"min": 0}},
    "against": {"network": "torus", "loss": 0},
}  # fmt: skip


@pytest.mark.parametrize(
    ("times", "level", "expected"),
    [
        ((80, 90, 110, 120), 1, 0.15),
        ((80, 90, 110, 120), 1.15, 0.3),
        ((80, 100, 110, 120), 1, 0.1),
        ((80, 90, 110, 95), 1, 0.15),
        ((101, 90, 80, 99), 1, 0.0),
    ],
    ids=["between", "of another level", "at a label", "first of several", "at once"],
)
def test_crossing_is_where_the_ratio_rises_to_a_level(times: tuple[float, ...], level: float, expected: float) -> None:
    found = measured(lossy(times), **EVEN, level=level)
    assert found.value == pytest.approx(expected)
    assert (found.pairs, found.pairs_planned) == (4, 4)


def test_crossing_of_two_curves_is_where_their_ratio_rises() -> None:
    """Both vary along the axis; the ratios are 0.8, 0.9, 1.1 and 1.2."""
    mesh, torus = (8.0, 18.0, 33.0, 12.0), (10.0, 20.0, 30.0, 10.0)
    rows = [
        {"network": net, "loss": loss, "runtime_ns": time}
        for net, times in (("mesh", mesh), ("torus", torus))
        for loss, time in zip((0.1, 0.2, 0.3, 0.4), times, strict=True)
    ]
    found = measured(make_tables(rows), **EVEN | {"against": {"network": "torus"}})
    assert found.value == pytest.approx(0.25) and (found.pairs, found.pairs_planned) == (4, 4)


@pytest.mark.parametrize(("log", "expected"), [(False, 32_500.0), (True, 8_000.0)])
def test_crossing_along_quantities(log: bool, expected: float) -> None:
    """The ratio is 0.5 at 1 kB and 1.5 at 64 kB: half-way between them, or between their logarithms."""
    rows = [
        {"network": net, "loss": size, "runtime_ns": time}
        for size, tree in (("1 kB", 5.0), ("64 kB", 15.0))
        for net, time in (("mesh", tree), ("torus", 10.0))
    ]
    asked = EVEN | {"of": {"network": "mesh", "loss": ["1 kB", "64 kB"]}, "against": {"network": "torus"}, "log": log}
    assert measured(make_tables(rows), **asked).value == pytest.approx(expected)


def test_crossing_of_each_seed_is_its_interval() -> None:
    found = measured(lossy((80, 90, 110, 120), (90, 110, 120, 130), (70, 80, 90, 110)), **EVEN)
    # Medians: 80, 90, 110, 120.
    assert (found.value, found.low, found.high) == pytest.approx((0.15, 0.05, 0.3))


@pytest.mark.parametrize(("accept", "verdict"), [
    ((0.4, 0.4), "differs"), ((None, 0.3), "differs"), ((0.2, None), "reproduced"), ((0.4, None), "reproduced"),
    ((0.2, 0.5), "undecided"), ((0.5, None), "undecided"), ((0.5, 0.6), "undecided"),
])  # fmt: skip
@pytest.mark.parametrize("times", [[(80, 85, 90, 99)], [(80, 85, 90, 99), (80, 85, 90, 95), (70, 75, 80, 85)]])
def test_a_crossing_that_is_not_reached_is_no_number(
    times: list[tuple[int, ...]], accept: tuple[float | None, float | None], verdict: str
) -> None:
    row = judged(lossy(*times), accept, **EVEN)
    assert (row["low"], row["verdict"]) == (0.4, verdict) and pd.isna([row["measured"], row["high"]]).all()
    assert row["reason"] == "not reached up to 0.4"
    assert claim_numbers(row | {"show": "number"})["measured"] == "not reached"


def test_seeds_that_do_not_reach_the_level_leave_the_interval_open() -> None:
    tables = lossy((80, 90, 110, 120), (90, 110, 120, 130), (70, 80, 90, 95))
    row = judged(tables, (0.05, 0.4), **EVEN)
    assert (row["measured"], row["low"]) == pytest.approx((0.15, 0.05)) and pd.isna(row["high"])
    assert row["verdict"] == "undecided" and "0.4" in row["reason"]
    assert judged(tables, (0.05, None), **EVEN)["verdict"] == "reproduced"
    assert judged(tables, (0.3, None), **EVEN)["verdict"] == "undecided"


def test_a_seed_that_reaches_the_level_speaks_against_the_others() -> None:
    tables = lossy((80, 85, 90, 95), (80, 85, 90, 95), (80, 90, 110, 120))
    row = judged(tables, (None, 0.2), **EVEN)
    assert row["low"] == pytest.approx(0.15) and pd.isna([row["measured"], row["high"]]).all()
    assert row["verdict"] == "undecided" and "0.4" in row["reason"]
    assert judged(tables, (0.4, None), **EVEN)["verdict"] == "undecided"


def test_crossing_along_words_is_not_run() -> None:
    sides = {"of": {"network": "mesh", "loss": ["none", "some"]}, "against": {"network": "torus", "loss": "none"}}
    rows = [{"network": net, "loss": loss, "runtime_ns": 1.0} for net in ("mesh", "torus") for loss in ("none", "some")]
    with pytest.raises(NotMeasurable, match="loss"):
        measured(make_tables(rows), **{**EVEN, **sides})


def test_quotient_of_two_spreads() -> None:
    times = {"minimal": (10, 11, 13), "valiant": (20, 21, 22)}
    rows = [{"routing": r, "seed": s, "runtime_ns": float(t)} for r, ts in times.items() for s, t in enumerate(ts)]
    spread = {**BASE, "kind": "spread", "over": "seed"}
    quotient = {
        "kind": "quotient",
        "of": {**spread, "where": {"routing": "valiant"}},
        "against": {**spread, "where": {"routing": "minimal"}},
    }
    found = measure(READER.validate_python(quotient), make_tables(rows))
    assert found.value == pytest.approx((2 / 21) / (3 / 11))
    assert (found.points, found.seeds) == (6, 3)


def test_a_quotient_over_nothing_is_not_run() -> None:
    tables = make_tables([{"routing": "minimal", "runtime_ns": 0.0}, {"routing": "valiant", "runtime_ns": 2.0}])
    of, against = ({"kind": "value", "metric": "runtime_ns", "where": {"routing": r}} for r in ("valiant", "minimal"))
    with pytest.raises(NotMeasurable, match="division by zero"):
        measure(READER.validate_python({"kind": "quotient", "of": of, "against": against}), tables)


def test_every_other_pair_against_one_leaves_the_base_itself_out() -> None:
    times = {
        ("minimal", "cluster"): 10,
        ("minimal", "spread"): 9,
        ("valiant", "cluster"): 14,
        ("valiant", "spread"): 12,
    }
    tables = make_tables([{"routing": r, "allocation": a, "runtime_ns": float(t)} for (r, a), t in times.items()])
    of = {"routing": ["minimal", "valiant"], "allocation": ["cluster", "spread"]}
    against = {"routing": "minimal", "allocation": "cluster"}
    assert measured(tables, kind="contrast", of=of, against=against, reduce="min").value == pytest.approx(0.9)
    assert measured(tables, kind="contrast", of=of, against=against, reduce="median").value == pytest.approx(1.2)
    assert measured(tables, kind="contrast", of=of, against=against, reduce="min").points == 4


def test_the_time_of_two_jobs_is_that_of_the_later_one() -> None:
    rows = [
        {"routing": routing, "point_id": routing, "job": job, "runtime_ns": float(time)}
        for routing, job, time in (("minimal", 0, 10), ("minimal", 1, 20), ("valiant", 0, 30), ("valiant", 1, 24))
    ]
    asked = {"kind": "contrast", "of": {"routing": "valiant"}, "against": {"routing": "minimal"}}
    tables = make_tables(rows)
    assert measured(tables, **asked).value == pytest.approx(30 / 20)
    assert measured(tables, **asked, reduce_jobs="mean").value == pytest.approx(27 / 15)
    assert measured(tables, kind="value", reduce_jobs="sum", reduce="max").value == pytest.approx(30 + 24)
    assert measured(tables, **asked, reduce_jobs="each", reduce="max").value == pytest.approx(3.0)
    assert measured(tables, **asked, reduce_jobs="each", reduce="max").points == 2


def test_jobs_are_matched_by_name_where_a_measure_mentions_it() -> None:
    """The halo is job 0 alone, and job 1 after a ring."""
    rows = [
        {"load": load, "point_id": load, "job": job, "job_name": name, "runtime_ns": float(time)}
        for load, job, name, time in (("one", 0, "halo", 10), ("two", 0, "ring", 90), ("two", 1, "halo", 14))
    ]
    asked = {"kind": "contrast", "of": {"load": "two"}, "against": {"load": "one"}, "reduce_jobs": "each"}
    tables = make_tables(rows)
    assert measured(tables, **asked, reduce="max").value == pytest.approx(9)
    by_name = measured(tables, **asked, where={"job_name": "halo"}, reduce="max")
    assert by_name.value == pytest.approx(1.4) and by_name.points == 2
    jobs = {"of": {"job_name": "ring"}, "against": {"job_name": "halo"}, "where": {"load": "two"}}
    assert measured(tables, **{**asked, **jobs}, reduce="max").value == pytest.approx(90 / 14)
    assert (
        measured(tables, kind="spread", over=["job_name"], reduce_jobs="each", form="ratio", reduce="max").points == 2
    )


def test_jobs_of_one_name_are_reduced_to_one_number() -> None:
    rows = [
        {"a": 1, "point_id": "p", "job": job, "job_name": name, "runtime_ns": float(time)}
        for job, (name, time) in enumerate([("halo", 10), ("halo", 40), ("ring", 90)])
    ]
    tables = make_tables(rows)
    pair = {"of": {"job_name": "ring"}, "against": {"job_name": "halo"}, "kind": "contrast"}
    assert measured(tables, **pair, reduce_jobs="geometric-mean").value == pytest.approx(90 / 20)
    assert measured(tables, **pair, reduce_jobs="max").value == pytest.approx(90 / 40)
    assert measured(tables, kind="value", reduce_jobs="max").value == 90


def test_idle_jobs_do_not_count() -> None:
    rows = [{"a": 1, "point_id": "p", "job": job, "messages": job, "runtime_ns": 10.0 * job} for job in (0, 1)]
    assert measured(make_tables(rows), kind="value", reduce_jobs="mean").value == 10.0


def test_jobs_in_the_background_do_not_count() -> None:
    disturbing = {"background": True, "runtime_ns": float("nan"), "baseline_ns": 1.0}
    rows = [{"a": 1, "point_id": "p", "job": 0, "runtime_ns": 10.0}, {"a": 1, "point_id": "p", "job": 1} | disturbing]
    assert measured(make_tables(rows), kind="value", reduce_jobs="mean").value == 10.0
    assert measured(make_tables(rows), kind="value", reduce_jobs="each").points == 1


def test_link_classes_are_compared_within_a_point() -> None:
    tables = make_tables(
        [{"routing": "valiant", "runtime_ns": 5.0}],
        links=[{"row": 0, "class": "local", "busy_max_ns": 6.0}, {"row": 0, "class": "global", "busy_max_ns": 4.0}],
    )
    found = measured(
        tables, kind="contrast", table="links", metric="busy_max_ns", of={"class": "local"}, against={"class": "global"}
    )
    assert found.value == 1.5
    assert found.points == 1


def machine(name: str, upper_Bps: float, exact: bool = True) -> dict[str, Any]:
    """A machine's row with a bisection."""
    facts = {"nodes": 72, "routers": 36, "cables": 90, "radix": 7, "diameter": 3, "mean_hops": 2.5}
    bisection = {
        "bisection_lower_Bps": upper_Bps / 2, "bisection_upper_Bps": upper_Bps, "bisection_exact": exact,
        "bisection_Bps": upper_Bps if exact else None, "bisection_method": "by hand",
    }  # fmt: skip
    return {"machine_id": name, "kind": "dragonfly", **facts, **bisection}


def machine_tables(exact: bool = True, status: str = "done") -> Tables:
    """Two machines, each under two routings."""
    rows = [
        {"arrangement": arrangement, "machine_id": name, "routing": routing, "status": status, "runtime_ns": 1.0}
        for arrangement, name in (("absolute", "m1"), ("circulant", "m2"))
        for routing in ("minimal", "valiant")
    ]
    return make_tables(rows, machines=[machine("m1", 3e9), machine("m2", 4e9, exact)])


BISECTION = {"kind": "spread", "table": "machines", "metric": "bisection_Bps", "over": "arrangement", "form": "excess"}


def test_machines_count_once_whatever_ran_on_them() -> None:
    found = measured(machine_tables(status="failed"), **BISECTION)
    assert found.value == pytest.approx(1 / 3)
    assert (found.points, found.seeds, found.interval) == (2, 0, "no seeds involved")


def test_a_bisection_that_is_not_proven_decides_nothing() -> None:
    with pytest.raises(NotMeasurable, match="1 of 2 machines missing"):
        measured(machine_tables(exact=False), **BISECTION)


@pytest.mark.parametrize(
    ("source", "verdict"),
    [((0.5, 0.75), "reproduced"), ((0.4, None), "reproduced"), ((None, 0.75), "reproduced"),
     ((0.7, 0.8), "undecided"), ((0.51, None), "undecided"), ((None, 0.74), "undecided"), ((0.6, 0.6), "undecided"),
     ((0.75, None), "undecided"), ((None, 0.5), "undecided"), ((0.76, None), "differs"), ((None, 0.49), "differs")],
)  # fmt: skip
def test_verdict_over_seeds(two_by_two: Tables, source: tuple[float | None, float | None], verdict: str) -> None:
    """Circulant over absolute at ratio 2: 0.75 by medians; by seed 60 / 80, 40 / 80 and 66 / 96, so 0.5 to 0.75."""
    row = judged(two_by_two, source, **PAIR, reduce="min")
    assert (row["low"], row["measured"], row["high"]) == (0.5, 0.75, 0.75)
    assert (row["verdict"], row["claim_verdict"]) == (verdict, verdict)


@given(st.lists(st.integers(-9, 9), min_size=3, max_size=3), st.integers(-9, 9), st.integers(0, 9))
def test_a_verdict_is_a_statement_on_all_numbers_of_the_interval(ends: list[int], least: int, width: int) -> None:
    low, value, high = sorted(ends)
    verdict = _compare(Measurement(value, low, high, "single seeds", "", 3, 3), least, least + width)
    inside = [least <= number <= least + width for number in (low, value, high)]
    if verdict == "reproduced":
        assert all(inside)
    elif verdict == "differs":
        assert not any(inside)
    else:
        assert verdict == "undecided" and not all(inside) and low <= least + width and high >= least


def test_a_wider_range_is_accepted_for_a_reason(two_by_two: Tables) -> None:
    part = {"statement": "x", "measure": {**BASE, **PAIR, "reduce": "min"}, "source_range": [0.8, 0.9]}
    wider = {**part, "accept": [0.5, 0.9], "reason": "another machine"}
    claims = [
        Claim.model_validate({"id": name, "statement": "x", "source": "y", "parts": [one]})
        for name, one in (("a", part), ("b", wider))
    ]
    exact, free = judge(claims, two_by_two).to_dict("records")
    assert (exact["verdict"], exact["accept_low"], exact["accept_high"]) == ("differs", 0.8, 0.9)
    assert (free["verdict"], free["accept_low"], free["accept_high"]) == ("reproduced", 0.5, 0.9)
    assert (free["source_low"], free["source_high"], free["accept_reason"]) == (0.8, 0.9, "another machine")


@pytest.mark.parametrize(
    ("seeds", "low", "high"), [(2, 1, 2), (8, 1, 8), (10, 2, 9), (15, 4, 12), (20, 6, 15), (25, 8, 18)]
)
def test_many_seeds_give_the_interval_of_their_median(seeds: int, low: int, high: int) -> None:
    """Ranks as in the usual tables of distribution-free 95 % intervals; up to eight seeds it is the range."""
    rows = [{"seed": seed, "runtime_ns": float(1 + (7 * seed + 3) % seeds)} for seed in range(seeds)]
    found = measured(make_tables(rows), kind="value")
    assert (found.low, found.high, found.seeds) == (low, high, seeds)
    assert found.interval.startswith("95 %") == (seeds > 8)


def test_one_seed_is_judged_by_its_value_and_marked() -> None:
    tables = make_tables([{"a": "x", "seed": 1, "runtime_ns": 2.0}, {"a": "y", "seed": 1, "runtime_ns": 1.0}])
    row = judged(tables, (2, None), kind="contrast", of={"a": "x"}, against={"a": "y"})
    assert (row["verdict"], row["interval"], row["seeds"]) == ("reproduced", "too few seeds", 1)
    assert judged(tables, (2.1, None), kind="contrast", of={"a": "x"}, against={"a": "y"})["verdict"] == "differs"


@pytest.mark.parametrize("status", ["failed", "timeout", "out-of-memory", "unsupported", "skipped", "missing"])
def test_a_needed_point_that_is_not_done_means_not_run(status: str) -> None:
    rows: list[dict[str, Any]] = [
        {"arrangement": name, "seed": seed, "runtime_ns": 5.0}
        for name, seed in itertools.product(("absolute", "circulant", "relative"), (1, 2))
    ]
    rows[0] = {"arrangement": "absolute", "seed": 1, "status": status}
    row = judged(make_tables(rows), (0, None), **PAIR)
    assert row["verdict"] == "not run"
    assert row["reason"] == f"1 of 4 points missing (1 {status})"
    assert np.isnan(row["measured"])
    untouched = {"kind": "contrast", "of": {"arrangement": "circulant"}, "against": {"arrangement": "relative"}}
    assert judged(make_tables(rows), (0, None), **untouched)["verdict"] == "reproduced"


def test_a_needed_number_that_is_unknown_means_not_run(two_by_two: Tables) -> None:
    row = judged(two_by_two, (0, None), **{**PAIR, "metric": "slowdown"})
    assert row["reason"] == "12 of 12 points missing (12 without a number)"


@pytest.mark.parametrize(
    "where", [{"alpha": 3}, {"alpha": "2"}, {"alpha": {"min": 5}}, {"arrangement": 2}, {"arrangement": {"min": 0}}]
)
def test_conditions_that_nothing_fulfils_mean_not_run(two_by_two: Tables, where: dict[str, Any]) -> None:
    row = judged(two_by_two, (0, None), kind="value", where=where)
    assert (row["verdict"], row["reason"]) == ("not run", "no point of the study is selected")


def test_without_a_partner_nothing_is_compared(two_by_two: Tables) -> None:
    row = judged(
        two_by_two, (0, None), kind="contrast", of={"arrangement": "relative"}, against={"arrangement": "absolute"}
    )
    assert (row["verdict"], row["reason"]) == ("not run", "no two otherwise equal points to compare")


def test_a_division_by_zero_is_no_number() -> None:
    tables = make_tables([{"a": "x", "runtime_ns": 0.0}, {"a": "y", "runtime_ns": 1.0}])
    row = judged(tables, (0, None), kind="contrast", of={"a": "y"}, against={"a": "x"})
    assert row["verdict"] == "not run"


def test_the_verdict_on_a_claim_from_those_on_its_parts(two_by_two: Tables) -> None:
    def verdict(*ranges: tuple[float, float] | str, scope: str = "") -> str:
        parts = [
            {"statement": "x", "source_range": (0, None) if isinstance(one, str) else one,
             "measure": {**BASE, **PAIR, "where": {"alpha": 9} if isinstance(one, str) else {}}}
            for one in ranges
        ]  # fmt: skip
        claim = Claim.model_validate({"id": "1", "statement": "x", "source": "y", "parts": parts, "scope": scope})
        rows = judge([claim], two_by_two)
        assert len(rows) == len(ranges)
        return str(rows["claim_verdict"].unique().item())

    # Circulant over absolute at ratio 1 is 0.9, from 0.73 to 1 over the seeds.
    good, open_, bad, gone = (0.7, 1.0), (0.8, 1.0), (2.0, 3.0), "not there"
    assert verdict(good, good) == "reproduced"
    assert verdict(good, gone) == verdict(good, good, scope="one machine") == "reproduced in part"
    assert verdict(gone) == verdict(gone, gone) == verdict(gone, scope="one machine") == "not run"
    assert verdict(good, open_) == verdict(open_, gone) == verdict(open_, scope="one machine") == "undecided"
    assert verdict(good, bad) == verdict(gone, bad) == verdict(open_, bad) == verdict(bad, scope="one") == "differs"


def test_a_claim_without_parts_is_not_run_and_says_why(two_by_two: Tables) -> None:
    claim = Claim.model_validate({"id": "1", "statement": "x", "source": "y", "note": "needs the real machine"})
    row = judge([claim], two_by_two).to_dict("records")[0]
    assert (row["verdict"], row["reason"]) == ("not run", "needs the real machine")


times = st.lists(st.floats(1, 1e6), min_size=12, max_size=12)


@settings(max_examples=12, deadline=None)
@given(times)
def test_contrast_agrees_with_a_loop(values: list[float]) -> None:
    labels = list(itertools.product(("x", "y"), (1, 2), (1, 2, 3)))
    time = dict(zip(labels, values, strict=True))
    tables = make_tables([{"a": a, "b": b, "seed": s, "runtime_ns": t} for (a, b, s), t in time.items()])
    middle = {(a, b): float(np.median([time[a, b, s] for s in (1, 2, 3)])) for a in ("x", "y") for b in (1, 2)}
    expected = max(middle["x", b] / middle["y", b] for b in (1, 2))
    assert measured(tables, kind="contrast", of={"a": "x"}, against={"a": "y"}, reduce="max").value == pytest.approx(
        expected
    )


@settings(max_examples=6, deadline=None)
@given(times, st.floats(0.01, 100))
def test_ratios_do_not_depend_on_the_unit(values: list[float], factor: float) -> None:
    def found(scale: float) -> Measurement:
        rows = [{"a": i // 6, "b": i // 3 % 2, "seed": i % 3, "runtime_ns": t * scale} for i, t in enumerate(values)]
        return measured(make_tables(rows), kind="spread", over=["a"], form="ratio", reduce="max")

    assert found(factor).value == pytest.approx(found(1.0).value)
    assert found(1.0).value >= 1


@pytest.mark.parametrize("axis", ["value", "size", "max", "median", "count", "low", "twin", "against"])
def test_axes_may_have_any_name_that_is_no_column(axis: str) -> None:
    rows = [
        {axis: label, "routing": routing, "seed": seed, "runtime_ns": 10.0 * label + (routing == "valiant")}
        for label, routing, seed in itertools.product((1, 2), ("minimal", "valiant"), (1, 2, 3))
    ]
    tables = make_tables(rows)
    assert measured(tables, kind="spread", over="routing", form="ratio").value == pytest.approx(1.1)
    assert measured(tables, kind="spread", over=[axis, "seed"], form="ratio").value == pytest.approx(2.0)
    pair = {"of": {"routing": "valiant"}, "against": {"routing": "minimal"}}
    assert measured(tables, kind="contrast", **pair, reduce="min").at_labels == f"{axis} 2"
    assert measured(tables, kind="trend", **pair, along={axis: [1, 2]}).value == pytest.approx(1.05 / 1.1)
