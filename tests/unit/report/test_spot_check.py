"""What the page says of times that rest on an engine without packets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fabricstudy.report.findings import sentences
from fabricstudy.report.summaries import judged_unchecked, spot_check_summary
from fabricstudy.table.collect import collect
from fabricstudy.table.files import Tables

from ..table.test_collect import STUDY, planned, record, structures

ONE_JOB = {"jobs": STUDY["jobs"][:1], "slowdown": False, "spot_check": 10}


def tables_of(folder: Path, lost: str = "", **changes: Any) -> tuple[Any, Tables]:
    """Tables of a plan in which flow takes 0.9 of the time of the others; of one engine everything may be lost."""
    of = planned(folder, **{**ONE_JOB, **changes})
    found = [
        record(
            name, one.point, runtime_ns=0.9e6 if one.point.engine.kind == "flow" else 1e6, engine=one.point.engine.kind
        )
        for name, one in of.points.items()
        if one.point.engine.kind != lost
    ]
    return of.study, collect(of, found, structures(of))


def test_the_ratio_of_a_study_on_flow(tmp_path: Path) -> None:
    study, tables = tables_of(tmp_path, engine="flow")
    (says,) = spot_check_summary(tables)
    assert "8 points" in says and "0.9" in says and "packet" in says
    assert judged_unchecked(study, tables) == {"1": "flow"}
    # The check has no say in claims.
    assert tables.verdicts.empty and tables.claims["verdict"].tolist() == ["reproduced"]


def test_a_check_that_was_not_run_says_so(tmp_path: Path) -> None:
    _, tables = tables_of(tmp_path, engine="flow", lost="packet")
    (says,) = spot_check_summary(tables)
    assert "of the 8 points drawn" in says and "0.9" not in says


def test_only_points_that_are_done_count(tmp_path: Path) -> None:
    _, tables = tables_of(tmp_path, engine="flow", lost="flow")
    (says,) = spot_check_summary(tables)
    assert " 0 points" in says


def test_other_studies_need_no_check(tmp_path: Path) -> None:
    study, tables = tables_of(tmp_path)
    assert spot_check_summary(tables) == [] and judged_unchecked(study, tables) == {}


def test_a_study_that_compares_both_engines_needs_no_check(tmp_path: Path) -> None:
    engines = {**STUDY["sweep"], "engine": {"of": "engine", "values": ["packet", "flow"]}}
    _, tables = tables_of(tmp_path, sweep=engines, spot_check=0)
    assert spot_check_summary(tables) == []


def test_a_claim_on_two_engines_is_not_judged_by_flow_alone(tmp_path: Path) -> None:
    engines = {**STUDY["sweep"], "engine": {"of": "engine", "values": ["caminos", "flow"]}}
    study, tables = tables_of(tmp_path, sweep=engines)
    assert judged_unchecked(study, tables) == {} and set(tables.verdicts["engine"]) == {"caminos", "flow"}


def test_a_check_of_packet_is_told_and_its_claims_need_none(tmp_path: Path) -> None:
    study, tables = tables_of(tmp_path, engine="packet", check="engines")
    (says,) = spot_check_summary(tables)
    assert "on packet" in says and "those of caminos" in says and judged_unchecked(study, tables) == {}


def test_key_findings_count_each_pair_and_each_simulation_once(tmp_path: Path) -> None:
    """Of 3 engines one simulates nothing; the pairs that are checked are pairs of the study already."""
    engines = {**STUDY["sweep"], "engine": {"of": "engine", "values": ["caminos", "flow", "analysis"]}}
    _, tables = tables_of(tmp_path, sweep=engines)
    assert (tables.points["experiment"] == "(spot check)").any()
    by_engine = tables.points.drop_duplicates("point_id")["engine"].value_counts()
    words = " ".join(sentences(tables, None))
    assert f"0.9 in the median (0.9 to 0.9, {by_engine['flow']} jobs)" in words
    assert f"{by_engine.drop('analysis').sum()} simulations of" in words
    assert f"{by_engine['analysis']} points without simulation" in words
