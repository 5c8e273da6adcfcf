"""What becomes of an engine's word on memory, packets and stalls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fabricstudy.engine.analysis import Analysis
from fabricstudy.engine.contract import EngineResult
from fabricstudy.engine.point import Point
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.simulate import AnalysedMachine, attempt
from fabricstudy.machine.graph import Machine
from fabricstudy.store import Record
from fabricstudy.workload.messages import PlacedJob

from ...machines import point_on

RING = {"kind": "torus", "shape": [6], "bandwidth": "1 GB/s"}


class Telling(Analysis):
    """An engine that tells packets and stalls, and how much memory it wants."""

    def __init__(self, memory_bytes: float | None = None) -> None:
        self.memory_bytes = memory_bytes

    def predict_memory_bytes(self, point: Point) -> float | None:  # type: ignore[override]
        return self.memory_bytes

    def read(self, folder: Path, exit_code: int, point: Point, machine: Machine, jobs: list[PlacedJob]) -> EngineResult:
        links = np.arange(machine.links)
        return EngineResult((1.0,), 1000.0 * links, link_packets=links, link_stall_ns=2.0 * links)


def record_of(folder: Path, engine: Analysis, limits: Limits) -> Record:
    point = point_on(RING, pattern="ring", message="3 kB")
    machine = point.machine.build()
    analysed = AnalysedMachine(machine, np.arange(machine.routers) < 3)
    return attempt(point, engine, analysed, limits, folder)


def test_packets_and_stalls_are_told_by_class_and_kept_by_link(tmp_path: Path) -> None:
    record = record_of(tmp_path, Telling(), Limits())
    (links,) = record["links"]
    # 0 + 1 + ... + 11
    assert (links["packets"], links["stall_mean_ns"], links["stall_max_ns"]) == (66, 11.0, 22.0)
    assert np.array_equal(np.load(tmp_path / "link_packets.npy"), np.arange(12))
    assert np.array_equal(np.load(tmp_path / "link_stall_ns.npy"), 2.0 * np.arange(12))


def test_an_engine_that_tells_neither_keeps_neither(tmp_path: Path) -> None:
    (links,) = record_of(tmp_path, Analysis(), Limits())["links"]
    assert not {"packets", "stall_mean_ns", "stall_max_ns"} & set(links)
    assert [path.name for path in tmp_path.iterdir()] == ["links.npy"]


@pytest.mark.parametrize(
    ("needed", "limit", "says"),
    [
        (3e9, "2 GB", "not started: it would need about 3 GB, and limits.memory is 2 GB; raise it in the study"),
        (1e18, "2e18 B", "this computer has"),
    ],
)
def test_a_point_that_would_not_fit_is_not_started(tmp_path: Path, needed: float, limit: str, says: str) -> None:
    record = record_of(tmp_path, Telling(needed), Limits(memory=limit))  # type: ignore[call-arg]
    assert record["status"] == "memory" and says in record["reason"]
    assert not any(tmp_path.iterdir())
