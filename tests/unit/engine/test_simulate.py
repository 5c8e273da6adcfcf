"""What becomes of an engine's word on memory, packets and stalls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow.parquet as pq
import pytest

from fabricstudy.core.store import Record
from fabricstudy.engine.analysis import Analysis
from fabricstudy.engine.attempt import attempt_point
from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.cost_model import CostModel, WorkCounts
from fabricstudy.engine.definitions import AnalysedMachine
from fabricstudy.engine.failures import BackgroundMismatch, EngineFailure
from fabricstudy.engine.outcome import EngineResult, mean_of_senders_ns
from fabricstudy.engine.point import PlannedPoint, Point, machine_id, point_id
from fabricstudy.engine.registry import engine_of
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder

from ...machines import job_of, point_on

RING = {"kind": "torus", "shape": [6], "bandwidth": "1 GB/s"}


class Telling(Analysis):
    """An engine that tells packets and stalls, and how much memory it wants."""

    memory_bytes: float = 0.0

    @classmethod
    def cost_model(cls) -> CostModel:
        return CostModel(cpu_s={}, memory_bytes={"byte": 1.0})

    @staticmethod
    def work(point: Point) -> WorkCounts:
        assert isinstance(point.engine, Telling)
        return WorkCounts(cpu={}, memory={"byte": point.engine.memory_bytes})

    def read(self, point: BuiltPoint, folder: Path) -> EngineResult:
        links = np.arange(point.machine.links)
        stall_ns = np.array(2.0 * links, dtype=np.float64)
        return EngineResult(
            (1.0,), 500.0 * stall_ns, link_packets=links, link_stall_ns=stall_ns, job_rank_mean_ns=(0.5,)
        )


def record_of(folder: Path, engine: Analysis, limits: Limits | None = None) -> Record:
    point = point_on(RING, pattern="ring", message="3 kB", engine=engine)
    machine = point.machine.build()
    analysed = AnalysedMachine(machine, np.arange(machine.routers) < 3)
    return attempt_point(point, engine_of(engine), analysed, limits or Limits(), folder)


class Asking(Telling):
    """An engine that has no use for a background that lasts less than it asks for."""

    asks_ns: ClassVar[list[float]] = []
    given_ns: ClassVar[list[list[float | None]]] = []

    def write(self, point: BuiltPoint, folder: Path) -> list[str]:
        assert not any(folder.iterdir())
        (folder / "input").write_text("of one run")
        self.given_ns.append([job.background_duration_ns for job in point.jobs])
        return []

    def read(self, point: BuiltPoint, folder: Path) -> EngineResult:
        if self.asks_ns:
            raise BackgroundMismatch(self.asks_ns.pop(0))
        return EngineResult((7.0, None))


def test_a_point_is_run_again_with_the_background_that_its_engine_asks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = {"nodes": 2, "pattern": {"kind": "ring", "message": "3 kB"}}
    point = point_on(RING, jobs=[ring, ring | {"background": True}], engine=Asking())
    machine = point.machine.build()
    analysed = AnalysedMachine(machine, np.arange(machine.routers) < 3)
    monkeypatch.setattr(Asking, "asks_ns", [5e6, 6e6])
    record = attempt_point(point, engine_of(Asking()), analysed, Limits(), tmp_path)
    assert record["status"] == "done" and record["background_ns"] == 6e6
    first, *others = Asking.given_ns
    assert first[0] is None and first[1] is not None and first[1] >= record["jobs"][0]["bound_ns"]
    assert others == [[None, 5e6], [None, 6e6]]
    assert [job["runtime_ns"] for job in record["jobs"]] == [7.0, None]
    assert [job["bound_ns"] is None for job in record["jobs"]] == [False, True]
    for path in tmp_path.iterdir():
        path.unlink()
    monkeypatch.setattr(Asking, "asks_ns", [1e6] * 99)
    assert attempt_point(point, engine_of(Asking()), analysed, Limits(), tmp_path)["status"] == "failed"


class Failing(Telling):
    """An engine whose runs fail."""

    def read(self, point: BuiltPoint, folder: Path) -> EngineResult:
        raise EngineFailure("it stopped")


def test_a_point_that_fails_in_a_folder_leaves_its_workload_there(tmp_path: Path) -> None:
    point = point_on(RING, pattern="ring", message="3 kB", engine=Failing())
    planned = PlannedPoint(point_id(point), machine_id(point.machine), point)
    record = simulate_in_folder(planned, tmp_path, Limits())["record"]
    assert (record["status"], record["reason"]) == ("failed", "it stopped")
    assert pq.read_table(tmp_path / "ranks.parquet").num_rows == 6


def test_the_mean_time_of_ranks_is_kept_where_the_engine_tells_it(tmp_path: Path) -> None:
    assert record_of(tmp_path, Telling())["jobs"][0]["rank_mean_ns"] == 0.5
    assert "rank_mean_ns" not in record_of(tmp_path, Analysis())["jobs"][0]


def test_only_ranks_that_send_count_for_the_mean() -> None:
    job = job_of([0, 1, 2, 3], [(0, 0, 2, 1), (0, 1, 2, 1)])
    ended_ns = np.array([1.0, 3.0, 3.0, 0.0])
    assert mean_of_senders_ns(job, ended_ns) == 2.0
    assert mean_of_senders_ns(replace(job, background_duration_ns=9.0), ended_ns) is None
    assert mean_of_senders_ns(job_of([0, 1, 2, 3], []), ended_ns) is None


def test_packets_and_stalls_are_told_by_class_and_kept_by_link(tmp_path: Path) -> None:
    record = record_of(tmp_path, Telling())
    (links,) = record["links"]
    # 0 + 1 + ... + 11
    assert (links["packets"], links["stall_mean_ns"], links["stall_max_ns"]) == (66, 11.0, 22.0)
    assert np.array_equal(np.load(tmp_path / "link_packets.npy"), np.arange(12))
    assert np.array_equal(np.load(tmp_path / "link_stall_ns.npy"), 2.0 * np.arange(12))


def test_an_engine_that_tells_neither_keeps_neither(tmp_path: Path) -> None:
    (links,) = record_of(tmp_path, Analysis())["links"]
    assert not {"packets", "stall_mean_ns", "stall_max_ns"} & set(links)
    assert [path.name for path in tmp_path.iterdir()] == ["links.npy"]


@pytest.mark.parametrize(
    ("needed", "limit", "statement"),
    [
        (3e9, "2 GB", "not started: it would need about 3 GB, and limits.memory is 2 GB; raise it in the study"),
        (1e18, "2e18 B", "this computer has"),
    ],
)
def test_a_point_that_would_not_fit_is_not_started(tmp_path: Path, needed: float, limit: str, statement: str) -> None:
    record = record_of(tmp_path, Telling(memory_bytes=needed), Limits(memory=limit))  # type: ignore[call-arg]
    assert record["status"] == "out-of-memory" and statement in record["reason"]
    assert not any(tmp_path.iterdir())
