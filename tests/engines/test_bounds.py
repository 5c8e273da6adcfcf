"""No simulated time is below its lower bound, on any family, under any routing, on any engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.core.store import Record
from fabricstudy.engine.caveats import takes_other_paths
from fabricstudy.engine.point import PlannedPoint, machine_id, point_id
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder
from fabricstudy.machine.base import Topology
from fabricstudy.routing.base import Routing

from ..machines import DRAGONFLY, point_on

EXTENSIONS = ["twisted_torus"]


def engines(*names: str) -> list[Any]:
    """Return these engines as parameters, skipped where they are absent."""
    probes = {name: engine_named(name).probe() for name in names}
    return [
        pytest.param(name, marks=pytest.mark.skipif(not probe.found, reason=str(probe.reason)))
        for name, probe in probes.items()
    ]


OURS = engines("caminos", "flow", "packet")
"""Of the others, none simulates links of one class that differ in bandwidth."""
FAMILIES: dict[str, dict[str, Any]] = {
    "aries": {"groups": 3, "chassis_per_group": 2, "blades_per_chassis": 2, "nodes_per_router": 2},
    "bluegene-p": {"midplanes": [1, 1, 1]},
    "bluegene-q": {"midplanes": [1, 1, 1, 1]},
    "dragonfly": {"groups": 5, "routers_per_group": 2, "nodes_per_router": 2, "links_per_group_pair": 2},
    "express-mesh": {"shape": [8, 4], "gap": 2},
    "fat-tree": {"radix": 4},
    "gemini": {"shape": [3, 2, 2]},
    "hypercube": {"dimensions": 4},
    "hyperx": {"shape": [3, 4], "nodes_per_router": 2},
    "jellyfish": {"routers": 12, "degree": 4, "nodes_per_router": 2},
    "megafly": {"groups": 3, "leaves_per_group": 2, "spines_per_group": 2, "nodes_per_leaf": 3},
    "mesh": {"shape": [3, 4]},
    "percs": {"supernodes": 3, "drawers_per_supernode": 2, "hubs_per_drawer": 2, "nodes_per_router": 2},
    "polarfly": {"q": 3, "nodes_per_router": 2},
    "rails": {"domains": 3, "accelerators": 4},
    "slim-fly": {"q": 5, "nodes_per_router": 1},
    "tofu-d": {"units": [2, 2, 2]},
    "torus": {"shape": [4, 3, 2]},
    "twisted-torus": {"shape": [3, 6]},
    "xgft": {"down": [3, 4], "up": [2]},
}
ROUTINGS = ("minimal", "adaptive", "dimension-order", "d-mod-k", "valiant", "ugal")
STENCIL = {"pattern": {"kind": "stencil", "message": "20 kB"}, "allocation": "random", "mapping": "random"}


def record_of(
    machine: Topology | dict[str, Any], routing: Any, engine: str, folder: Path, seed: int = 1, **job: Any
) -> Record:
    """Return the record of a point with one job."""
    this = point_on(machine, routing, engine=engine, seed=seed, jobs=[{"nodes": 12} | STENCIL | job])
    found: Record = simulate_in_folder(PlannedPoint(point_id(this), machine_id(this.machine), this), folder, Limits())[
        "record"
    ]
    return found


def bounded(record: Record) -> Record:
    """Return the job of a finished point, which took at least its bounds."""
    assert record["status"] == "done", record["reason"]
    (job,) = record["jobs"]
    assert 0 < max(job["bound_ns"], job["phase_bound_ns"]) <= job["runtime_ns"] * (1 + 1e-9)
    return dict(job)


def test_every_family_is_here() -> None:
    assert {*FAMILIES, "graph"} == set(Topology.FAMILY.kinds)
    assert {*ROUTINGS, "ecmp", "table"} == set(Routing.FAMILY.kinds)


@pytest.mark.parametrize("engine", engines("caminos", "flow", "packet", "sst", "codes"))
@pytest.mark.parametrize("kind", FAMILIES)
def test_no_family_is_faster_than_its_bounds(tmp_path: Path, kind: str, engine: str) -> None:
    machine = {"kind": kind, "bandwidth": "1 GB/s", "cores_per_node": 1} | FAMILIES[kind]
    fitting = [
        routing
        for routing in ROUTINGS
        if Routing.model_validate({"kind": routing}).needs in (None, *Topology.model_validate(machine).traits)
    ]
    done = [record_of(machine, routing, engine, tmp_path / routing) for routing in fitting]
    simulated = [bounded(record) for record in done if record["status"] != "unsupported"]
    if engine in ("sst", "codes") and not simulated:
        pytest.skip(done[0]["reason"])
    assert len(simulated) >= (2 if engine in ("caminos", "flow", "packet") else 1)


def cabled(folder: Path, seed: int, routers: int = 8) -> Topology:
    """Return a random graph in which several cables of different speed join two routers."""
    rng = np.random.default_rng(seed)
    ends = [(a, a + 1) for a in range(routers - 1)] + [tuple(rng.permutation(routers)[:2]) for _ in range(routers)]
    rows = {
        (min(a, b), max(a, b), speed): int(rng.integers(1, 4))
        for a, b in ends for speed in rng.permutation([1, 2, 5])[: rng.integers(1, 4)].tolist()
    }  # fmt: skip
    cables = "".join(f"r{a},r{b},c{speed},{count},{speed} GB/s\n" for (a, b, speed), count in rows.items())
    folder.mkdir()
    (folder / "f.csv").write_text("from,to,class,count,bandwidth\n" + cables)
    written = {"kind": "graph", "file": "f.csv", "bandwidth": {"host": "4 GB/s"}, "nodes_per_router": 2}
    return Topology.model_validate(written, context={"folder": folder}, by_alias=True, by_name=False)


@pytest.mark.parametrize("engine", OURS)
@pytest.mark.parametrize("seed", range(4))
def test_no_unequal_cables_are_faster_than_their_bounds(tmp_path: Path, seed: int, engine: str) -> None:
    machine = cabled(tmp_path / "machine", seed)
    for routing in ("minimal", "adaptive", "valiant", "ugal"):
        pattern = {"kind": ("stencil", "all-to-all")[seed % 2], "message": "25 kB"}
        bounded(record_of(machine, routing, engine, tmp_path / routing, seed, pattern=pattern))


@pytest.mark.parametrize("engine", OURS)
def test_links_that_differ_within_a_dimension(tmp_path: Path, engine: str) -> None:
    machine = Topology.model_validate({"kind": "gemini", "shape": [2, 4, 2]})
    for routing in ("dimension-order", "minimal", "ugal"):
        bounded(record_of(machine, routing, engine, tmp_path / routing))


@pytest.mark.parametrize("engine", OURS)
def test_a_slow_cable_among_fast_ones_is_no_bottleneck(tmp_path: Path, engine: str) -> None:
    """Five cables of 10 GB/s and one of 1 GB/s: an even split takes nearly nine times as long as the cut."""
    (tmp_path / "f.csv").write_text("from,to,class,count,bandwidth\na,b,fast,5,10 GB/s\na,b,slow,1,1 GB/s\n")
    written = {"kind": "graph", "file": "f.csv", "bandwidth": {"host": "10 GB/s"}, "nodes_per_router": 6}
    machine = Topology.model_validate(written, context={"folder": tmp_path}, by_alias=True, by_name=False)
    pattern = {"kind": "bisection", "message": "600 kB"}
    more: dict[str, Any] = {"pattern": pattern, "allocation": "cluster", "mapping": "linear"}
    job = bounded(record_of(machine, "minimal", engine, tmp_path / "run", **more))
    assert (job["bound_ns"], job["bound_method"]) == (pytest.approx(36 * 600e3 / 51), "cut")
    assert job["expected_load_ns"] == pytest.approx(6 * 600e3)
    if engine == "caminos":
        # Packets take the cable that has room.
        assert job["runtime_ns"] < 0.5 * job["expected_load_ns"]


ADVERSARIES: dict[str, tuple[dict[str, Any], int]] = {
    "dragonfly": ({"groups": 8, "routers_per_group": 4, "nodes_per_router": 4}, 16),
    "hyperx": ({"shape": [4, 4], "nodes_per_router": 4}, 4),
}


@pytest.mark.parametrize("kind", ADVERSARIES)
def test_detours_are_bounded_by_the_links_that_they_take(tmp_path: Path, kind: str) -> None:
    """Pairs of groups or routers, over one cable or twice as many hops: hosts and cuts alone were 2.1 and 2.6 below."""
    machine, distance = ADVERSARIES[kind]
    routing = {"kind": "ugal", "via": "group"} if kind == "dragonfly" else "ugal"
    pattern = {"kind": "pairs", "distance": distance, "message": "200 kB"}
    nodes = machine["nodes_per_router"] * (32 if kind == "dragonfly" else 16)
    more: dict[str, Any] = {"pattern": pattern, "nodes": nodes, "allocation": "cluster", "mapping": "linear"}
    described = {"kind": kind, "bandwidth": "1 GB/s", "cores_per_node": 1} | machine
    job = bounded(record_of(described, routing, "packet", tmp_path, **more))
    assert job["bound_method"] == "paths" and job["runtime_ns"] < 1.4 * job["bound_ns"]


@pytest.mark.parametrize("engine", engines("caminos", "flow", "packet", "sst"))
def test_the_best_of_several_shortest_paths_bounds_a_random_graph(tmp_path: Path, engine: str) -> None:
    """A stencil at random nodes, where packets that take what has room end before an even split could."""
    machine = {"kind": "jellyfish", "routers": 36, "degree": 5, "nodes_per_router": 2, "bandwidth": "1 GB/s"}
    pattern = {"kind": "stencil", "message": "200 kB"}
    job = bounded(record_of(machine, "minimal", engine, tmp_path, pattern=pattern, nodes=72, allocation="cluster"))
    assert job["bound_ns"] < 0.8 * job["expected_load_ns"]


def test_paths_that_an_engine_has_and_the_routing_has_not(tmp_path: Path) -> None:
    """With several cables between groups CODES and SST may take the longer way; CAMINOS takes a shortest one."""
    point = point_on(DRAGONFLY | {"links_per_group_pair": 2}, "minimal")
    plain = point_on(DRAGONFLY, "minimal")
    for engine, other in (("codes", True), ("sst", True), ("caminos", False), ("flow", False), ("packet", False)):
        settings, caveats = point_on(DRAGONFLY, engine=engine).engine, engine_named(engine).caveats
        assert takes_other_paths(caveats, point.model_copy(update={"engine": settings})) is other
        assert not takes_other_paths(caveats, plain.model_copy(update={"engine": settings}))
