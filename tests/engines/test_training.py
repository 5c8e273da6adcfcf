"""Training steps on CAMINOS: the pipeline of the closed form, exposed communication by group, critical path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.outcome import EngineResult
from fabricstudy.engine.point import Point
from fabricstudy.engine.records import job_critical_path_ns
from fabricstudy.machine.graph import Machine

from ..machines import line, place_jobs, point_on
from .run_caminos import simulate

pytestmark = pytest.mark.skipif(not Engine(Caminos).probe().found, reason="CAMINOS is not built")

CROSSBAR = line([1e9], nodes=8)
"""Nodes 0 to 7 are on one router; 1 GB/s, and no latency."""


def step_on_crossbar(folder: Path, **keys: Any) -> tuple[EngineResult, Point, Machine]:
    pattern = {
        "kind": "training",
        "model": {"layers": 4, "hidden": 64, "ffn": 128, "heads": 4, "sequence": 16, "vocabulary": 0},
        "micro_batches": 4,
        "compute": {"forward": "1 ms", "backward": "2 ms"},
    } | keys
    point = point_on(
        {"kind": "dragonfly", "groups": 2, "routers_per_group": 2, "nodes_per_router": 2, "bandwidth": "1 GB/s"},
        jobs=[{"nodes": 8, "ranks_per_node": 1, "pattern": pattern}],
        engine={"kind": "caminos", "phit": "256 B"},
        network={"router_latency": "0 ns", "packet": "1024 B", "buffer": "8 kB"},
    )  # fmt: skip
    folder.mkdir(exist_ok=True)
    return simulate(folder, point, place_jobs(point, CROSSBAR), CROSSBAR)[0], point, CROSSBAR


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe"])
def test_a_pipeline_with_short_messages_takes_the_time_of_the_closed_form(tmp_path: Path, schedule: str) -> None:
    """(m + p - 1)(f + b) = 7 x 3 ms, of which 3 x 3 ms are bubble; activations of 2 kB take 2 us."""
    result, point, machine = step_on_crossbar(tmp_path, parallel={"pipeline": 4, "data": 2}, schedule=schedule)
    (time_ns,) = result.job_runtime_ns
    assert time_ns is not None and time_ns == pytest.approx(21e6, rel=0.01) and time_ns >= 21e6
    (marks,) = result.job_marks
    assert marks is not None and marks["bubble_ns"] == pytest.approx(9e6, rel=0.01)
    computed_ns = sum(row["compute_ns"] for row in marks["marks"])
    assert computed_ns == pytest.approx(12e6, rel=1e-4)
    # Cycles round the computation.
    assert computed_ns + marks["exposed_ns"] + marks["bubble_ns"] == pytest.approx(time_ns, rel=1e-4)
    (job,) = place_jobs(point, machine)
    assert job.operations is not None
    critical_ns = job_critical_path_ns(job.operations, job.node_of_rank, machine, 0.0)
    assert 21e6 <= critical_ns <= time_ns


def test_exposed_communication_is_that_of_the_groups(tmp_path: Path) -> None:
    """Tensor ranks wait for all of 4 x 4 x 4 all-reduces: on links of their own these take 1.5 times 2 kB each."""
    result, *_ = step_on_crossbar(tmp_path, parallel={"tensor": 4, "data": 2}, layers_at_once=1)
    (marks,) = result.job_marks
    assert marks is not None
    exposed_ns = {row["mark"]: row["exposed_ns"] for row in marks["marks"]}
    assert exposed_ns["tensor"] == pytest.approx(64 * 1.5 * 2048, rel=0.35)
    assert exposed_ns["forward"] == exposed_ns["backward"] == 0
    compute_ns = {row["mark"]: row["compute_ns"] for row in marks["marks"]}
    assert compute_ns["forward"] == pytest.approx(16e6, rel=1e-4)
    assert compute_ns["backward"] == pytest.approx(32e6, rel=1e-4)
