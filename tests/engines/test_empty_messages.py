"""Messages of 0 bytes take their latency, and messages of a rank to itself no time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.cli import main
from fabricstudy.core.store import Record
from fabricstudy.engine.point import PlannedPoint, Point, machine_id, point_id
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder

from .test_bounds import engines

HEAD = "phase,source,destination,bytes\n"
GOAL = "num_ranks 2\nrank 0 {{\nl1: send {0}b to 1 tag 0\n}}\nrank 1 {{\nl1: recv {0}b from 0 tag 0\n}}\n"
STUDY = """
study: s
machine: {kind: torus, shape: [4], bandwidth: 1 GB/s}
routing: minimal
jobs: [{nodes: 2, pattern: {kind: trace, file: m.goal}}]
engine: packet
sweep: {engine: {of: engine, values: [packet, flow, caminos]}, size: {of: jobs.0.pattern.empty, values: [0 B, 1 B]}}
seeds: 3
"""
TWO_HOPS_NS = 4 * 40 + 3 * 100
"""Latency on a ring between nodes of routers 2 hops apart: four cables of 40 ns, and three routers of 100 ns."""
FILES = {
    "list": ("m.csv", "messages", HEAD + "0,0,1,{}\n"),
    "goal": ("m.goal", "trace", GOAL),
}


def record_of(folder: Path, engine: str, pattern: dict[str, Any], text: str = "", name: str = "", **job: Any) -> Record:
    """Return the record of a job on every second router of a ring of four, or on the nodes of `job`."""
    folder.mkdir(exist_ok=True)
    if name:
        (folder / name).write_text(text)
    # Between nodes and routers of its torus, CODES has no bandwidth.
    bandwidth = {"links": "1 GB/s", "host": "2 GB/s"} if engine == "codes" else "1 GB/s"
    machine = {"kind": "torus", "shape": [4], "bandwidth": bandwidth}
    every_second = {"allocation": {"kind": "explicit", "nodes": [0, 2]}}
    job = {"pattern": pattern, "mapping": "linear"} | (job if "nodes" in job else every_second | job)
    sections = {"machine": machine, "routing": "dimension-order", "jobs": [job], "engine": engine, "seed": 1}
    point = Point.model_validate(sections, context={"folder": folder}, by_alias=True, by_name=False)
    planned = PlannedPoint(point_id(point), machine_id(point.machine), point)
    record: Record = simulate_in_folder(planned, folder / "run", Limits())["record"]
    return record


def times(record: Record) -> tuple[float, float]:
    """Return runtime and critical path of the job of a finished point."""
    assert record["status"] == "done", record["reason"]
    (job,) = record["jobs"]
    assert job["bound_ns"] <= job["runtime_ns"]
    return job["runtime_ns"], job["critical_path_ns"]


@pytest.mark.parametrize("engine", engines("packet", "flow"))
@pytest.mark.parametrize("name", FILES)
def test_an_empty_message_of_a_file_takes_the_latency(tmp_path: Path, name: str, engine: str) -> None:
    file, kind, text = FILES[name]
    record = record_of(tmp_path, engine, {"kind": kind, "file": file}, text.format(0), file)
    assert times(record) == (TWO_HOPS_NS, TWO_HOPS_NS) and record["jobs"][0]["bytes"] == 0


@pytest.mark.parametrize("engine", engines("packet", "flow"))
def test_a_ping_pong_of_empty_messages_takes_twice_the_latency(tmp_path: Path, engine: str) -> None:
    record = record_of(tmp_path, engine, {"kind": "ping-pong", "message": "0 B"})
    assert times(record) == (2 * TWO_HOPS_NS, 2 * TWO_HOPS_NS)


@pytest.mark.parametrize("engine", engines("packet", "flow"))
def test_a_rank_that_sends_to_itself_or_its_node_takes_no_time(tmp_path: Path, engine: str) -> None:
    # Ranks 0 and 1 share a node: only the last message, which waits for the others, leaves it.
    text = HEAD + "0,0,0,500000\n0,0,1,500000\n1,1,1,7\n2,1,2,100000\n2,3,3,9\n"
    job = {"ranks_per_core": 2}
    record = record_of(tmp_path, engine, {"kind": "messages", "file": "m.csv"}, text, "m.csv", **job)
    assert times(record) == pytest.approx((TWO_HOPS_NS + 100_000, TWO_HOPS_NS + 100_000))


@pytest.mark.parametrize("engine", engines("packet"))
def test_empty_messages_among_others_all_arrive(tmp_path: Path, engine: str) -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers([0, 0, 0, 0], [3, 4, 4, 4], size=(400, 4))
    sizes = np.array([0, 1, 999, 20_000])[rows[:, 3]]
    text = HEAD + "".join(f"{p},{s},{d},{b}\n" for (p, s, d, _), b in zip(rows.tolist(), sizes, strict=True))
    text += "2,3,0,1\n"
    job = {"nodes": 4, "allocation": "cluster"}
    record = record_of(tmp_path, engine, {"kind": "messages", "file": "m.csv"}, text, "m.csv", **job)
    runtime_ns, critical_ns = times(record)
    assert critical_ns <= runtime_ns and record["jobs"][0]["bytes"] == sizes.sum() + 1


@pytest.mark.parametrize("engine", engines("caminos", "sst", "codes"))
@pytest.mark.parametrize("name", FILES)
def test_others_refuse_empty_messages(tmp_path: Path, name: str, engine: str) -> None:
    file, kind, text = FILES[name]
    for size, status in ((0, "unsupported"), (200, "done")):
        record = record_of(tmp_path / str(size), engine, {"kind": kind, "file": file}, text.format(size), file)
        assert record["status"] == status, record["reason"]


@pytest.mark.parametrize("engine", engines("packet", "caminos", "sst", "codes"))
def test_empty_messages_of_a_trace_may_have_bytes(tmp_path: Path, engine: str) -> None:
    records = [
        record_of(
            tmp_path / str(size), engine, {"kind": "trace", "file": "m.goal", **keys}, GOAL.format(size), "m.goal"
        )
        for size, keys in ((0, {"empty": "200 B"}), (200, {}))
    ]
    first, second = (record["jobs"][0]["runtime_ns"] for record in records)
    assert first == second > 0 and records[0]["jobs"][0]["bytes"] == 200


def test_plan_counts_points_whose_engine_has_no_empty_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.goal").write_text(GOAL.format(0))
    Path("s.yaml").write_text(STUDY)
    assert main(["plan", "s.yaml", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["refused"].values()) == [3]


def test_plan_counts_points_with_some_empty_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.csv").write_text(HEAD + "0,0,1,0\n0,1,0,5\n")
    swept = "{engine: {of: engine, values: [packet, flow, caminos]}}"
    study = STUDY.replace("kind: trace, file: m.goal", "kind: messages, file: m.csv")
    Path("s.yaml").write_text(study[: study.index("sweep")] + f"sweep: {swept}\nseeds: 3\n")
    assert main(["plan", "s.yaml", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["refused"].values()) == [3]
