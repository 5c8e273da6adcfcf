"""Nodes with several ports: how messages are divided among them, times by hand, bounds, and who refuses them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.core.store import Record
from fabricstudy.engine.caminos.adapter import Caminos
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.point import PlannedPoint, Point, machine_id, point_id
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder
from fabricstudy.structure.load import link_loads

from ..machines import place_jobs, point_on
from .run_caminos import ends, simulate
from .test_caminos_table import TREE, table_of, with_table

PROBE = Engine(Caminos).probe()
on_caminos = pytest.mark.skipif(not PROBE.found, reason=str(PROBE.reason))

PAIR = {"kind": "mesh", "shape": [2], "bandwidth": {"links": "8 GB/s", "host": "1 GB/s"}, "latency": "0 ns"}
"""Two nodes; the link between their routers is no limit."""


def point(pattern: str, network: dict[str, Any], machine: dict[str, Any] = PAIR, **more: Any) -> Point:
    """Point of 500 kB messages, without latencies."""
    network = {"router_latency": "0 ns"} | network
    sections = {"engine": {"kind": "caminos", "phit": "500 B"}, "network": network} | more
    return point_on(machine, "dimension-order", pattern, "500 kB", **sections)


def record_of(folder: Path, this: Point) -> Record:
    """Simulate a point."""
    planned = PlannedPoint(point_id(this), machine_id(this.machine), this)
    record: Record = simulate_in_folder(planned, folder, Limits())["record"]
    return record


@on_caminos
@pytest.mark.parametrize(
    ("pattern", "ports", "rails", "time_us"),
    [
        # Both nodes send the other one two messages at once.
        ("ring", 1, "round-robin", 1000),
        ("ring", 2, "round-robin", 500),
        ("ring", 2, "striping", 500),
        # One has a third port, which gets none of two messages, and its part of each that is striped.
        ("ring", 3, "round-robin", 500),
        ("ring", 3, "striping", 1000 / 3),
        # A message there, and then one back.
        ("ping-pong", 1, "striping", 1000),
        ("ping-pong", 2, "round-robin", 1000),
        ("ping-pong", 2, "striping", 500),
        ("ping-pong", 4, "striping", 250),
    ],
)
def test_times_by_hand(tmp_path: Path, pattern: str, ports: int, rails: str, time_us: float) -> None:
    for injection in (1, 16):
        network = {"ports_per_node": ports, "rails": rails, "injection": injection}
        record = record_of(tmp_path / str(injection), point(pattern, network))
        assert record["status"] == "done", record["reason"]
        job = record["jobs"][0]
        # A phit through three links and two routers, a few for each phase.
        assert job["runtime_ns"] == pytest.approx(time_us * 1000, rel=0.03)
        assert max(job["bound_ns"], job["phase_bound_ns"]) <= job["runtime_ns"]
        if rails == "striping":
            assert max(job["bound_ns"], job["phase_bound_ns"]) == pytest.approx(time_us * 1000, rel=0.01)


@on_caminos
def test_one_port_is_what_there_was_before(tmp_path: Path) -> None:
    plain = point("ring", {})
    assert point_id(plain) == point_id(point("ring", {"ports_per_node": 1, "rails": "round-robin"}))
    striped = point("ring", {"rails": "striping"})
    one, two = (record_of(tmp_path / name, this) for name, this in (("one", plain), ("two", striped)))
    assert (one["input"], one["jobs"], one["links"]) == (two["input"], two["jobs"], two["links"])


@on_caminos
@pytest.mark.parametrize("rails", ["round-robin", "striping"])
def test_links_and_jobs_are_those_of_nodes(tmp_path: Path, rails: str) -> None:
    """D-mod-k goes by the number of the node, whatever the port, and a table of it too; links know the jobs."""
    pattern = {"kind": "all-to-all", "message": "20 kB"}
    jobs = [{"share": 0.5, "pattern": pattern, "allocation": "random"}, {"share": 0.5, "pattern": pattern}]
    this = point_on(TREE, "d-mod-k", network={"ports_per_node": 3, "rails": rails}, jobs=jobs)
    machine = this.machine.build()
    placed = place_jobs(this, machine)
    result, raw = simulate(tmp_path / "own", this, placed, machine)
    loads = link_loads(machine, *ends(placed), this.routing).link_bytes
    assert result.link_bytes is not None and np.allclose(result.link_bytes, loads, rtol=1e-12)
    assert result.job_link_packets is not None
    for job, packets in zip(placed, result.job_link_packets, strict=True):
        own = link_loads(machine, *ends([job]), this.routing).link_bytes
        assert np.array_equal(packets > 0, own > 0)
    by_table = with_table(this, table_of(tmp_path, machine, this.routing))
    assert simulate(tmp_path / "table", by_table, placed, machine)[1] == raw


@pytest.mark.parametrize("engine", ["sst", "codes"])
def test_engines_with_one_port_refuse_more(engine: str) -> None:
    this = point("ring", {"ports_per_node": 2}, PAIR | {"shape": [4]}, engine=engine)
    assert engine_named(engine).unsupported(this, this.machine.build())
