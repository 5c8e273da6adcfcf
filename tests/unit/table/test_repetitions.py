"""Seeds until a result is precise or decided: coverage of the intervals, and which points a second stage simulates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy import stats

from fabricstudy.core.columns import NOT_NEEDED
from fabricstudy.core.errors import ConfigError
from fabricstudy.report.repetitions import repetition_sentences
from fabricstudy.study.file import load_study
from fabricstudy.study.plan import Plan, plan
from fabricstudy.study.seeds import Seeds
from fabricstudy.table.collect import collect
from fabricstudy.table.repetitions import (
    Combination,
    Order,
    look_interval,
    needed_points,
    stein_interval,
    stein_seeds,
)

from .test_collect import STUDY, record

STUDIES = 10_000
FIRST, MOST = 5, 30


def drawn(seed: int, draw: Callable[[np.random.Generator], Any]) -> Any:
    return draw(np.random.default_rng(seed))


DISTRIBUTIONS: dict[str, tuple[Callable[[np.random.Generator], Any], float | None]] = {
    "lognormal": (lambda random: np.exp(random.normal(0, 0.05, (STUDIES, MOST))), 0.0),
    "skewed": (lambda random: np.exp(random.normal(0, 0.6, (STUDIES, MOST))), 0.0),
    "slowest of eight": (lambda random: 1 + 0.05 * random.normal(0, 1, (STUDIES, MOST, 8)).max(axis=-1), None),
    "ties": (lambda random: np.round(random.normal(1, 0.02, (STUDIES, MOST)), 2), None),
}
"""Runtimes, and the logarithm of their geometric mean; None if it is estimated from all of them."""


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_an_interval_of_two_stages_has_its_coverage(name: str) -> None:
    draw, logarithm = DISTRIBUTIONS[name]
    times = drawn(1, draw)
    mean = np.exp(np.log(times).mean() if logarithm is None else logarithm)
    covered, widths = 0, []
    for row in times:
        interval = stein_interval(row[: stein_seeds(row[:FIRST], 0.03, MOST)], FIRST)
        covered += interval.low <= mean <= interval.high
        widths.append(interval.half_width)
    assert 0.94 <= covered / STUDIES <= 0.96
    if name != "skewed":
        assert np.mean(np.array(widths) <= 0.03 + 1e-9) > 0.3


def test_the_seeds_are_the_fewest_that_are_precise_enough() -> None:
    random = np.random.default_rng(2)
    for row in random.lognormal(0, 0.03, (300, MOST)):
        seeds = stein_seeds(row[:FIRST], 0.03, 1000)
        spread = stein_interval(row[:FIRST], FIRST).half_width
        half = np.log1p(spread) * np.sqrt(FIRST)  # of one seed
        assert half / np.sqrt(seeds) <= np.log1p(0.03) * (1 + 1e-9)
        assert seeds == FIRST or half / np.sqrt(seeds - 1) > np.log1p(0.03)


def test_a_decision_after_either_stage_is_wrong_in_a_twentieth_at_most() -> None:
    """Of two equal values, each stage may find one faster."""
    random = np.random.default_rng(3)
    wrong = 0
    for left, right in zip(*random.lognormal(0, 0.05, (2, STUDIES, MOST)), strict=True):
        ratios = left / right
        wrong += look_interval(ratios[:FIRST]).excludes_one or look_interval(ratios).excludes_one
    assert 0.04 <= wrong / STUDIES <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / STUDIES)


def test_pairs_by_seed_are_narrower_where_seeds_determine_both() -> None:
    random = np.random.default_rng(4)
    placement = random.lognormal(0, 0.1, MOST)
    left, right = placement * random.lognormal(0, 0.01, MOST), 1.03 * placement * random.lognormal(0, 0.01, MOST)
    assert look_interval(left / right).excludes_one
    assert not look_interval(left / np.roll(right, 1)).excludes_one


def planned(folder: Path, **changes: Any) -> Plan:
    file = folder / "study.yaml"
    keys = {**STUDY, "slowdown": False, "claims": [], **changes}
    file.write_text(yaml.safe_dump({key: value for key, value in keys.items() if value is not None}, sort_keys=False))
    return plan(load_study(file))


def simulated(study: Plan, time_ns: Callable[[Any], float]) -> list[dict[str, Any]]:
    return [record(name, planned.point, runtime_ns=time_ns(planned.point)) for name, planned in study.points.items()]


def noisy(point: Any) -> float:
    """Only the circulant arrangement varies between seeds; Valiant takes twice as long (see `record`)."""
    random = np.random.default_rng([point.seed, point.routing.kind == "valiant"])
    return 1e6 * float(random.lognormal(0, 0.02 if point.machine.arrangement == "circulant" else 0))


def first_stage(study: Plan, time_ns: Callable[[Any], float]) -> Any:
    first = study.without(study.second_stage)
    return collect(first, simulated(first, time_ns), [])


def seeds_of(study: Plan, points: set[str]) -> dict[tuple[str, str], int]:
    counted: dict[tuple[str, str], int] = {}
    for row in study.rows:
        if row.point_id in points:
            key = (str(row.labels["arrangement"]), str(row.labels["routing"]))
            counted[key] = counted.get(key, 0) + 1
    return counted


def test_a_precision_repeats_only_what_varies(tmp_path: Path) -> None:
    study = planned(tmp_path, seeds={"from": 5, "to": 30, "until": "0.5 %"})
    assert len(study.points) == 4 * 30 and len(study.second_stage) == 4 * 25
    needed = seeds_of(study, needed_points(study, first_stage(study, noisy)))
    assert needed["absolute", "minimal"] == needed["absolute", "valiant"] == 5
    for routing in ("minimal", "valiant"):
        points: list[Any] = [planned.point for planned in study.points.values()]
        times = np.array([
            noisy(point) for point in points
            if point.seed <= 5 and (point.machine.arrangement, point.routing.kind) == ("circulant", routing)
        ])  # fmt: skip
        assert needed["circulant", routing] == stein_seeds(times, 0.005, 30) > 5


def test_an_order_that_is_decided_is_not_repeated(tmp_path: Path) -> None:
    study = planned(tmp_path, seeds={"from": 5, "to": 12, "until": "decided", "decide": ["routing"]})
    assert set(seeds_of(study, needed_points(study, first_stage(study, noisy))).values()) == {5}
    study = planned(tmp_path, seeds={"from": 5, "to": 12, "until": "decided", "decide": ["arrangement"]})
    needed = seeds_of(study, needed_points(study, first_stage(study, noisy)))
    assert set(needed.values()) == {12}, "a noise of 2 % around the same mean is not decided"


@pytest.mark.parametrize("difference", [0.0, 0.008, 0.02])
def test_the_seeds_to_decide_an_order_are_the_fewest_that_do(difference: float) -> None:
    """Seeds with the same mean and variance are made by hand: a value above the mean for each one below."""
    deviations = np.array([0.02, -0.02] * 3)
    rule = Seeds.model_validate({"from": 5, "to": 30, "until": "decided", "decide": ["routing"]})
    left, right = (
        Combination("", {"routing": name}, np.exp(logarithms), 1.0, rule)
        for name, logarithms in (("a", difference + deviations), ("b", 0 * deviations))
    )
    spread = deviations.std(ddof=1)
    brute = next(
        (
            seeds for seeds in range(6, 300)
            if stats.t.interval(0.975, seeds - 1, difference, spread / np.sqrt(seeds))[0] > 0
        ),
        300,
    )  # fmt: skip
    order = Order("routing", left, right)
    assert order.seeds_needed == brute
    assert order.is_decided == (brute == 6)


@pytest.mark.parametrize(("is_noisy", "without_noise"), [(False, 4), (True, 2)])
def test_a_combination_without_noise_is_named(tmp_path: Path, is_noisy: bool, without_noise: int) -> None:
    """An engine without noise (all four), and noise in two of four combinations only."""
    study = planned(tmp_path, seeds={"from": 5, "to": 12, "until": "2 %"})
    tables = first_stage(study, noisy if is_noisy else lambda point: 1e6)
    assert (tables.repetitions["outcome"] == "no variation").sum() == without_noise
    assert f"{without_noise} combinations; one seed" in next(repetition_sentences(study.study, tables))
    second = needed_points(study, tables) & set(study.second_stage)
    assert is_noisy or not second


def test_the_cost_of_an_undecided_order_is_stated(tmp_path: Path) -> None:
    study = planned(tmp_path, seeds={"from": 5, "to": 12, "until": "decided", "decide": ["arrangement"]})
    tables = first_stage(study, noisy)
    rows = tables.repetitions
    assert (rows["seeds_needed"] > rows["seeds"]).all() and (rows["more_cpu_s"] > 0).all()
    more = int((rows["seeds_needed"] - rows["seeds"]).sum())
    assert str(more) in next(repetition_sentences(study.study, tables)).replace(",", "")


def test_an_undecided_claim_repeats_the_points_it_selects(tmp_path: Path) -> None:
    measure = {"kind": "contrast", "metric": "runtime_ns", "where": {"routing": "minimal"}, "reduce": "min",
               "of": {"arrangement": "circulant"}, "against": {"arrangement": "absolute"}}  # fmt: skip
    part = {"statement": "circulant over absolute", "source_range": [1, None], "measure": measure}
    claims = [{"id": "1", "statement": "Absolute is faster.", "source": "us", "parts": [part]}]
    study = planned(tmp_path, seeds={"from": 5, "to": 12, "until": "decided"}, claims=claims)
    needed = seeds_of(study, needed_points(study, first_stage(study, noisy)))
    assert {name for name, count in needed.items() if count == 12} == {
        ("absolute", "minimal"),
        ("circulant", "minimal"),
    }
    assert set(needed.values()) == {5, 12}


def test_an_undecided_claim_may_select_whole_numbers_of_an_axis_that_other_experiments_lack(tmp_path: Path) -> None:
    seeds = {"from": 5, "to": 12, "until": "decided"}
    arrangement = STUDY["sweep"]["arrangement"]
    cores = {"of": "machine.cores_per_node", "values": [2, 4]}
    experiments = {
        "cores": {"seeds": seeds, "sweep": {"arrangement": arrangement, "cores": cores}},
        "routings": {"seeds": seeds, "sweep": STUDY["sweep"]},
    }
    measure = {"kind": "contrast", "experiment": "cores", "metric": "runtime_ns", "where": {"cores": 4},
               "reduce": "min", "of": {"arrangement": "circulant"}, "against": {"arrangement": "absolute"}}  # fmt: skip
    part = {"statement": "circulant over absolute", "source_range": [1, None], "measure": measure}
    claims = [{"id": "1", "statement": "Absolute is faster.", "source": "us", "parts": [part]}]
    study = planned(tmp_path, experiments=experiments, sweep=None, seeds=None, slowdown=None, claims=claims)
    second = needed_points(study, first_stage(study, noisy)) & set(study.second_stage)
    repeated = {(row.experiment, row.labels.get("cores")) for row in study.rows if row.point_id in second}
    assert repeated == {("cores", 4)}


def test_a_budget_limits_the_second_stage(tmp_path: Path) -> None:
    seeds = {"from": 5, "to": 30, "until": "1 %"}
    unlimited = planned(tmp_path, seeds=seeds)
    tables = first_stage(unlimited, noisy)
    more = {key: count - 5 for key, count in seeds_of(unlimited, needed_points(unlimited, tables)).items() if count > 5}
    cpu_s = float(tables.points["cpu_s"].iloc[0])
    limited = planned(tmp_path, seeds={**seeds, "budget": f"{min(more.values()) * cpu_s + 0.001} CPU-seconds"})
    counted = seeds_of(limited, needed_points(limited, first_stage(limited, noisy)))
    assert sorted(counted.values())[-2:] == [5, min(more.values()) + 5]


def test_tables_have_only_what_was_needed(tmp_path: Path) -> None:
    study = planned(tmp_path, seeds={"from": 5, "to": 30, "until": "1 %"})
    needed = needed_points(study, first_stage(study, noisy))
    records = [
        line if line["point_id"] in needed else {"point_id": line["point_id"], "status": NOT_NEEDED, "reason": None}
        for line in simulated(study, noisy)
    ]
    tables = collect(study, records, [])
    assert set(tables.points["point_id"]) == needed
    rows = tables.repetitions.set_index(["arrangement", "routing"])
    assert rows.loc[("absolute", "minimal"), "outcome"] == "no variation"
    assert rows.loc[("circulant", "minimal"), "seeds"] == seeds_of(study, needed)["circulant", "minimal"]
    precise = rows[rows["outcome"] == "precise"]
    assert (precise["half_width"] <= 0.01 + 1e-9).all() and (precise["seeds"] == precise["seeds_needed"]).all()


@pytest.mark.parametrize(
    "seeds, path",
    [
        ({"from": 5, "to": 3, "until": "2 %"}, "seeds.to"),
        ({"from": 5, "to": 30}, "seeds"),
        ({"from": 1, "to": 30, "until": "2 %"}, "seeds.from"),
        ({"from": 5, "to": 30, "until": "0 %"}, "seeds.until"),
        ({"from": 5, "to": 30, "until": 2}, "seeds.until"),
        ({"from": 5, "to": 30, "until": "2 %", "budget": "0 h"}, "seeds.budget"),
        ({"from": 5, "to": 30, "until": "2 %", "decide": ["routing"]}, "seeds.decide"),
        ({"from": 5, "to": 30, "until": "decided", "decide": ["color"]}, "seeds.decide.0"),
        ({"from": 5, "to": 30, "until": "decided"}, "seeds.until"),
        ({"list": [1, 2], "to": 30}, "seeds"),
        (0, "seeds"),
        ([1, 1], "seeds.1"),
    ],
)
def test_wrong_seeds_are_refused(tmp_path: Path, seeds: Any, path: str) -> None:
    with pytest.raises(ConfigError) as caught:
        planned(tmp_path, seeds=seeds)
    assert caught.value.path == path
