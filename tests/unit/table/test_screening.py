"""Screening: which combinations are simulated, and how often the fastest one is missed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from fabricstudy.core.columns import NOT_NEEDED, SCREENING
from fabricstudy.core.errors import ConfigError
from fabricstudy.structure.pareto import is_pareto_efficient
from fabricstudy.study.file import load_study
from fabricstudy.study.plan import Plan, plan
from fabricstudy.study.screening import Screen, sampled
from fabricstudy.table.collect import collect
from fabricstudy.table.repetitions import needed_points
from fabricstudy.table.screening import Screened, screened_points, screening_table

from .test_collect import STUDY, record

BANDWIDTHS = [round(0.5 + 0.05 * step, 2) for step in range(40)]


def planned(folder: Path, **changes: Any) -> Plan:
    sweep = {
        "alpha": {"of": "machine.bandwidth.global", "values": {value: f"{value} GB/s" for value in BANDWIDTHS}},
        "message": {"of": "jobs.0.pattern.message", "values": ["1 kB", "100 kB"]},
    }
    whole = {**STUDY, "engine": "packet", "sweep": sweep, "slowdown": False, "claims": [], "seeds": 2,
             "screen": {"with": "flow", "keep": "10 %", "sample": 10}, **changes}  # fmt: skip
    file = folder / "study.yaml"
    file.write_text(yaml.safe_dump(whole, sort_keys=False))
    return plan(load_study(file))


def time_ns(point: Any) -> float:
    """A time that falls with the bandwidth; packets take 1.2 times as long, with an error of 2 %."""
    exact = 1e9 / point.machine.bandwidth.global_Bps
    error = np.random.default_rng([int(exact * 1e6), point.seed]).normal(0, 0.02)
    return float(1e6 * exact * (1.2 * np.exp(error) if point.engine.kind == "packet" else 1))


def records(study: Plan) -> list[dict[str, Any]]:
    return [record(name, point.point, runtime_ns=time_ns(point.point)) for name, point in study.points.items()]


def test_the_fastest_and_those_that_may_be_are_simulated(tmp_path: Path) -> None:
    study = planned(tmp_path)
    assert len(study.points) == 2 * 40 * 2 + 2 * 40
    assert len(study.second_stage) == 2 * 40 * 2 - 10 * 2
    first = study.without(study.second_stage)
    needed = screened_points(study, collect(first, records(first), []))
    all_records = [
        line if line["point_id"] in needed or line["point_id"] not in study.second_stage
        else {"point_id": line["point_id"], "status": NOT_NEEDED, "reason": None}
        for line in records(study)
    ]  # fmt: skip
    tables = collect(study, all_records, [])
    rows = tables.screening
    assert len(rows) == 2 * 40 and set(rows["message"]) == {"1 kB", "100 kB"}
    for _, part in rows.groupby("message"):
        kept = part[part["outcome"] == "among the fastest"]
        assert len(kept) == 4 and kept["estimate_ns"].max() <= part["estimate_ns"].nsmallest(4).max()
        maybe = part[part["outcome"] == "possibly the fastest"]
        assert (maybe["miss_probability"] > 0.05).all()
        assert (part.loc[part["outcome"] == "not simulated", "miss_probability"] <= 0.05).all()
    simulated = tables.points[~tables.points["experiment"].isin([SCREENING])]
    assert len(simulated) == 2 * (rows["outcome"] != "not simulated").sum() < 2 * 2 * 40
    assert rows["ratio"].dropna().between(1.1, 1.3).all()


@pytest.mark.parametrize("front", [False, True])
def test_the_stated_probability_holds(front: bool) -> None:
    """Of many combinations with a true error, the fastest, or one on the front, is dropped as rarely as stated."""
    random = np.random.default_rng(1)
    screen = Screen.model_validate({"keep": "1 %", "sample": 20, **({"or": "front"} if front else {})})
    dropped, simulations, stated = 0, 0, 0.0
    for _ in range(2000):
        estimates = random.uniform(1, 2, 60)
        errors = random.normal(0.1, 0.05, 80)
        price = random.integers(1, 20, 60) if front else np.full(60, np.nan)
        rows = pd.DataFrame({"estimate_ns": estimates, "sampled": False, "price_per_node": price})
        group = Screened("main", screen, rows, errors[60:])
        simulated = np.array(group.outcomes) != "not simulated"
        true = np.log(estimates) + errors[:60]
        best = is_pareto_efficient(np.column_stack([price, true])) if front else true == true.min()
        dropped += (best & ~simulated).sum()
        simulations += simulated.sum()
        stated += group.miss_probability[~simulated].sum()
    assert 0 < dropped <= stated and simulations < 2000 * 60 / (2 if front else 3)


def test_a_front_has_what_is_faster_than_all_that_is_no_dearer(tmp_path: Path) -> None:
    """By hand: the price rises with the bandwidth, and the time falls, so that all are on the front."""
    machines = {"any": STUDY["machine"]}
    study = planned(
        tmp_path, screen={"with": "flow", "keep": "3 %", "sample": 10, "or": "front"},
        analyses={"bill": {"kind": "cost", "machines": machines}},
    )  # fmt: skip
    first = study.without(study.second_stage)
    rows = screening_table(study, collect(first, records(first), []))
    # Bandwidth has a price, so that the cheapest design is on the front, and each faster one, too.
    assert rows.groupby("message")["price_per_node"].nunique().tolist() == [40, 40]
    assert (rows["outcome"] == "nearest to the front").all() and (rows["over_fastest"] == 1).all()


def test_of_a_screening_with_adaptive_seeds_the_sample_has_few_and_the_others_all(tmp_path: Path) -> None:
    """Seeds differ by 2 %: a precision of 50 % needs the first three of the sample, and the rest has all five."""
    study = planned(tmp_path, seeds={"from": 3, "to": 5, "until": "50 %"})
    first = study.without(study.second_stage)
    tables = collect(first, records(first), [])
    assert set(tables.points.groupby("experiment").size()) == {10 * 3, 2 * 40}
    needed = screened_points(study, tables) | needed_points(study, tables)
    seeds = Counter[tuple[object, ...]](tuple(row.labels.values()) for row in study.rows if row.point_id in needed)
    drawn = sampled(study.study.all_experiments["main"].screen or Screen(), study.rows)
    assert {seeds[labels] for labels in drawn} == {3}
    assert len(seeds) > len(drawn) and {count for labels, count in seeds.items() if labels not in drawn} == {5}


@pytest.mark.parametrize(
    "changes, path",
    [
        ({"screen": {"with": "sst"}}, "screen.with"),
        ({"screen": {"keep": "60 %"}}, "screen.keep"),
        ({"screen": {"or": "price"}}, "screen.or"),
        ({"screen": {"or": "front"}}, "screen.or"),
        ({"seeds": {"from": 3, "to": 5, "until": "2 %", "budget": "1 h"}}, "seeds.budget"),
        ({"sweep": {"engine": ["packet", "flow"]}}, "screen"),
    ],
)
def test_a_wrong_screening_is_refused(tmp_path: Path, changes: dict[str, Any], path: str) -> None:
    with pytest.raises(ConfigError) as caught:
        planned(tmp_path, **changes)
    assert caught.value.path == path
