"""``fabricstudy machine partitions`` and studies without simulation, as a user would run them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabricstudy import cli

KEYS = ["midplanes", "nodes", "production", "best", "worst"]
KEYS += [f"{name}_bisection" for name in KEYS[2:]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert cli.main(["machine", "partitions", *arguments]) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def rows(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(said(capsys, *arguments, "--json"))
    assert all(list(row) == KEYS for row in found)
    return found


def test_mira(capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(capsys, "mira")
    assert [row["midplanes"] for row in found] == [1, 2, 4, 8, 16, 24, 32, 48, 64, 96]
    assert found[5] == {
        "midplanes": 24, "nodes": 12288, "production": [4, 3, 2, 1], "best": [3, 2, 2, 2], "worst": [4, 3, 2, 1],
        "production_bisection": 1536, "best_bisection": 2048, "worst_bisection": 1536,
    }  # fmt: skip
    text = said(capsys, "mira")
    assert "4x3x2x1" in text and "1.33" in text and "in links" in text


def test_no_list_no_production(capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(capsys, "juqueen")
    assert len(found) == 19 and all(row["production"] is row["production_bisection"] is None for row in found)
    assert "production" not in said(capsys, "juqueen").splitlines()[0]


def test_a_list_of_ones_own(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "list.yaml").write_text("- 4x1x1x1\n- [2, 2, 2, 2]\n")
    (folder / "lines.txt").write_text("4x1x1x1\n2x2x2x2\n")
    found = rows(capsys, "sequoia", "--allowed", "list.yaml")
    assert [(row["midplanes"], row["production"]) for row in found] == [(4, [4, 1, 1, 1]), (16, [2, 2, 2, 2])]
    assert rows(capsys, "sequoia", "--allowed", "lines.txt") == found


def test_any_grid(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    hyperx = rows(capsys, "{kind: hyperx, shape: [12, 10, 10], bandwidth: 1 GB/s}")
    assert hyperx[-1]["best_bisection"] == 3000 and hyperx[-1]["midplanes"] is None
    express = rows(capsys, "{kind: express-mesh, shape: [14, 12, 12], gap: 2, bandwidth: 1 GB/s}")
    assert express[-1]["best_bisection"] == 3024
    assert rows(capsys, "{kind: bluegene-q, midplanes: [4, 4, 3, 2]}")[-1]["best_bisection"] == 6144
    (folder / "machine.yaml").write_text("{kind: torus, shape: [8, 4], bandwidth: 1 GB/s, nodes_per_router: 2}\n")
    assert rows(capsys, "machine.yaml")[-1]["nodes"] == 64


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mirra"], "did you mean 'mira'?"),
        (["fat-tree-11k"], "has no cuboids"),
        (["{kind: torus, shape: [2000, 2000], bandwidth: 1 GB/s}"], "too many"),
        (["absent.yaml"], "absent.yaml"),
        (["mira", "--allowed", "absent.yaml"], "no such file"),
        (["mira", "--allowed", "empty.yaml"], "not a list"),
        (["mira", "--allowed", "wrong.yaml"], "is not a geometry"),
        (["mira", "--allowed", "large.yaml"], "does not fit"),
        (["alone.yaml"], "alone.yaml"),
    ],
)
def test_mistakes_get_one_line(
    capsys: pytest.CaptureFixture[str], folder: Path, arguments: list[str], words: str
) -> None:
    (folder / "empty.yaml").write_text("")
    (folder / "wrong.yaml").write_text("- [4, x]\n")
    (folder / "large.yaml").write_text("- 5x1x1x1\n")
    (folder / "alone.yaml").write_text(ALONE)
    message = said(capsys, *arguments, code=1)
    assert words in message and message.count("\n") == 1


ALONE = "{study: alone, analyses: {p: {kind: partitions, machines: {M: mira}}}}\n"


def test_a_study_without_simulation_is_planned_and_done(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "alone.yaml").write_text(ALONE)
    assert cli.main(["plan", "alone.yaml"]) == 0
    assert "analyses  1 without simulation" in capsys.readouterr().out
    assert cli.main(["status", "alone.yaml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["left"] == 0
