"""What the page says of the same points on two engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricstudy.report.summaries import differences, ratios, slowdown_ratios, slowdowns, verdict_rows
from fabricstudy.table.collect import collect

from ..table.test_collect import ENGINES, STUDY, on_two_engines, planned, records, structures


def test_two_engines(tmp_path: Path) -> None:
    of = planned(tmp_path, slowdown=False, sweep=ENGINES)
    tables = collect(of, on_two_engines(of, valiant=0.5), structures(of))
    (row,) = ratios(tables).rows
    # Eight points of two jobs; a point took two seconds on either engine.
    assert row[:6] == ["main", "sst / caminos", "8", "0.5", "1.25", "2"]
    assert row[-1] == "8 / 8"
    judged = verdict_rows(tables)
    assert judged.head[3:] == ("caminos", "sst", "same verdict")
    assert judged.rows[0][3:] == ["2, reproduced", "0.5, differs", "no"]


def test_a_claim_that_one_engine_has_not_run(tmp_path: Path) -> None:
    of = planned(tmp_path, slowdown=False, sweep=ENGINES)
    found = on_two_engines(of)
    lost = next(record for record in found if record["engine"] == "sst")
    lost |= {"status": "failed", "jobs": [], "links": []}
    assert verdict_rows(collect(of, found, structures(of))).rows[0][4:] == ["not run", "\N{EN DASH}"]


def test_known_reasons_are_those_of_the_points(tmp_path: Path) -> None:
    groups = {"of": "routing", "values": {"minimal": "minimal", "valiant": {"kind": "valiant", "via": "group"}}}
    of = planned(tmp_path, slowdown=False, sweep={**ENGINES, "routing": groups})
    told = differences(of, collect(of, on_two_engines(of), structures(of)))
    says = " ".join(text for _, text in told)
    assert {engine for engine, _ in told} == {"caminos", "sst"}
    assert "detour leads through a group" in says
    assert "Firefly's costs" not in says and "ring" not in says and "UGAL" not in says


RINGS = {"kind": "torus", "shape": [4, 3], "cores_per_node": 2, "bandwidth": "1 GB/s"}


@pytest.mark.parametrize(
    ("machine", "routing", "told", "untold"),
    [
        (STUDY["machine"], "valiant", "On a dragonfly, Valiant", "Half-way"),
        (RINGS, "dimension-order", "Half-way round a ring all packets use the same", "On a dragonfly"),
        (RINGS | {"kind": "mesh"}, "dimension-order", "one virtual channel", "Half-way"),
        (RINGS | {"kind": "torus", "shape": [5, 3]}, "dimension-order", "one virtual channel", "Half-way"),
        (
            {**RINGS, "kind": "express-mesh", "shape": [8], "gap": 3},
            "dimension-order",
            "the express link or the short link",
            "Half-way",
        ),
        (
            {**RINGS, "kind": "express-mesh", "shape": [8], "gap": 1},
            "dimension-order",
            "one virtual",
            "the express link or the short link",
        ),
    ],
)
def test_known_reasons_of_codes(tmp_path: Path, machine: Any, routing: str, told: str, untold: str) -> None:
    jobs = [{"share": 1.0, "pattern": {"kind": "ring", "message": "1 kB"}}]
    sweep = {"engine": ["caminos", "codes"]}
    of = planned(
        tmp_path, slowdown=False, machine=machine, routing=routing, jobs=jobs, sweep=sweep, claims=[], figures=[]
    )
    found = differences(of, collect(of, on_two_engines(of), structures(of)))
    says = " ".join(text for engine, text in found if engine == "codes")
    assert told in says and untold not in says


def test_one_engine_has_nothing_to_agree_with(tmp_path: Path) -> None:
    of = planned(tmp_path, slowdown=False)
    tables = collect(of, records(of).values(), structures(of))
    assert not ratios(tables).rows and not verdict_rows(tables).rows and not differences(of, tables)


def test_slowdowns_of_engines_stand_side_by_side(tmp_path: Path) -> None:
    of = planned(tmp_path, sweep=ENGINES)
    tables = collect(of, on_two_engines(of), structures(of))
    (row,) = slowdown_ratios(tables).rows
    assert row[:6] == ["main", "sst / caminos", "8", "1", "1", "1"]
    each = slowdowns(tables)
    assert each.head == ("experiment", "job", "caminos", "sst")
    # Two routings and two jobs, medians over two seeds.
    assert len(each.rows) == 4
    assert all(line[2] == line[3] != "" for line in each.rows)


def test_without_slowdowns_there_is_no_such_table(tmp_path: Path) -> None:
    of = planned(tmp_path, slowdown=False, sweep=ENGINES)
    tables = collect(of, on_two_engines(of), structures(of))
    assert not slowdown_ratios(tables).rows and not slowdowns(tables).rows
