"""Costs of message passing in software against closed forms, on packet and flow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricstudy.core.store import Record
from fabricstudy.engine.attempt import check_supported
from fabricstudy.engine.point import PlannedPoint, Point, machine_id, point_id
from fabricstudy.engine.process import NotDone
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder

from ..machines import point_on

MACHINE = {
    "kind": "hyperx", "shape": [2], "nodes_per_router": 4, "bandwidth": "1 GB/s",
    "latency": {"links": "300 ns", "host": "50 ns"},
}  # fmt: skip
COST = {"send_overhead": "700 ns", "receive_overhead": "400 ns", "copy_bandwidth": "4 GB/s"}
SIZE = 8000
ALONE_NS = SIZE + 2 * 50 + 300 + 2 * 100
"""A message at 1 GB/s over two host links, a cable and two routers."""
COST_NS = 700 + 400 + 2 * SIZE / 4


def job_of(folder: Path, engine: str, pattern: dict[str, Any], cost: dict[str, Any]) -> Record:
    jobs = [{"nodes": 8, "pattern": pattern, "mapping": "linear", "allocation": "cluster"}]
    network = {"router_latency": "100 ns", **cost}
    written = {"machine": MACHINE, "routing": "minimal", "engine": engine, "jobs": jobs, "network": network, "seed": 1}
    point = Point.model_validate(written, context={"folder": folder.parent})
    planned = PlannedPoint(point_id(point), machine_id(point.machine), point)
    record = simulate_in_folder(planned, folder, Limits())["record"]
    assert record["status"] == "done", record["reason"]
    found: Record = record["jobs"][0]
    return found


def skip_unless_built(engine: str) -> None:
    probe = engine_named(engine).probe()
    if not probe.found:
        pytest.skip(str(probe.reason))


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_a_ping_pong_takes_two_messages_with_their_costs(tmp_path: Path, engine: str) -> None:
    skip_unless_built(engine)
    pattern = {"kind": "ping-pong", "message": f"{SIZE} B", "iterations": 5}
    free = job_of(tmp_path / "free", engine, pattern, {})
    costly = job_of(tmp_path / "costly", engine, pattern, COST)
    assert free["runtime_ns"] == pytest.approx(10 * ALONE_NS, rel=1e-6)
    assert costly["runtime_ns"] == pytest.approx(10 * (ALONE_NS + COST_NS), rel=1e-6)
    assert costly["critical_path_ns"] == pytest.approx(costly["runtime_ns"], rel=1e-6)
    assert free["bound_ns"] <= costly["bound_ns"] <= costly["runtime_ns"]


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_a_rank_pays_for_its_messages_one_after_the_other(tmp_path: Path, engine: str) -> None:
    """Seven messages of no bytes to rank 0: they arrive together, and are received one by one."""
    skip_unless_built(engine)
    (tmp_path / "in.csv").write_text(
        "phase,source,destination,bytes\n" + "".join(f"0,{rank},0,0\n" for rank in range(1, 8))
    )
    pattern = {"kind": "messages", "file": "in.csv"}
    costly = job_of(tmp_path / "run", engine, pattern, COST)
    # The nearest ones are three on the same router: their first costs begin before the last message is there.
    last_ns = 700 + 2 * 50 + 300 + 2 * 100
    first_ns = 700 + 2 * 50 + 100
    assert costly["runtime_ns"] == pytest.approx(max(first_ns + 7 * 400, last_ns + 4 * 400), rel=1e-6)


def test_a_ring_pays_for_more_messages_than_recursive_doubling(tmp_path: Path) -> None:
    """14 steps against 3: with short messages the costs decide."""
    skip_unless_built("packet")
    times = {
        algorithm: job_of(
            tmp_path / algorithm, "packet", {"kind": "all-reduce", "message": "64 B", "algorithm": algorithm}, COST
        )["runtime_ns"]
        for algorithm in ("ring", "recursive-doubling")
    }
    assert times["ring"] >= 14 * 1100 and 3 * 1100 <= times["recursive-doubling"] < times["ring"] / 3


@pytest.mark.parametrize("engine", ["caminos", "sst", "codes"])
@pytest.mark.parametrize("key", COST)
def test_other_engines_refuse(engine: str, key: str) -> None:
    point = point_on(MACHINE, engine=engine, network={key: COST[key]})
    with pytest.raises(NotDone) as refused:
        check_supported(point, engine_named(engine), point.machine.build())
    assert refused.value.status == "unsupported" and f"network.{'send_overhead'}" in str(refused.value)


def test_offered_traffic_refuses() -> None:
    offered = {"traffic": "uniform", "load": 0.3}
    point = point_on(MACHINE, engine="packet", network=COST, jobs=[], offered=offered)
    with pytest.raises(NotDone):
        check_supported(point, engine_named("packet"), point.machine.build())
