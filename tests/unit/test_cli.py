"""The command line, run as a user would, on small studies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabricstudy import cli
from fabricstudy.engine.registry import engine_named

STUDY = """\
study: small
machine: {kind: dragonfly, groups: 3, routers_per_group: 2, nodes_per_router: 2, bandwidth: 1 GB/s}
routing: {kind: minimal}
jobs: [{share: 1.0, pattern: {kind: all-to-all, message: 16 kB}}]
engine: caminos
sweep: {alpha: {of: machine.bandwidth.global, values: {1: 1 GB/s, 2: 2 GB/s}}}
seeds: 2
"""


@pytest.fixture(autouse=True)
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.yaml"
    path.write_text(STUDY)
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert cli.main(list(arguments)) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def data(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(said(capsys, *arguments, "--json"))


def test_plan_counts_points_batches_and_cost(capsys: pytest.CaptureFixture[str]) -> None:
    found = data(capsys, "plan", "small.yaml")
    assert {key: found[key] for key in ("points", "new", "kept", "machines", "batches")} == {
        "points": 4, "new": 4, "kept": 0, "machines": 2, "batches": 1,
    }  # fmt: skip
    assert found["cpu_s"] > 0
    assert "4 on 2 machines" in said(capsys, "plan", "small.yaml")


def test_plan_lists_points_and_warns_of_a_missing_engine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    points = data(capsys, "plan", "small.yaml", "--list")["list"]
    assert [(point["alpha"], point["seed"]) for point in points] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert points[0]["point_id"] in said(capsys, "plan", "small.yaml", "--list")
    monkeypatch.setenv("FABRICSTUDY_CAMINOS", "/nowhere")
    assert data(capsys, "plan", "small.yaml")["missing_engines"] == ["caminos"]
    assert "caminos is missing" in said(capsys, "plan", "small.yaml")


def test_plan_knows_the_studies_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    assert data(capsys, "plan", "quick")["points"] == 216


def test_smaller_batches_are_more(capsys: pytest.CaptureFixture[str]) -> None:
    large = "dragonfly-arrangements"
    assert data(capsys, "plan", large, "--batch-cpu-s", "20")["batches"] > data(capsys, "plan", large)["batches"]


def test_engines_are_listed_found_or_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = {engine["name"]: engine for engine in data(capsys, "engines")}
    assert list(found) == ["analysis", "caminos", "codes", "sst"] and found["analysis"]["found"]
    assert all(set(engine) == {"name", "found", "version", "reason"} for engine in found.values())
    monkeypatch.setenv("FABRICSTUDY_CAMINOS", str(tmp_path / "nowhere"))
    caminos = data(capsys, "engines")[1]
    assert not caminos["found"] and caminos["version"] is None and caminos["reason"]
    assert "not found" in said(capsys, "engines")


def test_machine_of_a_study_and_of_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = data(capsys, "machine", "small.yaml")
    assert (found["nodes"], found["routers"], found["cables"], found["radix"]) == (12, 6, 6, 4)
    # Three pairs joined in a ring of six: hops 1, 1, 2, 2, 3 from each router, and two cables cut in half.
    assert (found["diameter"], found["mean_hops"]) == (3, pytest.approx(9 / 5))
    assert found["bisection"] == {
        "lower_Bps": 2e9,
        "upper_Bps": 2e9,
        "exact": True,
        "method": found["bisection"]["method"],
    }
    (tmp_path / "m.yaml").write_text("machine: {kind: dragonfly, groups: 3, routers_per_group: 2, "
                                     "nodes_per_router: 2, bandwidth: 1 GB/s}\n")  # fmt: skip
    assert data(capsys, "machine", "m.yaml") == found
    assert len(data(capsys, "machine", "small.yaml", "--all")) == 2
    assert found["machine_id"] in said(capsys, "machine", "small.yaml")


def test_status_of_a_study_that_never_ran(capsys: pytest.CaptureFixture[str]) -> None:
    found = data(capsys, "status", "small.yaml")
    assert (found["points"], found["done"], found["failed"], found["left"]) == (4, 0, 0, 4)
    assert "4 left" in said(capsys, "status", "small.yaml")


def test_a_point_is_shown_and_run_in_the_foreground(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    if not engine_named("caminos").probe().found:
        pytest.skip("caminos is not built")
    from fabricstudy.study.file import load_study
    from fabricstudy.study.plan import plan

    point_id = plan(load_study("small.yaml")).rows[0].point_id
    shown = data(capsys, "point", point_id, "--study", "small.yaml")
    assert shown["record"] is None and shown["point"]["seed"] == 1
    ran = data(capsys, "point", point_id, "--study", "small.yaml", "--run")
    assert ran["record"]["status"] == "done" and ran["record"]["jobs"][0]["runtime_ns"] > 0
    assert {"ranks.parquet", "messages.parquet", "caminos.cfg"} <= {p.name for p in (tmp_path / point_id).iterdir()}
    assert "caminos" in ran["command"]
    assert "not empty" in said(capsys, "point", point_id, "--study", "small.yaml", "--run", code=1)
    assert "neither in" in said(capsys, "point", "p000000000000", "--study", "small.yaml", code=1)
    assert "--study" in said(capsys, "point", "p000000000000", code=1)


def test_published_machine_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    found = data(capsys, "machine", "juqueen-48")
    assert found["nodes"] == 24_576 and found["bisection"]["upper_Bps"] == 3072 * 2e9
    assert "published machines are mira" in said(capsys, "machine", "mirra", code=1)


@pytest.mark.parametrize("command", ["plan", "status", "machine"])
@pytest.mark.parametrize("name", ["quik", "nowhere.yaml", "bad.yaml"])
def test_errors_are_one_line_and_exit_code_1(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str, name: str
) -> None:
    (tmp_path / "bad.yaml").write_text(STUDY.replace("16 kB", "16"))
    text = said(capsys, command, name, code=1)
    assert text.count("\n") == 1 and name in text
