"""Machines without cables between routers, and with groups and sides of 1: what validation begins with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.engine.registry import engine_named
from fabricstudy.machine.base import Topology
from fabricstudy.report.machine_picture import small_picture
from fabricstudy.structure.summary import describe_machine

from ..machines import least_cut_Bps, point_on
from .test_bounds import bounded, engines, record_of

ONE_ROUTER: dict[str, dict[str, Any]] = {
    "hyperx": {"kind": "hyperx", "shape": [1], "nodes_per_router": 6},
    "torus": {"kind": "torus", "shape": [1, 1], "nodes_per_router": 6},
    "dragonfly": {"kind": "dragonfly", "groups": 1, "routers_per_group": 1, "nodes_per_router": 6},
    "xgft": {"kind": "xgft", "down": [6, 1], "up": [1]},
    "graph": {"kind": "graph", "file": "switch.csv"},
}
"""Machines whose nodes are on one router."""
ONE_GROUP: dict[str, tuple[dict[str, Any], int]] = {
    "dragonfly": ({"kind": "dragonfly", "groups": 1, "routers_per_group": 8, "nodes_per_router": 2}, 1),
    "megafly": (
        {"kind": "megafly", "groups": 1, "leaves_per_group": 4, "spines_per_group": 2, "nodes_per_leaf": 2},
        2,
    ),
    "fat-tree": ({"kind": "fat-tree", "radix": 8, "pods": 1}, 2),
    "star": ({"kind": "xgft", "down": [4, 6], "up": [1]}, 2),
    "ring": ({"kind": "torus", "shape": [1, 8, 1], "nodes_per_router": 2}, 4),
    "clique": ({"kind": "hyperx", "shape": [8, 1], "nodes_per_router": 2}, 1),
    "line": ({"kind": "mesh", "shape": [1, 5]}, 4),
}
"""Machines with a group, pod or side of 1, and the hops of their longest shortest path."""


def machine(folder: Path, written: dict[str, Any]) -> Topology:
    links = "".join(f"n{node},r0,host,1 GB/s,40 ns\n" for node in range(6))
    (folder / "switch.csv").write_text("from,to,class,bandwidth,latency\n" + links)
    bandwidth = {} if written["kind"] == "graph" else {"bandwidth": "1 GB/s"}
    return Topology.model_validate(written | bandwidth, context={"folder": folder}, by_alias=True, by_name=False)


def ping_pong_ns(folder: Path, written: dict[str, Any], engine: str, **job: Any) -> float:
    """Return the runtime of two messages of 100 kB, one each way between the furthest nodes, above its bounds."""
    topology = machine(folder, written)
    whole: dict[str, Any] = {"nodes": topology.nodes, "pattern": {"kind": "ping-pong", "message": "100 kB"}}
    record = record_of(topology, "minimal", engine, folder / "run", **whole | {"allocation": "cluster"} | job)
    return float(bounded(record)["runtime_ns"])


@pytest.mark.parametrize("engine", engines("packet", "flow"))
@pytest.mark.parametrize("name", ONE_ROUTER)
def test_a_single_switch_takes_the_time_of_its_closed_form(tmp_path: Path, name: str, engine: str) -> None:
    # Twice two cables of 40 ns, a router of 100 ns, and 100 kB at 1 GB/s.
    assert ping_pong_ns(tmp_path, ONE_ROUTER[name], engine) == pytest.approx(2 * (2 * 40 + 100 + 100_000))


@pytest.mark.parametrize("engine", engines("packet", "flow"))
@pytest.mark.parametrize("name", ONE_GROUP)
def test_parts_of_one_take_the_time_of_their_hops(tmp_path: Path, name: str, engine: str) -> None:
    written, hops = ONE_GROUP[name]
    expected_ns = 2 * ((hops + 2) * 40 + (hops + 1) * 100 + 100_000)
    assert ping_pong_ns(tmp_path, written, engine) == pytest.approx(expected_ns)


@pytest.mark.parametrize("engine", engines("packet", "flow"))
@pytest.mark.parametrize("routing", ["minimal", "adaptive", "dimension-order", "valiant", "ugal"])
def test_every_routing_carries_all_to_all_on_one_router(tmp_path: Path, routing: str, engine: str) -> None:
    job: dict[str, Any] = {"nodes": 6, "pattern": {"kind": "all-to-all", "message": "20 kB"}}
    bounded(record_of(machine(tmp_path, ONE_ROUTER["hyperx"]), routing, engine, tmp_path / "run", **job))


@pytest.mark.parametrize("engine", engines("caminos"))
def test_caminos_takes_a_few_phits_more_for_a_group_of_one(tmp_path: Path, engine: str) -> None:
    exact_ns = 2 * (3 * 40 + 2 * 100 + 100_000)
    assert exact_ns <= ping_pong_ns(tmp_path, ONE_GROUP["dragonfly"][0], engine) <= exact_ns + 1000


@pytest.mark.parametrize("name", [*ONE_ROUTER, *ONE_GROUP])
def test_untried_models_refuse_parts_of_one(tmp_path: Path, name: str) -> None:
    topology = machine(tmp_path, ONE_ROUTER.get(name) or ONE_GROUP[name][0])
    reasons = [
        engine_named(engine).unsupported(point_on(topology, engine=engine), topology.build())
        for engine in ("sst", "codes", "caminos")
    ]
    assert all(reasons[:2]) or name in ("fat-tree", "star", "xgft")
    assert (reasons[2] is not None) == (name in ONE_ROUTER and name != "xgft")


@pytest.mark.parametrize("name", ONE_ROUTER)
def test_one_router_is_described_and_drawn(tmp_path: Path, name: str) -> None:
    built = machine(tmp_path, ONE_ROUTER[name]).build()
    found = describe_machine(built)
    assert (found.diameter, found.mean_hops, found.bisection.upper_Bps) == (0, 0.0, 3e9) and found.bisection.exact
    assert small_picture(built)[1]


@pytest.mark.parametrize("name", ["dragonfly", "ring", "clique", "line"])
def test_parts_of_one_have_the_bisection_of_brute_force(tmp_path: Path, name: str) -> None:
    written, hops = ONE_GROUP[name]
    built = machine(tmp_path, written).build()
    found = describe_machine(built)
    assert found.diameter == hops and found.bisection.exact
    assert found.bisection.upper_Bps == least_cut_Bps(built)
    assert np.bincount(built.cable_class, built.cable_count, len(built.classes)).sum() == built.cables
