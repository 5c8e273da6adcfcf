"""What the page says of times that rest on an engine without packets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fabricstudy.engine.caminos import phit_bytes
from fabricstudy.report.findings import sentences
from fabricstudy.report.summaries import judged_unchecked, resolution_check_summary, spot_check_summary
from fabricstudy.table.collect import collect
from fabricstudy.table.files import Tables

from ..table.test_collect import STUDY, planned, record, structures

ONE_JOB = {"jobs": STUDY["jobs"][:1], "slowdown": False}


def tables_of(folder: Path, lost: str = "", **changes: Any) -> tuple[Any, Tables]:
    """Tables of a plan in which flow takes 0.9 of the time of CAMINOS; of one engine everything may be lost."""
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
    assert "8 points" in says and "0.9" in says and "caminos" in says
    assert judged_unchecked(study, tables) == {"1": "flow"}
    # The check has no say in claims.
    assert tables.verdicts.empty and tables.claims["verdict"].tolist() == ["reproduced"]


def test_a_check_that_was_not_run_says_so(tmp_path: Path) -> None:
    _, tables = tables_of(tmp_path, engine="flow", lost="caminos")
    (says,) = spot_check_summary(tables)
    assert "of the 8 points drawn" in says and "0.9" not in says


def test_only_points_that_are_done_count(tmp_path: Path) -> None:
    _, tables = tables_of(tmp_path, engine="flow", lost="flow")
    (says,) = spot_check_summary(tables)
    assert " 0 points" in says


def test_other_studies_need_no_check(tmp_path: Path) -> None:
    study, tables = tables_of(tmp_path)
    assert spot_check_summary(tables) == [] and judged_unchecked(study, tables) == {}


def test_a_claim_on_two_engines_is_not_judged_by_flow_alone(tmp_path: Path) -> None:
    engines = {**STUDY["sweep"], "engine": {"of": "engine", "values": ["caminos", "flow"]}}
    study, tables = tables_of(tmp_path, sweep=engines)
    assert judged_unchecked(study, tables) == {} and set(tables.verdicts["engine"]) == {"caminos", "flow"}


def test_key_findings_count_each_pair_and_each_simulation_once(tmp_path: Path) -> None:
    """Of 3 engines one simulates nothing; the pairs that are checked are pairs of the study already."""
    engines = {**STUDY["sweep"], "engine": {"of": "engine", "values": ["caminos", "flow", "analysis"]}}
    _, tables = tables_of(tmp_path, sweep=engines)
    assert (tables.points["experiment"] == "(spot check)").any()
    by_engine = tables.points.drop_duplicates("point_id")["engine"].value_counts()
    words = " ".join(sentences(tables, None))
    assert f"0.9 in the median (0.9 to 0.9, {by_engine['flow']} jobs)" in words
    assert f"{by_engine['flow'] + by_engine['caminos']} simulations of" in words
    assert f"{by_engine['analysis']} points without simulation" in words


def test_points_whose_times_change_with_the_phit_are_named(tmp_path: Path) -> None:
    """Half of the phit takes 1 % less, and under Valiant 10 % less."""
    of = planned(tmp_path, **ONE_JOB, check="resolution")
    found = []
    for name, one in of.points.items():
        fine = one.point.engine.inherited_phit_bytes is not None  # type: ignore[attr-defined]
        gain = 0.9 if one.point.routing.kind == "valiant" else 0.99
        found.append(
            record(name, one.point, runtime_ns=1e6 * (gain if fine else 1.0), engine="caminos")
            | {"phit_bytes": phit_bytes(one.point)}
        )
    tables = collect(of, found, structures(of))
    (says,) = resolution_check_summary(tables)
    valiant = tables.points.loc[(tables.points["routing"] == "valiant"), ["point_id", "phit_bytes"]]
    coarse = valiant.loc[valiant["phit_bytes"] == valiant["phit_bytes"].max(), "point_id"].unique()
    assert len(coarse) and all(f"{name} (+11.1%)" in says for name in coarse)
    assert says.count("(+") == len(coarse) and "11.1% at most" in says
    assert resolution_check_summary(tables_of(tmp_path)[1]) == []
