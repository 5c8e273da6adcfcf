"""Times of each message: closed forms on an idle network, and sums of the same run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.store import Record, point_store, read_checksummed
from fabricstudy.engine.batch import make_batches, run_batch
from fabricstudy.engine.definitions import built
from fabricstudy.engine.outcome import MESSAGES, recorded_rows
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import EngineSettings, Limits
from fabricstudy.engine.single_point import simulate_in_folder
from fabricstudy.study.file import validate_study
from fabricstudy.study.plan import Plan, plan
from fabricstudy.table.collect import collect
from fabricstudy.table.files import Tables

ENGINES = [
    pytest.param(name, marks=pytest.mark.skipif(not engine_named(name).probe().found, reason=f"no {name}"))
    for name in ("packet", "flow")
]
MACHINE = {"kind": "mesh", "shape": [5], "nodes_per_router": 2, "cores_per_node": 2, "bandwidth": "1 GB/s",
           "latency": "50 ns"}  # fmt: skip
STUDY: dict[str, Any] = {
    "study": "times",
    "machine": MACHINE,
    "routing": "minimal",
    "jobs": [{"name": "app", "share": 1.0, "pattern": {"kind": "all-to-all", "message": "9 kB"}}],
}


def planned(engine: str, record: bool = True, **more: Any) -> Plan:
    settings = {"kind": engine} | ({"record": "messages"} if record else {})
    return plan(validate_study(STUDY | {"engine": settings} | more))


def run(study: Plan, folder: Path) -> tuple[Record, dict[str, Any]]:
    record: Record = simulate_in_folder(next(iter(study.points.values())), folder, Limits())["record"]
    assert record["status"] == "done", record["reason"]
    return record, {name: np.array(column) for name, column in recorded_rows(folder / MESSAGES).items()}


def tables_of(study: Plan, folder: Path) -> Tables:
    batches = make_batches(study.points.values(), Limits(), 60.0)
    records = []
    for batch in batches:
        files = folder / f"{batch.name}.jsonl", folder / f"{batch.name}.links.parquet"
        run_batch(batch, point_store(folder), lambda one: built(one.point.machine), *files)
        records += [record for _, record in read_checksummed(files[0]) if record]
    return collect(study, records, [])


@pytest.mark.parametrize("engine", ENGINES)
class TestTimes:
    def test_alone_a_message_needs_the_least_time(self, tmp_path: Path, engine: str) -> None:
        # Messages of one pair, one after the other: 9 us, 5 cables and 4 routers between the last ones' nodes.
        jobs = [{"pattern": {"kind": "ping-pong", "message": "9 kB", "iterations": 3}, "ranks_per_node": 1,
                 "allocation": {"kind": "explicit", "nodes": [0, 7]}}]  # fmt: skip
        _, rows = run(planned(engine, jobs=jobs), tmp_path)
        alone_ns = 9_000 + 5 * 50 + 4 * 100
        assert (rows["arrived_ns"] - rows["started_ns"]).tolist() == pytest.approx([alone_ns] * 6)
        assert rows["least_ns"].tolist() == [alone_ns] * 6
        assert sorted(rows["started_ns"].tolist()) == pytest.approx([number * alone_ns for number in range(6)])
        assert rows["source_rank"].tolist() == [0] * 3 + [1] * 3 and set(rows["bytes"].tolist()) == {9_000}

    def test_the_last_arrival_is_the_runtime_and_means_are_those_of_the_job(self, tmp_path: Path, engine: str) -> None:
        record, rows = run(planned(engine), tmp_path)
        (job,) = record["jobs"]
        assert rows["arrived_ns"].max() == pytest.approx(job["runtime_ns"], rel=1e-12)
        assert len(rows["bytes"]) == job["messages"] == 20 * 19 and rows["bytes"].sum() == job["bytes"]
        within = rows["source_rank"] // 2 == rows["destination_rank"] // 2
        times_ns = rows["arrived_ns"] - rows["started_ns"]
        assert np.all(times_ns[within] == 0) and np.all(rows["least_ns"][within] == 0)
        assert times_ns[~within].mean() == pytest.approx(job["message_mean_ns"])
        exact = np.sort(times_ns[~within])[int(np.ceil(0.99 * (~within).sum())) - 1]
        assert exact == pytest.approx(job["message_p99_ns"], rel=1e-3)
        assert np.all(times_ns >= rows["least_ns"] * (1 - 1e-9))

    def test_recording_changes_no_time(self, tmp_path: Path, engine: str) -> None:
        with_times, rows = run(planned(engine), tmp_path / "with")
        without, none = run(planned(engine, record=False), tmp_path / "without")
        assert with_times["jobs"] == without["jobs"] and with_times["links"] == without["links"]
        assert rows and not none

    def test_rows_of_the_table_count_from_the_start_of_the_job(self, tmp_path: Path, engine: str) -> None:
        # Neighbours exchange at one router, without contention, which is resolved by chance.
        pattern = {"kind": "pairs", "message": "9 kB", "distance": 1}
        job = {"name": "app", "pattern": pattern, "share": 1.0, "ranks_per_node": 1}
        sweep = {"start": {"of": "jobs.0.start", "values": ["0 s", "5 us"]}}
        table = tables_of(planned(engine, jobs=[job], sweep=sweep), tmp_path).messages
        table = table[table["experiment"] == "main"]
        at_once, later = (table[table["start"] == start].reset_index(drop=True) for start in ("0 s", "5 us"))
        names = ["source_rank", "destination_rank", "bytes", "started_ns", "arrived_ns", "time_ns", "least_ns"]
        assert len(at_once) == 10 and at_once[names].equals(later[names].round(6))
        assert table["over_least"].min() >= 1 - 1e-9 and set(table["job_name"]) == {"app"}


@pytest.mark.skipif(not engine_named("packet").probe().found, reason="no packet")
def test_an_eager_message_arrives_after_its_send_has_ended(tmp_path: Path) -> None:
    (tmp_path / "two.goal").write_text(
        "num_ranks 2\nrank 0 {\nl1: calc 3000\nl2: send 1000b to 1\nl2 requires l1\n}\n"
        "rank 1 {\nl1: calc 9000\nl2: recv 1000b from 0\nl2 requires l1\n}\n"
    )
    pattern = {"kind": "trace", "file": "two.goal"}
    jobs = [{"pattern": pattern, "ranks_per_node": 1, "allocation": {"kind": "explicit", "nodes": [0, 7]}}]
    study = STUDY | {"engine": {"kind": "packet", "record": "messages"}, "jobs": jobs}
    _, rows = run(plan(validate_study(study, tmp_path / "s.yaml")), tmp_path)
    # Before the receive has started, which waits for 9 us of computation.
    assert (rows["started_ns"].tolist(), rows["arrived_ns"].tolist()) == ([3_000.0], [3_000 + 1_000 + 250 + 400.0])


@pytest.mark.parametrize("engine", ["caminos", "sst", "codes", "analysis"])
def test_other_engines_have_no_such_key(engine: str) -> None:
    with pytest.raises(ValueError, match="record"):
        EngineSettings.model_validate({"kind": engine, "record": "messages"})


def test_a_table_of_very_many_messages_is_refused_before_the_run() -> None:
    with pytest.raises(FabricstudyError) as refused:
        planned("packet", seeds=10_000)
    assert refused.value.code == "out-of-range"
