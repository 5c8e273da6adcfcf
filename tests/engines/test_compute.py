"""Ranks that compute, on each engine that is here: times by hand, and what an engine refuses."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.core.store import Record
from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.bundled import MACHINE, OPERATIONS
from fabricstudy.engine.caminos.files import CONFIGURATION
from fabricstudy.engine.codes.trace import IRECV, WAITALL, traces
from fabricstudy.engine.point import PlannedPoint, machine_id, point_id
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder
from fabricstudy.engine.sst.traces import rank_layout, write_traces
from fabricstudy.engine.validity import files_digest
from fabricstudy.workload.messages import Computing, WorkloadError

from ..machines import job_of, place_jobs, point_on
from .dumpi_traces import read_trace
from .test_background import LINE, LONG, on_each_engine, simulate
from .test_background import job as exchange
from .test_sst_translation import read_trace as read_sst_trace

US = 1000.0
ENGINES: dict[str, Any] = {"caminos": {"kind": "caminos", "phit": "100 B"}, "packet": "packet"}
ENGINES |= {"sst": "sst", "codes": "codes"}
"""A phit of 100 B is a cycle of 100 ns."""


def record_of(folder: Path, engine: Any, compute: Any, nodes: list[int], **more: Any) -> Record:
    """Simulate two rounds of a ring on some nodes of a line."""
    pattern = {"kind": "ring", "message": "20 kB", "iterations": 2}
    job = {"pattern": pattern, "allocation": {"kind": "explicit", "nodes": nodes}} | more.pop("job", {})
    job |= {} if compute is None else {"compute": compute}
    this = point_on(LINE | more.pop("machine", {}), "dimension-order", engine=engine, jobs=[job], **more)
    record: Record = simulate_in_folder(PlannedPoint(point_id(this), machine_id(this.machine), this), folder, Limits())[
        "record"
    ]
    return record


def time_of(folder: Path, engine: Any, compute: Any, nodes: list[int], **more: Any) -> float:
    """Time of the job, which no bound exceeds."""
    record = record_of(folder, engine, compute, nodes, **more)
    assert record["status"] == "done", record["reason"]
    job = record["jobs"][0]
    assert max(job["bound_ns"], job["phase_bound_ns"]) <= job["runtime_ns"] * (1 + 1e-9)
    assert isinstance(job["runtime_ns"], float)
    return job["runtime_ns"]


@on_each_engine
def test_two_phases_take_what_their_definition_says(tmp_path: Path, engine: str) -> None:
    """In two equal phases, each of which takes m alone: 2 ((1 - f) t + max(f t, m))."""
    both = time_of(tmp_path / "0", ENGINES[engine], None, [0, 6])
    alone = both / 2
    cases: list[tuple[float, float]] = [(30, 1.0), (300, 1.0), (100, 0.6), (6000, 0.0)]
    for number, (time_us, overlap) in enumerate(cases, 1):
        compute = {"time": f"{time_us} us", "overlap": overlap}
        time_ns = time_us * US
        wanted = 2 * ((1 - overlap) * time_ns + max(overlap * time_ns, alone))
        # Of phases that are not begun together SST and CODES tell a ns or two more.
        assert time_of(tmp_path / str(number), ENGINES[engine], compute, [0, 6]) == pytest.approx(wanted, abs=200)


@on_each_engine
def test_the_slowest_rank_of_a_phase_decides(tmp_path: Path, engine: str) -> None:
    """Times are drawn: two ranks that exchange wait for each other, so the slower one of each phase counts."""
    compute = {"time": "500 us", "spread": 1.0}
    plain = time_of(tmp_path / "0", ENGINES[engine], None, [0, 6])
    pattern = {"kind": "ring", "message": "20 kB", "iterations": 2}
    job = {"pattern": pattern, "allocation": {"kind": "explicit", "nodes": [0, 6]}, "compute": compute}
    placed = place_jobs(this := point_on(LINE, "dimension-order", jobs=[job]), this.machine.build())[0]
    assert placed.computing is not None
    wanted = plain + placed.computing.before_ns.reshape(2, 2).max(axis=1).sum()
    assert time_of(tmp_path / "1", ENGINES[engine], compute, [0, 6]) == pytest.approx(wanted, abs=200)


@on_each_engine
def test_in_the_background_a_job_that_computes_first_does_not_disturb(tmp_path: Path, engine: str) -> None:
    computing_first = exchange([1, 7], "200 kB", background=True, compute="10 ms")
    record = simulate(tmp_path, engine, exchange([0, 6], "200 kB"), computing_first)
    assert record["jobs"][0]["runtime_ns"] == pytest.approx(LONG, rel=0.06)
    assert "compute_ns" not in record["jobs"][1]


ONE_NODE = {"machine": {"cores_per_node": 3}, "job": {"ranks_per_node": 3}}


@pytest.mark.parametrize("engine", ["caminos", "sst"])
def test_a_ring_within_a_node_takes_what_it_computes(tmp_path: Path, engine: str) -> None:
    if not engine_named(engine).probe().found:
        pytest.skip(f"needs {engine}")
    for overlap in (0.0, 0.5, 1.0):
        compute = {"time": "40 us", "overlap": overlap}
        found = time_of(tmp_path / str(overlap), ENGINES[engine], compute, [2], **ONE_NODE)
        assert found == pytest.approx(80 * US, rel=0.01)


ALL_TO_ALL = {"kind": "all-to-all", "message": "1 kB"}
ONE_AFTER_ANOTHER = {"network": {"injection": 2}}

REFUSED: list[tuple[Any, Any, list[int], dict[str, Any]]] = [
    (
        {"kind": "sst", "motifs": "native"},
        "20 us",
        [0, 6],
        {"job": {"pattern": ALL_TO_ALL}},
    ),
    ({"kind": "sst", "mpi": "default"}, {"time": "20 us", "overlap": 0.5}, [0, 6], {}),
    ("codes", "90 ns", [0, 6], {}),
    ("codes", {"time": "1 us", "overlap": 0.05}, [0, 6], {}),
    ("codes", "20 us", [2], ONE_NODE),
    ("codes", {"time": "20 us", "overlap": 0.5}, [0, 2, 4, 6], {"job": {"pattern": ALL_TO_ALL}, **ONE_AFTER_ANOTHER}),
]


@pytest.mark.parametrize(("engine", "compute", "nodes", "more"), REFUSED)
def test_what_an_engine_cannot_say_is_refused(
    tmp_path: Path, engine: Any, compute: Any, nodes: list[int], more: dict[str, Any]
) -> None:
    name = engine if isinstance(engine, str) else engine["kind"]
    if not engine_named(name).probe().found:
        pytest.skip(f"needs {name}")
    record = record_of(tmp_path, engine, compute, nodes, **more)
    assert record["status"] == "unsupported"


def computing(*rows: tuple[int, int, float, float]) -> Computing:
    """Computations of phase, rank, time before and beside."""
    phase, rank, before_ns, beside_ns = (np.array(column) for column in zip(*rows, strict=True))
    return Computing(phase.astype(np.int32), rank.astype(np.int32), before_ns, beside_ns)


MESSAGES_OF_TWO = [(0, 0, 1, 5), (0, 1, 0, 5), (1, 0, 1, 5), (3, 1, 0, 5), (3, 0, 1, 5)]


def test_the_traces_of_sst_pause_before_calls(tmp_path: Path) -> None:
    job = job_of([4, 2], MESSAGES_OF_TWO)
    seats = rank_layout(job)
    write_traces(tmp_path / "rank", job, seats, 1e9)
    plain = [read_sst_trace(tmp_path / f"rank.{seat}") for seat in (0, 1)]
    rows = computing((0, 0, 10.4, 20.0), (1, 0, 30.0, 40.0), (3, 0, 50.0, 0.0), (3, 1, 0.0, 60.0))
    write_traces(tmp_path / "rank", replace(job, computing=rows), seats, 1e9)
    # Rank 0 is SST's 1. What it computes beside a phase in which it only sends comes before the next one.
    for seat, wanted in ((1, [0, 11, 0, 20, 30, 90, 0, 0, 0]), (0, [0, 0, 0, 0, 0, 0, 0, 0, 60, 0])):
        starts_s: list[float] = []
        assert read_sst_trace(tmp_path / f"rank.{seat}", starts_s) == plain[seat]
        assert [int(start_s * 1e9) for start_s in starts_s] == wanted
    last = job_of([4, 2], [(0, 0, 1, 5)])
    with pytest.raises(WorkloadError):
        write_traces(tmp_path / "last", replace(last, computing=computing((0, 0, 0.0, 5.0))), seats, 1e9)


def test_the_traces_of_codes_move_all_calls_behind_a_computation() -> None:
    job = job_of([4, 2], [*MESSAGES_OF_TWO[:2], (0, 0, 1, 5), *MESSAGES_OF_TWO[2:]])
    rows = computing((0, 0, 1000.0, 5000.0), (1, 0, 200.4, 0.0), (2, 0, 300.0, 150.0), (3, 0, 0.0, 0.0))
    before, after = (read_trace(next(traces(2, job.messages, computing=given))) for given in (None, rows))
    assert [(c.label, c.peer, c.requests) for c in before] == [(c.label, c.peer, c.requests) for c in after]
    late = [c.time_ns - was.time_ns for c, was in zip(after, before, strict=True)]
    # Its two sends are 101 ns apart, in which it computes, too.
    first = 1000 + 5000 - 101
    assert late == [0, 1000, 1000, 1000, first, first + 201, first + 201, *[first + 651] * 4]
    assert [c.label for c in before][:5:4] == [before[0].label, WAITALL] and before[1].label == IRECV
    with pytest.raises(WorkloadError):
        next(traces(2, job.messages, 1, computing((0, 0, 0.0, 500.0))))
    (idle,) = traces(1, job_of([4], []).messages, computing=rows)
    assert [call.time_ns for call in read_trace(idle)] == [0, 1000 + 5000 + 201 + 300 + 150]


INPUTS = {"caminos": "f95717a91381", "sst": "0aaf90327945", "codes": "52728532d348"}
"""Digests of what is prepared for this point; others make all records stale."""


@pytest.mark.parametrize("engine", INPUTS)
def test_a_job_that_does_not_compute_is_prepared_as_ever(tmp_path: Path, engine: str) -> None:
    pattern = {"kind": "all-to-all", "order": "random"}
    this = point_on(LINE, "dimension-order", pattern, "20 kB", engine=engine)
    machine = this.machine.build()
    command = engine_named(engine).write(BuiltPoint(this, machine, place_jobs(this, machine)), tmp_path)
    assert files_digest(tmp_path, command) == INPUTS[engine]


def test_caminos_is_told_of_computing_before_the_messages(tmp_path: Path) -> None:
    engine = ENGINES["caminos"]
    job = {"share": 0.2, "pattern": {"kind": "ring", "message": "20 kB"}}
    texts = []
    for number, compute in enumerate(({}, {"compute": {"time": "1.04 us", "overlap": 0.5}})):
        this = point_on(LINE, "dimension-order", engine=engine, jobs=[job | compute])
        machine, folder = this.machine.build(), tmp_path / str(number)
        folder.mkdir()
        engine_named("caminos").write(BuiltPoint(this, machine, place_jobs(this, machine)), folder)
        texts.append({name: (folder / name).read_text() for name in (OPERATIONS, MACHINE, CONFIGURATION)})
    plain, told = texts
    assert told[MACHINE] == plain[MACHINE]
    calcs = [re.findall(r"^0 (\d) \d (\d+) 0$", text[OPERATIONS], re.MULTILINE) for text in texts]
    # 520 ns are 5.2 cycles, which are rounded up.
    assert calcs == [[("0", "0"), ("1", "0")], [("0", "6"), ("0", "6"), ("1", "6"), ("1", "6")]]
