"""One message at a time on the packet engine takes the critical path, on every kind of machine."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.core.store import Record
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.packet.adapter import Packet
from fabricstudy.engine.point import PlannedPoint, Point, machine_id, point_id
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder
from fabricstudy.machine.base import Topology

from .test_bounds import FAMILIES, cabled

pytestmark = pytest.mark.skipif(not Engine(Packet).probe().found, reason="the packet engine is not built")
EXTENSIONS = ["twisted_torus"]

BETWEEN_NS = 0.01
"""Picoseconds that the engine rounds a message by, at most, on ten links."""
SLOW_PORTS = {"bandwidth": {"links": "3 GB/s", "host": "9 GB/s"}, "latency": {"links": "30 ns", "host": "7 ns"}}
TREE = {"kind": "xgft", "down": [4, 4], "up": [2], "bandwidth": {"links": "2 GB/s", "host": "5 GB/s"}}
ONE_SPEED: dict[str, Any] = {"bandwidth": "1 GB/s", "cores_per_node": 1}
ONE_PATH: dict[str, tuple[dict[str, Any], Any, dict[str, Any]]] = {
    **{kind: ({"kind": kind} | ONE_SPEED | config, "minimal", {}) for kind, config in FAMILIES.items()},
    "rails of two speeds": (
        {"kind": "rails", "domains": 3, "accelerators": 4, "bandwidth": {"scale_up": "450 GB/s", "rail": "50 GB/s"}}
        | {"latency": {"scale_up": "100 ns", "rail": "300 ns", "uplink": "500 ns"}},
        "minimal", {},
    ),
    "islands": (
        {"kind": "dragonfly", "groups": 4, "routers_per_group": 2, "nodes_per_router": 2}
        | {"bandwidth": {"local": "2 GB/s", "global": "1 GB/s", "host": "7 GB/s"}}
        | {"latency": {"local": "10 ns", "global": "1 us", "host": "5 ns"}},
        "minimal", {},
    ),
    "slow ports": ({"kind": "torus", "shape": [5, 3]} | SLOW_PORTS, {"kind": "dimension-order", "tie": "positive"}, {}),
    "mesh": ({"kind": "mesh", "shape": [4, 3]} | SLOW_PORTS, "dimension-order", {}),
    "tree": (TREE, "d-mod-k", {}),
    "tree by flow hash": (TREE, "ecmp", {}),
    "ports in turn": (
        {"kind": "jellyfish", "routers": 8, "degree": 3, "nodes_per_router": 2, "bandwidth": "1 GB/s"}, "minimal",
        {"ports_per_node": 2},
    ),
    "failed cables": (
        {"kind": "torus", "shape": [4, 3], "bandwidth": "1 GB/s"}
        | {"faults": {"cables": 2, "degraded": {"cables": 6, "to": 0.4}, "seed": 3}},
        "ecmp", {},
    ),
}  # fmt: skip
SEVERAL: dict[str, tuple[dict[str, Any], Any, dict[str, Any]]] = {
    "slow ports": ({"kind": "torus", "shape": [4, 4]} | SLOW_PORTS, "minimal", {}),
    "tree": (TREE, "minimal", {}),
    "rails without a spine": (
        {"kind": "rails", "domains": 3, "accelerators": 4, "bandwidth": {"scale_up": "450 GB/s", "rail": "50 GB/s"}}
        | {"spine": "none"},
        "minimal", {},
    ),
    "striping": ({"kind": "mesh", "shape": [3, 3]} | SLOW_PORTS, "minimal", {"ports_per_node": 2, "rails": "striping"}),
    "valiant": ({"kind": "jellyfish", "routers": 9, "degree": 4} | ONE_SPEED | {"nodes_per_router": 1}, "valiant", {}),
    "degraded": (
        {"kind": "hyperx", "shape": [3, 3], "nodes_per_router": 2, "bandwidth": "1 GB/s"}
        | {"faults": {"cables": 3, "degraded": {"cables": 4, "to": 0.3}, "seed": 2}},
        "minimal", {},
    ),
}  # fmt: skip


def walk(ranks: int, seed: int = 1) -> list[tuple[int, int, int]]:
    """Return source, destination and bytes of messages of which each waits for the one before."""
    rng = np.random.default_rng(seed)
    visited = [0, *(int(rank) for rank in rng.integers(0, ranks, min(3 * ranks, 300))), ranks - 1, 0]
    ends = [pair for pair in itertools.pairwise(visited) if pair[0] != pair[1]]
    return [(*pair, int(rng.integers(0, 40_000))) for pair in ends]


def time_of(folder: Path, machine: Any, routing: Any, network: dict[str, Any], as_trace: bool = False) -> Record:
    """Return the job of a point in which ranks on all nodes send the messages of `walk`."""
    folder.mkdir(exist_ok=True)
    ranks = (machine if isinstance(machine, Topology) else Topology.model_validate(machine)).nodes
    messages = walk(ranks)
    if as_trace:
        lines: list[list[str]] = [[] for _ in range(ranks)]
        for number, (source, destination, size) in enumerate(messages):
            lines[source] += [f"s{number}: send {size}b to {destination} tag {number}"]
            lines[source] += [f"s{number} requires r{number - 1}"] * (number > 0)
            lines[destination] += [f"r{number}: recv {size}b from {source} tag {number}"]
        text = "".join(f"rank {rank} {{\n{chr(10).join(of_rank)}\n}}\n" for rank, of_rank in enumerate(lines))
        (folder / "walk.goal").write_text(f"num_ranks {ranks}\n{text}")
    else:
        rows = "".join(f"{phase},{','.join(map(str, row))}\n" for phase, row in enumerate(messages))
        (folder / "walk.csv").write_text(f"phase,source,destination,bytes\n{rows}")
    pattern = {"kind": "trace", "file": "walk.goal"} if as_trace else {"kind": "messages", "file": "walk.csv"}
    job = {"nodes": ranks, "pattern": pattern, "allocation": "cluster", "mapping": "linear"}
    written = {"machine": machine, "routing": routing, "engine": "packet", "network": network, "jobs": [job], "seed": 1}
    point = Point.model_validate(written, context={"folder": folder})
    planned = PlannedPoint(point_id(point), machine_id(point.machine), point)
    record = simulate_in_folder(planned, folder / "run", Limits())["record"]
    assert record["status"] == "done", record["reason"]
    found: Record = record["jobs"][0]
    return found


@pytest.mark.parametrize("name", ONE_PATH)
def test_one_message_at_a_time_takes_the_critical_path(tmp_path: Path, name: str) -> None:
    """Where one link limits all paths of a message, whatever the paths."""
    job = time_of(tmp_path, *ONE_PATH[name])
    assert job["runtime_ns"] == pytest.approx(job["critical_path_ns"], abs=BETWEEN_NS * 100)
    assert job["critical_path_ns"] > 0


@pytest.mark.parametrize("name", ["rails of two speeds", "islands", "failed cables"])
def test_operations_take_it_too(tmp_path: Path, name: str) -> None:
    job = time_of(tmp_path, *ONE_PATH[name], as_trace=True)
    assert job["runtime_ns"] == pytest.approx(job["critical_path_ns"], abs=BETWEEN_NS * 100)


@pytest.mark.parametrize("name", SEVERAL)
def test_several_paths_take_no_less(tmp_path: Path, name: str) -> None:
    job = time_of(tmp_path, *SEVERAL[name])
    assert 0.3 * job["runtime_ns"] <= job["critical_path_ns"] <= job["runtime_ns"] + BETWEEN_NS * 100


@pytest.mark.parametrize("seed", range(3))
def test_unequal_cables_take_no_less(tmp_path: Path, seed: int) -> None:
    job = time_of(tmp_path / "run", cabled(tmp_path / "machine", seed), "minimal", {})
    assert 0 < job["critical_path_ns"] <= job["runtime_ns"] + BETWEEN_NS * 100
