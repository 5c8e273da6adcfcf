"""Old tables against new ones."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricstudy import cli
from fabricstudy.artifact.compare import FLOAT_TOLERANCE, TOLERANCE, compare, relative_difference
from fabricstudy.artifact.completed_study import ArtifactError
from fabricstudy.core.columns import names_of

from .conftest import STUDY, Ran, run_in

ROW = "main, alpha 0.5, routing valiant, seed 1, engine caminos"


def scale(column: str, row: int, factor: float) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def change(frame: pd.DataFrame) -> pd.DataFrame:
        frame[column] *= np.where(frame.index == row, factor, 1)
        return frame

    return change


def test_two_equal_runs_agree(ran: Ran, again: Ran) -> None:
    found = compare(ran.base, again.base)
    assert found.agrees
    assert {name: table.rows for name, table in found.tables.items()} == {
        "points": 8, "jobs": 8, "marks": 0, "operations": 0, "messages": 0,
        "latency": 0, "links": 0, "interference": 0, "machines": 2, "repetitions": 0, "orders": 0, "screening": 0,
        "agreement": 0, "predictors": 0, "claims": 1, "verdicts": 0, "link_loads": 0, "schedules": 0, "size_classes": 0,
        "partition_lists": 0, "scheduled_jobs": 0,
    }  # fmt: skip
    # All columns of a job but experiment, seed, engine, point and number, which tell it apart.
    assert len(found.tables["jobs"].values) == 8 * (len(names_of("jobs")) - 5)
    assert found.verdicts.to_dict("records") == [{"claim": "c1", "old": "reproduced", "new": "reproduced"}]


@pytest.mark.parametrize("tolerance", ["nan", "inf", "-1"])
def test_a_tolerance_that_is_none_is_a_wrong_call(tolerance: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compare", "a", "b", "--json", "--tolerance", tolerance]) == 2
    assert json.loads(capsys.readouterr().out)["errors"][0]["code"] == "usage"


def test_the_tables_that_are_compared_are_not_overwritten(
    ran: Ran, again: Ran, capsys: pytest.CaptureFixture[str]
) -> None:
    table = next(again.base.rglob("points.csv"), None) or next(again.base.rglob("points.parquet"))
    before = table.read_bytes()
    assert cli.main(["compare", str(ran.base), str(again.base), "--csv", str(table), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["errors"][0]["code"] == "invalid-value"
    assert table.read_bytes() == before


@pytest.mark.parametrize("text", [b"", b"garbled\n", b"\xff\n", f"{'0' * 64}  elsewhere/points.csv\n".encode()])
def test_a_list_of_checksums_that_names_nothing_is_told(ran: Ran, again: Ran, text: bytes) -> None:
    (again.base / "SHA256SUMS").write_bytes(text)
    with pytest.raises(ArtifactError, match="SHA256SUMS"):
        compare(ran.base, again.base)


def test_where_and_when_it_ran_does_not_matter(ran: Ran, again: Ran) -> None:
    again.change("points", lambda points: points.assign(host="elsewhere", cpu_s=1.0, wall_s=2.0, started="2027-01-01"))
    again.change("points", lambda points: points.assign(memory_bytes=5, overhead_cpu_s=0.0, fingerprint="other"))
    assert compare(ran.base, again.base).agrees


@pytest.mark.parametrize(
    ("factor", "agrees"), [(1 + 1e-12, True), (1 + 2e-9, False), (1.04, False), (0.5, False), (-1, False)]
)
def test_the_same_version_has_to_repeat_exactly(ran: Ran, again: Ran, factor: float, agrees: bool) -> None:
    again.change("jobs", scale("hop_bytes", 2, factor))
    found = compare(ran.base, again.base)
    assert found.agrees == agrees
    rows = list(found.tables["jobs"].differing[["row", "column"]].itertuples(index=False, name=None))
    point = ran.plan.rows[2].point_id
    assert rows == ([] if agrees else [(f"{ROW}, point_id {point}, job 0", "hop_bytes")])


@pytest.mark.parametrize(
    ("factor", "tolerance", "agrees"), [(1.04, 0.05, True), (1.06, 0.05, False), (1.06, 0.1, True), (1.001, 0, False)]
)
def test_another_version_may_differ_a_little(
    ran: Ran, other: Ran, factor: float, tolerance: float, agrees: bool
) -> None:
    other.change("jobs", scale("runtime_ns", 2, factor))
    found = compare(ran.base, other.base, tolerance)
    assert found.versions == {"caminos": ("1.0", "2.0")}
    assert found.agrees == agrees


def test_machines_are_exact_whatever_the_engine(ran: Ran, other: Ran) -> None:
    other.change("machines", scale("mean_hops", 0, 1.001))
    differing = compare(ran.base, other.base).tables["machines"].differing
    assert differing["column"].tolist() == ["mean_hops"]


def test_counts_are_exact(ran: Ran, again: Ran) -> None:
    again.change("jobs", lambda jobs: jobs.assign(bytes=jobs["bytes"].where(jobs.index != 5, 24_001)))
    differing = compare(ran.base, again.base).tables["jobs"].differing
    assert differing[["column", "old", "new"]].to_numpy().tolist() == [["bytes", 24_000, 24_001]]


def test_a_missing_value_differs_from_a_number(ran: Ran, again: Ran) -> None:
    again.change("jobs", lambda jobs: jobs.assign(hop_bytes=jobs["hop_bytes"].where(jobs.index != 5)))
    (differing,) = compare(ran.base, again.base).tables["jobs"].differing.to_dict("records")
    assert (differing["old"], differing["new"]) == (3e5, None) and math.isinf(differing["difference"])


def test_missing_and_extra_rows_are_named(ran: Ran, again: Ran) -> None:
    again.change("jobs", lambda jobs: jobs.drop(index=2))
    found = compare(ran.base, again.base).tables["jobs"]
    assert found.rows == 7 and not found.agrees
    assert found.missing == (f"{ROW}, point_id {ran.plan.rows[2].point_id}, job 0",) and not found.extra
    found = compare(again.base, ran.base).tables["jobs"]
    assert len(found.extra) == 1 and not found.missing


def test_columns_and_tables_of_a_later_version_are_told(ran: Ran, again: Ran) -> None:
    again.change("jobs", lambda jobs: jobs.drop(columns="waiting_ns"))
    (again.tables / "marks.parquet").unlink()
    found = compare(again.base, ran.base)
    assert found.agrees and found.tables["marks"].rows == 0
    assert (found.tables["jobs"].only_old, found.tables["jobs"].only_new) == ((), ("waiting_ns",))
    assert compare(ran.base, again.base).tables["jobs"].only_old == ("waiting_ns",)


def test_rows_of_a_table_that_the_other_run_does_not_have_are_missing(ran: Ran, again: Ran) -> None:
    (again.tables / "machines.parquet").unlink()
    assert len(compare(ran.base, again.base).tables["machines"].missing) == 2
    assert len(compare(again.base, ran.base).tables["machines"].extra) == 2


def test_a_row_that_stands_twice_is_extra(ran: Ran, again: Ran) -> None:
    again.change("jobs", lambda jobs: pd.concat([jobs, jobs[:1]], ignore_index=True))
    (extra,) = compare(ran.base, again.base).tables["jobs"].extra
    assert extra.endswith("#2")


def test_other_physics_are_other_rows(ran: Ran, tmp_path: Path) -> None:
    jobs = [{"share": 1.0, "pattern": {"kind": "ring", "message": "2 kB"}}]
    other = run_in(tmp_path / "other", jobs=jobs)
    found = compare(ran.base, other.base).tables["points"]
    assert (found.rows, len(found.missing), len(found.extra)) == (0, 8, 8)


def test_a_status_and_a_verdict_that_changed_are_found(ran: Ran, again: Ran) -> None:
    again.change("points", lambda points: points.assign(status=points["status"].where(points.index != 0, "failed")))
    again.change("claims", lambda claims: claims.assign(claim_verdict="differs"))
    found = compare(ran.base, again.base)
    assert found.tables["points"].differing["column"].tolist() == ["status"]
    assert found.tables["claims"].differing["column"].tolist() == ["claim_verdict"]
    assert found.verdicts.to_dict("records") == [{"claim": "c1", "old": "reproduced", "new": "differs"}]


def test_studies_with_other_axes_cannot_be_compared(ran: Ran, tmp_path: Path) -> None:
    other = run_in(tmp_path / "other", sweep={"alpha": STUDY["sweep"]["alpha"]}, claims=[])
    with pytest.raises(ArtifactError, match=r"table points: .* routing$") as caught:
        compare(ran.base, other.base)
    assert caught.value.code == "not-comparable"
    other.tables.parent.rename(other.base / "results/second")
    with pytest.raises(ArtifactError, match=rf"^{ran.tables.parent.name} and second .* routing"):
        compare(ran.base, other.base)


def test_folders_that_hold_no_tables_or_several_are_refused(ran: Ran, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ArtifactError, match=r"empty: no tables of a study; name a folder such as results/quick"):
        compare(ran.base, tmp_path / "empty")
    for one in (ran.tables, ran.tables.parent, ran.tables.parents[1]):
        assert compare(ran.base, one).agrees
    shutil.copytree(ran.base / "results", tmp_path / "before")
    ran.tables.parent.rename(ran.base / "results/first")
    run_in(ran.base)
    with pytest.raises(ArtifactError, match=r"several studies: .* has first, "):
        compare(ran.base, ran.base)
    assert compare(tmp_path / "before", ran.base / "results").agrees  # one study is in both


@given(st.floats(1, 1e12), st.floats(-0.9, 10))
def test_the_difference_is_relative_and_has_no_direction(number: float, part: float) -> None:
    one, other = (np.array([value]) for value in (number, number * (1 + part)))
    (forth,), (back,) = relative_difference(one, other), relative_difference(other, one)
    assert forth == back == pytest.approx(abs(part) / max(1, 1 + part), abs=1e-12)


def test_the_command_prints_what_differs_and_says_so_by_its_exit_code(
    ran: Ran, again: Ran, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compare", str(ran.base), str(again.base)]) == 0
    assert "They agree" in capsys.readouterr().out
    again.change("jobs", scale("runtime_ns", 2, 2))
    again.change("jobs", lambda jobs: jobs.drop(index=7))
    arguments = ["compare", str(ran.base), str(again.base), "--csv", str(tmp_path / "values.csv")]
    assert cli.main(arguments) == 1
    said = capsys.readouterr().out
    assert "They do not agree: 1 of" in said and "1 rows are missing, 0 are extra" in said
    assert f"jobs.runtime_ns at {ROW}" in said and "2000001.33" in said and "(50 %)" in said
    values = pd.read_csv(tmp_path / "values.csv")
    assert values[~values["agrees"]]["column"].tolist() == ["runtime_ns"]
    assert cli.main([*arguments, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["agrees"] and found["tables"]["jobs"]["differing"][0]["difference"] == 0.5


def test_the_command_allows_as_much_as_the_documents_say() -> None:
    assert cli._parser().parse_args(["compare", "a", "b"]).tolerance == TOLERANCE == 0.05
    assert FLOAT_TOLERANCE == 1e-9
