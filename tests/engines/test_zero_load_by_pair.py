"""Latency of the messages that two nodes exchange against its closed form, on each engine."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.engine.attempt import attempt_point
from fabricstudy.engine.definitions import built
from fabricstudy.engine.point import Point
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.machine.base import Topology
from fabricstudy.machine.distances import hop_distances


def links(*classes: str) -> dict[str, Any]:
    """Return bandwidth and latency of links between routers, and to nodes."""
    return {"bandwidth": "1 GB/s", "latency": dict.fromkeys(classes, "128 ns") | {"host": "64 ns"}}


MACHINES: dict[str, tuple[dict[str, Any], Any]] = {
    "dragonfly": (
        {"groups": 9, "routers_per_group": 4, "nodes_per_router": 2, "bandwidth": "1 GB/s"}
        | {"latency": {"local": "128 ns", "global": "256 ns", "host": "64 ns"}},
        "minimal",
    ),
    "torus": ({"shape": [7, 7]} | links("links"), {"kind": "dimension-order", "tie": "positive"}),
    "hyperx": ({"shape": [4, 4], "nodes_per_router": 2} | links("links"), "dimension-order"),
    "express-mesh": ({"shape": [5, 5], "gap": 2, "nodes_per_router": 2} | links("links"), "dimension-order"),
    "fat-tree": ({"radix": 8} | links("pod", "core"), "d-mod-k"),
    "slim-fly": ({"q": 5, "nodes_per_router": 2} | links("local", "global"), "minimal"),
}
REFUSED = {("codes", "torus"), ("sst", "slim-fly"), ("sst", "express-mesh")}
"""CODES delays each message on a torus, and SST loses the results of sources on a graph."""

ROUTER_NS = {"caminos": 0.0, "packet": 0.0, "sst": 64 / 2, "codes": 10.0}
"""Largest additional time in a router: on SST half a flit in the crossbar, on CODES noise."""


@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize("engine", ROUTER_NS)
def test_latency_of_a_pair(engine: str, kind: str, tmp_path: Path) -> None:
    """Between node 0 and nodes of the nearest other router, of the farthest one, and of one between them."""
    probe = engine_named(engine).probe()
    if not probe.found:
        pytest.skip(str(probe.reason))
    if (engine, kind) in REFUSED:
        pytest.skip(f"{engine} offers no traffic on {kind} machines")
    config, routing = MACHINES[kind]
    machine = Topology.model_validate({"kind": kind} | config, by_alias=True).build()
    hops = hop_distances(machine).between(0 * machine.node_router, machine.node_router)
    order = np.argsort(hops, kind="stable")
    for goal in (order[np.flatnonzero(hops[order])[0]], order[len(order) // 2], order[-1]):
        (tmp_path / "pair.csv").write_text(f"source,destination,bytes\n0,{goal},1\n{goal},0,1\n")
        row = row_of(engine, {"kind": kind} | config, routing, tmp_path / str(goal))
        assert -0.01 <= row["latency_mean_ns"] - row["zero_load_ns"] <= 0.01 + ROUTER_NS[engine] * (hops[goal] + 1)


def test_sst_refuses_nodes_that_only_receive(tmp_path: Path) -> None:
    (tmp_path / "pair.csv").write_text("source,destination,bytes\n0,2,1\n2,0,0\n")
    point = point_of("sst", {"kind": "torus"} | MACHINES["torus"][0], MACHINES["torus"][1], tmp_path)
    assert "node 2" in str(engine_named("sst").unsupported(point, built(point.machine).machine))


def point_of(engine: str, machine: dict[str, Any], routing: Any, folder: Path) -> Point:
    """Return a point with messages of one packet, at a load at which none waits for another."""
    traffic = {"kind": "matrix", "file": "pair.csv"}
    return Point.model_validate(
        {
            "machine": machine, "routing": routing, "engine": engine, "seed": 1,
            "network": {"packet": "256 B", "buffer": "16 kB", "router_latency": "128 ns"},
            "offered": {"traffic": traffic, "load": 0.5, "arrivals": "periodic", "warmup": 50, "measured": 2000},
        },
        by_alias=True,
        context={"folder": folder},
    )  # fmt: skip


def row_of(engine: str, machine: dict[str, Any], routing: Any, folder: Path) -> dict[str, Any]:
    point = point_of(engine, machine, routing, folder.parent)
    folder.mkdir()
    record = attempt_point(point, engine_named(engine), built(point.machine), Limits(), folder)
    assert record["status"] == "done", record
    row: dict[str, Any] = record["latency"]
    return row
