"""What validation begins with, from the study to its report: one switch, one group, 0 bytes, and a load above 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fabricstudy.engine.registry import engine_named

from ..forked import run_small

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not engine_named("packet").probe().found, reason="the packet engine is not built"),
]

SWITCH = "from,to,class,count,bandwidth,latency\n" + "".join(f"n{node},r0,host,,1 GB/s,1 ns\n" for node in range(6))
GOAL = "num_ranks 2\nrank 0 {\nl1: send 0b to 1 tag 0\n}\nrank 1 {\nl1: recv 0b from 0 tag 0\n}\n"
STUDIES = {
    # Twice two cables of 1 ns, a router of 100 ns, and 1,024 B.
    "switch": ("""
machine: {kind: graph, file: switch.csv}
jobs: [{share: 1.0, pattern: {kind: ping-pong, message: 1024 B}}]
""", 2 * (2 + 100 + 1024)),
    "group": ("""
machine: {kind: dragonfly, groups: 1, routers_per_group: 8, nodes_per_router: 4, bandwidth: 1 GB/s}
jobs: [{share: 1.0, pattern: {kind: ping-pong, message: 10 kB}}]
""", 2 * (3 * 40 + 2 * 100 + 10_000)),
    "empty": ("""
machine: {kind: torus, shape: [4], bandwidth: 1 GB/s}
jobs: [{nodes: 2, pattern: {kind: trace, file: zero.goal}}]
""", 3 * 40 + 2 * 100),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with the files of the studies."""
    monkeypatch.chdir(tmp_path)
    Path("switch.csv").write_text(SWITCH)
    Path("zero.goal").write_text(GOAL)
    return tmp_path


def run(folder: Path, name: str, text: str) -> int:
    """Run a study in the folder; return its exit code."""
    (folder / f"{name}.yaml").write_text(f"study: {name}\nrouting: minimal\nengine: packet\n{text}")
    return run_small(f"{name}.yaml")


def table(folder: Path, study: str, name: str) -> Any:
    return pd.read_csv(folder / f"results/{study}/tables/{name}.csv")


@pytest.mark.parametrize("name", STUDIES)
def test_a_small_study_has_the_time_of_its_closed_form_and_a_report(folder: Path, name: str) -> None:
    text, expected_ns = STUDIES[name]
    assert run(folder, name, text) == 0
    (job,) = table(folder, name, "jobs").to_dict("records")
    assert job["runtime_ns"] == job["critical_path_ns"] == expected_ns and job["bound_ns"] <= expected_ns
    assert (folder / f"reports/{name}/index.html").stat().st_size > 10_000


def test_a_switch_is_not_saturated_below_load_1(folder: Path) -> None:
    text = "machine: {kind: graph, file: switch.csv}\noffered: {traffic: uniform, load: 0.3}\n"
    assert run(folder, "steady", text) == 0
    (row,) = table(folder, "steady", "latency").to_dict("records")
    assert row["state"] == "steady" and row["saturation_bound"] == 1


@pytest.mark.parametrize("load", [1.2, 1.0000001])
def test_a_load_above_1_is_refused_before_anything_is_written(folder: Path, load: float) -> None:
    text = f"machine: {{kind: torus, shape: [4], bandwidth: 1 GB/s}}\noffered: {{traffic: uniform, load: {load}}}\n"
    assert run(folder, "above", text) == 1
    assert not (folder / "results").exists()
