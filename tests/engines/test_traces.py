"""Operations with dependencies: closed forms, phases as their special case, bounds, idle cycles, all engines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.outcome import EngineResult
from fabricstudy.engine.point import PlannedPoint, machine_id, point_id
from fabricstudy.engine.records import job_critical_path_ns
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder
from fabricstudy.workload.matching import matched
from fabricstudy.workload.messages import Messages, PlacedJob, WorkloadError
from fabricstudy.workload.operations import RECEIVE, SEND, Operations
from fabricstudy.workload.pattern.base import Pattern
from fabricstudy.workload.phases import from_phases
from fabricstudy.workload.sequences import merged
from fabricstudy.workload.traces.mpi import Calls, Program

from ..machines import DRAGONFLY, job_of, line, place_jobs, point_on
from ..unit.workload.test_operations import operations_of, programs
from .run_caminos import run, simulate

pytestmark = pytest.mark.skipif(not Engine(Caminos).probe().found, reason="CAMINOS is not built")

CROSSBAR = line([1e9], nodes=8)
"""Nodes 0 to 7 are on one router; 1 GB/s, and no latency."""
CYCLE_NS = 100.0
POINT = point_on(
    DRAGONFLY,
    engine={"kind": "caminos", "phit": "100 B"},
    network={"router_latency": "0 ns", "packet": "1 kB", "buffer": "8 kB"},
)
"""A phit of 100 B takes a cycle of 100 ns."""


def job_with(operations: Operations, nodes: list[int]) -> PlacedJob:
    sends = operations.sends
    ends = operations.rank[sends], operations.rank[operations.partner[sends]]
    messages = Messages(np.zeros(len(sends), dtype=np.int32), *ends, operations.size_bytes[sends])
    return PlacedJob("app", np.array(nodes, dtype=np.int32), messages, operations=operations)


def time_of(folder: Path, *jobs: PlacedJob) -> float:
    """Return the runtime of the first job on the crossbar, in ns."""
    time_ns = simulate(folder, POINT, list(jobs), CROSSBAR)[0].job_runtime_ns[0]
    assert time_ns is not None
    return time_ns


def pair(before: str = "", beside: str = "") -> Operations:
    return operations_of(
        f"num_ranks 2\nrank 0 {{\n{before}\ns: send 20000b to 1\n{'s requires c' if before else ''}\n{beside}\n}}\n"
        "rank 1 {\nrecv 20000b from 0\n}\n"
    )


def test_one_message_takes_what_a_phase_takes_and_computation_adds_to_it(tmp_path: Path) -> None:
    alone = time_of(tmp_path / "0", job_of([0, 1], [(0, 0, 1, 20_000)]))
    # 200 phits, each stored at the router.
    assert 20_000 <= alone <= 20_000 + 3 * CYCLE_NS
    for eager in (True, False):
        assert time_of(tmp_path / "1", job_with(pair().scaled(1, eager), [0, 1])) == alone
    assert time_of(tmp_path / "2", job_with(pair("c: calc 7000"), [0, 1])) == alone + 7_000
    assert time_of(tmp_path / "3", job_with(pair(beside="calc 7000 cpu 1"), [0, 1])) == alone
    assert time_of(tmp_path / "4", job_with(pair(beside="calc 70000 cpu 1"), [0, 1])) == 70_000
    # An eager send ends with its last phit on the link, a synchronous one with its arrival.
    after = "a: calc 5000\na requires s"
    assert time_of(tmp_path / "5", job_with(pair(beside=after), [0, 1])) == 25_000
    assert time_of(tmp_path / "6", job_with(pair(beside=after).scaled(1, False), [0, 1])) == alone + 5_000


def chain(word: str) -> Operations:
    calcs = [f"c{i}: calc 1000 cpu {i}" + (f"\nc{i} {word} c{i - 1}" if i else "") for i in range(10)]
    return operations_of("\n".join(["num_ranks 1", "rank 0 {", *calcs, "}"]))


@pytest.mark.parametrize(("word", "time_ns"), [("requires", 10_000), ("irequires", 1_000)])
def test_a_chain_of_calcs_waits_for_ends_or_for_starts(tmp_path: Path, word: str, time_ns: float) -> None:
    assert time_of(tmp_path, job_with(chain(word), [0])) == time_ns


@pytest.mark.parametrize(
    "pattern",
    [{"kind": "all-reduce"}, {"kind": "all-to-all"}, {"kind": "stencil", "iterations": 3}, {"kind": "broadcast"}],
    ids=lambda pattern: str(pattern["kind"]),
)
@pytest.mark.parametrize("compute", [None, {"time": "30 us", "overlap": 0.4, "spread": 1}], ids=["", "computing"])
def test_eager_sends_are_no_slower_than_those_of_phases(tmp_path: Path, pattern: dict[str, Any], compute: Any) -> None:
    job = {"share": 0.5, "pattern": {"message": "9 kB"} | pattern} | ({"compute": compute} if compute else {})
    point = point_on(DRAGONFLY, jobs=[job])
    (placed,) = place_jobs(point, machine := point.machine.build())
    result, written = simulate(tmp_path / "phases", point, [placed])
    assert max(written["rank_waiting_cycles"]) <= max(written["job_finish_cycles"])
    synchronous = from_phases(placed.messages, placed.computing, placed.ranks)
    eager = synchronous.scaled(1, True)
    eager_result, _ = simulate(tmp_path / "eager", point, [job_with(eager, placed.node_of_rank.tolist())])
    phases_ns, eager_ns = (one.job_runtime_ns[0] or 0.0 for one in (result, eager_result))
    for operations, time_ns in ((synchronous, phases_ns), (eager, eager_ns)):
        path_ns = job_critical_path_ns(operations, placed.node_of_rank, machine, point.network.router_latency_ns)
        assert path_ns <= time_ns * 1.01
    # In a stencil, a rank that runs ahead competes with those behind.
    assert eager_ns <= phases_ns * (1.05 if pattern["kind"] == "stencil" else 1.001)


def ring_all_reduce(ranks: int, size: int) -> Operations:
    """2 (P - 1) steps, in each of which a rank sends a part to the next one and gets one from the previous one."""
    lines = [f"num_ranks {ranks}"]
    for rank in range(ranks):
        lines.append(f"rank {rank} {{")
        for step in range(2 * (ranks - 1)):
            lines.append(f"s{step}: send {size // ranks}b to {(rank + 1) % ranks} tag {step}")
            lines.append(f"r{step}: recv {size // ranks}b from {(rank - 1) % ranks} tag {step}")
            lines += [f"s{step} requires r{step - 1}", f"s{step} requires s{step - 1}"] if step else []
        lines.append("}")
    return operations_of("\n".join(lines))


def test_a_ring_all_reduce_takes_its_closed_form(tmp_path: Path) -> None:
    ranks, size = 8, 1_600_000
    time_ns = time_of(tmp_path, job_with(ring_all_reduce(ranks, size), list(range(ranks))))
    # B = 1 byte/ns; L is one phit, stored at the router, and the crossbar.
    assert time_ns == pytest.approx(2 * (ranks - 1) * (size / ranks + 2 * CYCLE_NS), rel=0.02)


def test_without_contention_a_run_takes_its_critical_path(tmp_path: Path) -> None:
    """A message goes around a ring twice, with computation in between: no two messages are under way at once."""
    ranks, lines = 5, ["num_ranks 5"]
    for rank in range(ranks):
        lines.append(f"rank {rank} {{")
        for turn in range(2):
            lines += [f"r{turn}: recv 50000b from {(rank - 1) % ranks} tag {turn}"] if rank or turn else []
            lines.append(f"c{turn}: calc {1000 * rank + 700}")
            lines += [f"c{turn} requires r{turn}"] if rank or turn else []
            last = rank == ranks - 1 and turn == 1
            to, tag = (rank + 1) % ranks, turn + (rank == ranks - 1)
            lines += [] if last else [f"s{turn}: send 50000b to {to} tag {tag}", f"s{turn} requires c{turn}"]
        lines.append("}")
    operations = operations_of("\n".join(lines))
    nodes = np.arange(ranks, dtype=np.int32)
    path_ns = job_critical_path_ns(operations, nodes, CROSSBAR, 0.0)
    time_ns = time_of(tmp_path, job_with(operations, nodes.tolist()))
    # Each of nine messages is stored at the router phit by phit.
    assert path_ns <= time_ns <= path_ns + 9 * 3 * CYCLE_NS


def test_a_background_job_runs_beside_a_trace(tmp_path: Path) -> None:
    trace = job_with(pair("c: calc 50000"), [0, 1])
    alone = time_of(tmp_path / "0", trace)
    beside = job_of([0, 1], [(0, 0, 1, 30_000)])
    disturbed = time_of(tmp_path / "1", trace, PlacedJob("b", beside.node_of_rank, beside.messages, 1e6))
    assert alone * 1.1 < disturbed < alone * 3


LINE = {"kind": "mesh", "shape": [8], "nodes_per_router": 1, "bandwidth": "1 GB/s", "latency": "10 ns"}
KINDS: dict[str, Any] = {"caminos": {"kind": "caminos", "phit": "100 B"}, "flow": {"kind": "flow", "batching": 0}}
OTHERS = [
    pytest.param(name, marks=pytest.mark.skipif(not probe.found, reason=str(probe.reason)))
    for name in ("flow", "packet", "sst", "codes")
    for probe in (engine_named(name).probe(),)
]


def result_on(folder: Path, engine: str, operations: Operations, **changes: Any) -> EngineResult:
    """Return the result of operations on nodes of their own on a line of routers."""
    given = {"engine": KINDS.get(engine, engine), "network": {"packet": "1 kB"}} | changes
    point = point_on(given.pop("machine", LINE), "dimension-order", **given)
    machine, adapter = point.machine.build(), engine_named(engine)
    jobs = [job_with(operations, list(range(operations.ranks)))]
    folder.mkdir()
    command = adapter.write(BuiltPoint(point, machine, jobs), folder)
    assert command is not None
    return adapter.result(BuiltPoint(point, machine, jobs), folder, run(command, folder))


def time_on(folder: Path, engine: str, operations: Operations) -> float:
    (time_ns,) = result_on(folder, engine, operations).job_runtime_ns
    assert time_ns is not None
    return time_ns


@pytest.mark.parametrize("engine", OTHERS)
def test_on_other_engines_computation_adds_to_one_message(tmp_path: Path, engine: str) -> None:
    alone = time_on(tmp_path / "0", engine, pair())
    assert alone == pytest.approx(20_000 + 20 + 2 * 50, rel=0.15)
    assert time_on(tmp_path / "1", engine, pair("c: calc 7000")) == pytest.approx(alone + 7_000, abs=5)
    # What a rank computes last, after all of its messages.
    beside = merged(pair(beside="calc 70000 cpu 1"))
    assert time_on(tmp_path / "2", engine, beside) == pytest.approx(70_000, abs=5)
    after = time_on(tmp_path / "3", engine, pair(beside="a: calc 50000\na requires s"))
    # In CODES sends end when their last packet begins to leave.
    assert after == pytest.approx({"flow": 70_000, "packet": 70_000, "sst": 70_000, "codes": 69_000}[engine], abs=50)


@pytest.mark.parametrize("engine", ["caminos", *OTHERS[:2]])
@settings(max_examples=20, deadline=None)
@given(program=programs(), factor=st.floats(1e-6, 3.0), eager=st.booleans())
def test_no_run_is_faster_than_its_critical_path(engine: str, program: Operations, factor: float, eager: bool) -> None:
    """Computation of any part of a picosecond, on streams that wait for each other, without latency."""
    operations = program.scaled(factor, eager)
    job, adapter = job_with(operations, list(range(operations.ranks))), engine_named(engine)
    network = {"router_latency": "0 ns", "packet": "1 kB", "buffer": "8 kB"}
    point = point_on(DRAGONFLY, engine=KINDS.get(engine, engine), network=network)
    with TemporaryDirectory() as name:
        command = adapter.write(BuiltPoint(point, CROSSBAR, [job]), folder := Path(name))
        assert command is not None
        (time_ns,) = adapter.result(BuiltPoint(point, CROSSBAR, [job]), folder, run(command, folder)).job_runtime_ns
    path_ns = job_critical_path_ns(operations, job.node_of_rank, CROSSBAR, 0.0)
    assert time_ns is not None and time_ns >= path_ns * (1 - 1e-9)


def wavefront(rows: int, columns: int, size: int) -> Operations:
    """Each rank waits for its neighbours above and to the left, computes, and sends to those below and to the right."""
    lines = [f"num_ranks {rows * columns}"]
    for rank in range(rows * columns):
        row, column = divmod(rank, columns)
        before = [rank - columns] * (row > 0) + [rank - 1] * (column > 0)
        behind = [rank + columns] * (row < rows - 1) + [rank + 1] * (column < columns - 1)
        lines += [f"rank {rank} {{", *(f"r{other}: recv {size}b from {other}" for other in before), "c: calc 20000"]
        lines += [f"c requires r{other}" for other in before]
        for other in behind:
            lines += [f"s{other}: send {size}b to {other}", f"s{other} requires c"]
        lines.append("}")
    return operations_of("\n".join(lines))


def random_calls(ranks: int, messages: int, seed: int) -> Operations:
    """Ranks that compute, and send and receive messages, some of them without waiting for the end."""
    rng = np.random.default_rng(seed)
    program = Program(ranks, lambda rank, line: "")
    calls = [Calls(program, rank) for rank in range(ranks)]
    for tag in range(messages):
        source, destination = rng.choice(ranks, 2, replace=False)
        calls[source].compute(float(rng.integers(500, 20_000)))
        calls[source].transfer(SEND, int(destination), size := int(rng.integers(5_000, 40_000)), tag, tag)
        calls[destination].transfer(RECEIVE, int(source), size, tag, None if rng.random() < 0.5 else tag)
        for one in (calls[source], calls[destination]):
            one.wait([] if rng.random() < 0.5 else [tag])
    return matched(program.listing())


@pytest.mark.parametrize("engine", OTHERS)
def test_programs_of_one_stream_take_on_each_engine_what_they_take_on_caminos(tmp_path: Path, engine: str) -> None:
    for number, program in enumerate([ring_all_reduce(8, 800_000), wavefront(2, 4, 50_000)]):
        expected = time_on(tmp_path / f"caminos-{number}", "caminos", program)
        assert 0.9 <= time_on(tmp_path / str(number), engine, program) / expected <= 1.25


@pytest.mark.parametrize("engine", OTHERS)
def test_random_programs_take_on_average_what_they_take_on_caminos(tmp_path: Path, engine: str) -> None:
    """Who goes first changes one program by 15 %, so that their geometric mean is compared."""
    ratios = []
    for seed in range(6):
        program = random_calls(8, 60, seed)
        expected = time_on(tmp_path / f"caminos-{seed}", "caminos", program)
        ratios.append(time_on(tmp_path / str(seed), engine, program) / expected)
    assert 0.9 <= np.exp(np.log(ratios).mean()) <= 1.25


FLOW = pytest.mark.skipif(not engine_named("flow").probe().found, reason="the flow engine is not built")


@FLOW
@pytest.mark.parametrize(("word", "time_ns"), [("requires", 10_000), ("irequires", 1_000)])
def test_flow_waits_for_ends_or_for_starts(tmp_path: Path, word: str, time_ns: float) -> None:
    assert time_on(tmp_path / "0", "flow", chain(word)) == time_ns


@FLOW
def test_flow_ends_where_a_wait_is_below_the_resolution_of_time(tmp_path: Path) -> None:
    """After 1,000 s of computation times differ by 0.1 ps at least, in which a byte is not sent."""
    ends = {1: 1, 2: 3, 3: 7}
    sends = [
        f"b{to}: send 1000000b to {to} tag 1\ns{to}: send {n}b to {to} tag 2\ns{to} requires c"
        for to, n in ends.items()
    ]
    receives = [f"rank {to} {{\nb: recv 1000000b from 0 tag 1\ns: recv {n}b from 0 tag 2\n}}" for to, n in ends.items()]
    program = operations_of("\n".join(["num_ranks 4", "rank 0 {", "c: calc 1000000000000", *sends, "}", *receives]))
    machine = {"kind": "torus", "shape": [5, 3], "bandwidth": {"links": "1 GB/s", "host": "6 GB/s"}}
    found = result_on(tmp_path / "0", "flow", program, machine=machine)
    assert found.job_runtime_ns == pytest.approx((1e12,), abs=1_000)


@FLOW
def test_flow_tells_ends_of_sends_and_waiting(tmp_path: Path) -> None:
    after = pair(beside="a: calc 50000\na requires s")
    eager = result_on(tmp_path / "0", "flow", after)
    late = result_on(tmp_path / "1", "flow", after.scaled(1, False))
    arrival_ns = time_on(tmp_path / "2", "flow", pair())
    assert eager.job_runtime_ns == pytest.approx((70_000,), rel=1e-9)
    assert late.job_runtime_ns == pytest.approx((arrival_ns + 50_000,), rel=1e-9)
    # Rank 0 never waits, and rank 1 always does.
    assert late.job_waiting_ns == pytest.approx((arrival_ns / 2,), rel=1e-9)


@FLOW
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(programs(), st.booleans())
def test_flow_is_no_faster_than_the_critical_path(tmp_path: Path, program: Operations, eager: bool) -> None:
    operations, nodes = program.scaled(1, eager), np.arange(program.ranks, dtype=np.int32)
    machine = point_on(LINE, "dimension-order").machine.build()
    path_ns = job_critical_path_ns(operations, nodes, machine, POINT.network.router_latency_ns)
    with TemporaryDirectory(dir=tmp_path) as folder:
        assert time_on(Path(folder) / "run", "flow", operations) >= path_ns * (1 - 1e-9)


@pytest.mark.parametrize("engine", ["sst", "codes"])
def test_what_is_no_sequence_is_refused(tmp_path: Path, engine: str) -> None:
    for operations in (
        pair(beside="c: calc 70 cpu 1\ncalc 70"),
        pair(beside="a: calc 50\na requires s").scaled(1, False),
    ):
        with pytest.raises(WorkloadError):
            result_on(tmp_path / str(len(operations.needs)), engine, operations)
    point = point_on(LINE, "dimension-order", engine=engine)
    jobs = [job_of([2, 3], [(0, 0, 1, 9_000)]), replace(job_with(pair(), [0, 1]), background_duration_ns=1e6)]
    with pytest.raises(WorkloadError):
        engine_named(engine).write(BuiltPoint(point, point.machine.build(), jobs), tmp_path)


def trace_point(folder: Path, engine: str) -> Any:
    (folder / "a.goal").write_text(
        "num_ranks 2\nrank 0 {\nc: calc 5000\ns: send 20000b to 1\ns requires c\n}\nrank 1 {\nrecv 20000b from 0\n}\n"
    )
    context = {"folder": folder}
    pattern = Pattern.model_validate({"kind": "trace", "file": "a.goal"}, context=context, by_alias=True, by_name=False)
    return point_on(DRAGONFLY, engine=engine, jobs=[{"nodes": 2, "ranks_per_node": 1, "pattern": pattern}])


def test_a_record_of_a_trace_has_its_bounds_and_its_waiting(tmp_path: Path) -> None:
    point = trace_point(tmp_path, "caminos")
    planned = PlannedPoint(point_id(point), machine_id(point.machine), point)
    record = simulate_in_folder(planned, tmp_path / "run", Limits())["record"]
    assert record["status"] == "done", record["reason"]
    (job,) = record["jobs"]
    assert job["phase_bound_ns"] is None
    assert 25_000 < job["critical_path_ns"] <= job["runtime_ns"] < 26_500
    assert job["compute_ns"] == 2_500
    # Rank 0 never waits, and rank 1 always does.
    assert job["waiting_ns"] == pytest.approx(job["runtime_ns"] / 2, rel=0.01)
