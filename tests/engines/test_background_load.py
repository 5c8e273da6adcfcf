"""A background job at a stated load: what it delivers by counting, and how it slows a job by shares of a link."""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from fabricstudy.core.store import Record
from fabricstudy.engine.point import PlannedPoint, machine_id, point_id
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder
from fabricstudy.workload.job import Job

from ..machines import point_on

on_packet = pytest.mark.skipif(not engine_named("packet").probe().found, reason="no packet")
LINE = {"kind": "mesh", "shape": [5], "nodes_per_router": 2, "bandwidth": "1 GB/s", "cores_per_node": 2}


def job(nodes: list[int], message: Any, **more: Any) -> dict[str, Any]:
    allocation = {"kind": "explicit", "nodes": nodes}
    pattern = {"kind": "ring", "message": message}
    return {"pattern": pattern, "allocation": allocation, "ranks_per_node": 1, **more}


def background(nodes: list[int], load: float, message: Any = "4 kB", **more: Any) -> dict[str, Any]:
    return job(nodes, message) | {"background": True, "load": load} | more


def record_of(folder: Path, *jobs: dict[str, Any], seed: int = 1) -> Record:
    point = point_on(LINE, "dimension-order", engine="packet", jobs=list(jobs), seed=seed)
    planned = PlannedPoint(point_id(point), machine_id(point.machine), point)
    record: Record = simulate_in_folder(planned, folder, Limits())["record"]
    assert record["status"] == "done", record["reason"]
    return record


def runtime_ns(*args: Any, **more: Any) -> float:
    return float(record_of(*args, **more)["jobs"][0]["runtime_ns"])


@on_packet
class TestDelivered:
    LONG_NS, MESSAGE = 20e6, 4_000

    @pytest.mark.parametrize("load", [0.01, 0.3, 0.9])
    @pytest.mark.parametrize("ranks", [1, 2])
    def test_what_arrives_is_the_load_within_the_error_of_counting(
        self, tmp_path: Path, load: float, ranks: int
    ) -> None:
        # Two nodes of one router, which only they use, and an exchange of 20 ms between two others.
        own = background([8, 9], load, ranks_per_node=ranks)
        record = record_of(tmp_path, job([0, 1], "10 MB"), own)
        foreground, steady = record["jobs"]
        assert foreground["runtime_ns"] == pytest.approx(self.LONG_NS, rel=1e-3) and steady["runtime_ns"] is None
        messages = 2 * load * self.LONG_NS / self.MESSAGE
        # Some messages of the queue have not arrived at the end.
        waiting = 2 / (1 - load)
        assert abs(steady["delivered_load"] / load - 1) < (4 * sqrt(messages) + waiting) / messages
        assert foreground.get("delivered_load") is None

    def test_sizes_may_be_drawn(self, tmp_path: Path) -> None:
        message = {"kind": "uniform", "least": "1 kB", "most": "7 kB"}
        pattern = {"kind": "uniform-random", "message": message, "messages_per_rank": 500}
        steady = background([8, 9], 0.5, pattern=pattern)
        record = record_of(tmp_path, job([0, 1], "10 MB"), steady)
        assert record["jobs"][1]["delivered_load"] == pytest.approx(0.5, rel=0.08)


@on_packet
class TestSlowdown:
    def test_no_load_changes_nothing(self, tmp_path: Path) -> None:
        alone, beside = (
            record_of(tmp_path / "a", job([0, 8], "1 MB")),
            record_of(tmp_path / "b", job([0, 8], "1 MB"), background([1, 9], 0.0)),
        )
        assert alone["jobs"][0] == beside["jobs"][0] and alone["links"] == beside["links"]

    def test_a_job_has_what_the_background_leaves_of_a_shared_link(self, tmp_path: Path) -> None:
        times = {
            load: runtime_ns(tmp_path / str(load), job([0, 8], "2 MB"), background([1, 9], load))
            for load in (0.0, 0.01, 0.2, 0.4, 0.9)
        }
        slowdown = {load: time / times[0.0] for load, time in times.items()}
        assert slowdown[0.01] == pytest.approx(1.0, abs=0.015)
        # Up to its fair half of the link.
        assert slowdown[0.2] == pytest.approx(1 / 0.8, rel=0.04)
        assert slowdown[0.4] == pytest.approx(1 / 0.6, rel=0.06)
        assert list(slowdown.values()) == sorted(slowdown.values()) and 1.8 < slowdown[0.9] < 2.3

    def test_it_follows_the_seed(self, tmp_path: Path) -> None:
        jobs = job([0, 8], "1 MB"), background([1, 9], 0.3)
        first, again, other = (
            runtime_ns(tmp_path / str(number), *jobs, seed=seed) for number, seed in enumerate((1, 1, 2))
        )
        assert first == again != other


@pytest.mark.parametrize("engine", ["caminos", "flow", "sst", "codes"])
def test_other_engines_refuse_it(engine: str) -> None:
    point = point_on(LINE, engine=engine, jobs=[job([0, 8], "1 MB"), background([1, 9], 0.3)])
    assert engine_named(engine).unsupported(point, point.machine.build())


@pytest.mark.parametrize("more", [{"background": False}, {"compute": "1 us"}, {"load": 1.5}, {"start": "1 us"}])
def test_a_load_needs_a_background_job_that_only_sends(more: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"load|start"):
        Job.model_validate(background([1, 9], 0.3) | more, by_alias=True)
