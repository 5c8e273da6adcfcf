"""Jobs that start at different times: without overlap each has exactly the times of its baseline run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.store import Record
from fabricstudy.engine.outcome import OPERATIONS, recorded_rows
from fabricstudy.engine.point import PlannedPoint, Point, machine_id, point_id
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder
from fabricstudy.study.file import validate_study
from fabricstudy.study.plan import plan

from ..machines import baseline_point, point_on

ENGINES = [
    pytest.param(name, marks=pytest.mark.skipif(not engine_named(name).probe().found, reason=f"no {name}"))
    for name in ("packet", "flow")
]
LINE = {"kind": "mesh", "shape": [5], "nodes_per_router": 2, "bandwidth": "1 GB/s"}
TIMES = ("runtime_ns", "rank_mean_ns", "message_mean_ns", "message_p99_ns", "waiting_ns")


def job(nodes: list[int], message: str, **more: Any) -> dict[str, Any]:
    allocation = {"kind": "explicit", "nodes": nodes}
    return {"pattern": {"kind": "ring", "message": message}, "allocation": allocation, **more}


def record_of(point: Point, folder: Path) -> Record:
    planned = PlannedPoint(point_id(point), machine_id(point.machine), point)
    record: Record = simulate_in_folder(planned, folder, Limits())["record"]
    assert record["status"] == "done", record["reason"]
    return record


def times(record: Record, number: int) -> list[float | None]:
    return [record["jobs"][number].get(name) for name in TIMES]


@pytest.mark.skipif(not engine_named("packet").probe().found, reason="no packet")
class TestOnPacket:
    def test_jobs_that_never_overlap_have_the_times_of_their_baseline_runs(self, tmp_path: Path) -> None:
        # The first exchange takes 400 us, and both use all links of the line.
        both = [job([0, 8], "200 kB"), job([1, 9], "100 kB", start="500 us")]
        point = point_on(LINE, engine="packet", jobs=both)
        together = record_of(point, tmp_path / "both")
        for number in range(2):
            alone = baseline_point(point, number)
            alone = alone.model_copy(
                update={"jobs": tuple(one.model_copy(update={"start_ns": 0.0}) for one in alone.jobs)}
            )
            expected = record_of(alone, tmp_path / f"alone{number}")
            assert times(together, number) == times(expected, number)
            assert together["jobs"][number]["bound_ns"] == expected["jobs"][number]["bound_ns"] > 0

    @pytest.mark.parametrize("routing", ["minimal", "dimension-order", "adaptive"])
    def test_jobs_that_share_no_link_have_the_times_of_their_baseline_runs(self, tmp_path: Path, routing: str) -> None:
        """Jobs draw their own random numbers: in orders, routes and arbitration."""
        mesh = {"kind": "mesh", "shape": [4, 4], "nodes_per_router": 2, "bandwidth": "1 GB/s"}
        jobs = [
            {"pattern": {"kind": "all-to-all", "message": message, "order": "random"},
             "allocation": {"kind": "explicit", "nodes": [*range(first, first + 16)]}}
            for first, message in ((0, "20 kB"), (16, "7 kB"))
        ]  # fmt: skip
        point = point_on(mesh, routing, engine="packet", jobs=jobs)
        together = record_of(point, tmp_path / "both")
        for number in range(2):
            alone = record_of(baseline_point(point, number), tmp_path / str(number))
            assert times(together, number) == times(alone, number)

    def test_a_later_start_leaves_less_to_share(self, tmp_path: Path) -> None:
        # Alone 400 and 200 us. Until both have started nothing is shared, and then each has half of the links.
        both = [job([0, 8], "200 kB"), job([1, 9], "200 kB", start="300 us")]
        record = record_of(point_on(LINE, engine="packet", jobs=both), tmp_path)
        first, second = (one["runtime_ns"] for one in record["jobs"])
        assert first == pytest.approx(500_000, rel=0.05) and second == pytest.approx(500_000, rel=0.05)

    def test_operations_of_a_trace_count_from_the_start_of_the_job(self, tmp_path: Path) -> None:
        trace = tmp_path / "two.goal"
        trace.write_text(
            "num_ranks 2\nrank 0 {\nl1: calc 3000\nl2: send 1000b to 1\nl2 requires l1\n}\n"
            "rank 1 {\nl1: recv 1000b from 0\n}\n"
        )
        of_trace = {"pattern": {"kind": "trace", "file": "two.goal"}, "nodes": 2, "allocation": "cluster"}
        study = {"study": "s", "machine": LINE, "routing": "minimal", "engine": "packet"}
        rows = []
        for start in ("0 s", "7 us"):
            jobs = [of_trace | {"start": start}]
            planned = next(iter(plan(validate_study(study | {"jobs": jobs}, tmp_path / "s.yaml")).points.values()))
            result = simulate_in_folder(planned, tmp_path / start[:1], Limits())["record"]
            assert result["status"] == "done", result["reason"]
            rows.append((times(result, 0), recorded_rows(tmp_path / start[:1] / OPERATIONS)))
        assert rows[0] == rows[1] and rows[0][1]["rank"]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_runtime_counts_from_the_start(tmp_path: Path, engine: str) -> None:
    at_once, later = (
        record_of(point_on(LINE, engine=engine, jobs=[job([0, 8], "200 kB", start=start)]), tmp_path / start)
        for start in ("0 s", "1 ms")
    )
    assert later["jobs"][0]["runtime_ns"] == pytest.approx(at_once["jobs"][0]["runtime_ns"], rel=1e-9)
    assert later["links"] == at_once["links"]


@pytest.mark.parametrize("engine", ["caminos", "sst", "codes"])
def test_other_engines_refuse_a_start(engine: str) -> None:
    point = point_on(LINE, engine=engine, jobs=[job([0, 8], "200 kB", start="1 us")])
    reason = engine_named(engine).unsupported(point, point.machine.build())
    assert reason is not None and "start" in reason


def test_a_baseline_run_has_no_start_and_a_background_job_neither() -> None:
    study = {"study": "s", "machine": LINE, "routing": "minimal", "engine": "packet", "slowdown": True}
    starts = [plan(validate_study(study | {"jobs": [job([0, 8], "1 kB"), job([1, 9], "1 kB", start=start)]}))
              for start in ("1 us", "2 us")]  # fmt: skip
    assert starts[0].rows[0].point_id != starts[1].rows[0].point_id
    assert starts[0].rows[0].baseline_ids == starts[1].rows[0].baseline_ids
    with pytest.raises(FabricstudyError) as refused:
        validate_study(study | {"jobs": [job([0, 8], "1 kB"), job([1, 9], "1 kB", start="1 us", background=True)]})
    assert refused.value.code == "conflicting-keys"
