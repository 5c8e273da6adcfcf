"""Equal-cost multipath by flow hash: the hash against closed forms of random hashing, and its paths on the engines."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from fabricstudy.engine.built_point import BuiltPoint
from fabricstudy.engine.registry import engine_named
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.routing.minimal import Minimal
from fabricstudy.structure.load import link_loads, link_support

from ..machines import place_jobs, point_on
from .run_caminos import ends, run
from .test_bounds import bounded, engines, record_of

SEEDS = 400
FAT_TREE = {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"}


def ecmp(seed: int = 1) -> Routing:
    found: Routing = Routing.model_validate({"kind": "ecmp", "hash_seed": seed})
    return found


def leaf_spine(spines: int, nodes: int = 6, **keys: Any) -> Topology:
    written = {"kind": "xgft", "down": [nodes, 2], "up": [spines], "bandwidth": "1 GB/s"} | keys
    found: Topology = Topology.model_validate(written, by_alias=True, by_name=False)
    return found


def uplink_flows(machine: Machine, flows: int, seed: int) -> Any:
    """Return the flows on each uplink of leaf 0, of so many from each its own node to one of leaf 1."""
    source, half = np.arange(flows), machine.nodes // 2
    load = link_loads(machine, source, half + source, np.ones(flows), ecmp(seed)).link_bytes
    return load[machine.link_tail == 0]


@pytest.mark.parametrize(("spines", "flows"), [(2, 2), (4, 4), (4, 6), (6, 3)])
def test_distinct_uplinks_and_maximum_load_are_those_of_balls_into_bins(spines: int, flows: int) -> None:
    machine = leaf_spine(spines).build()
    found = np.array([uplink_flows(machine, flows, seed) for seed in range(SEEDS)])
    assert (found.sum(axis=1) == flows).all()
    cases = np.array([np.bincount(case, minlength=spines) for case in itertools.product(range(spines), repeat=flows)])
    used, most = (cases > 0).sum(axis=1), cases.max(axis=1)
    assert used.mean() == pytest.approx(spines * (1 - (1 - 1 / spines) ** flows))
    for measured, exact in (((found > 0).sum(axis=1), used), (found.max(axis=1), most)):
        # Four standard errors: one test of 16,000 would fail by chance; seeds are fixed.
        assert abs(measured.mean() - exact.mean()) < 4 * exact.std() / np.sqrt(SEEDS)


def test_parallel_cables_attract_flows_in_proportion() -> None:
    # Two routers with 1, 2 and 3 cables by way of others: an asymmetric machine.
    counts = np.array([1, 2, 3], dtype=np.int32)
    whole = leaf_spine(3).build()
    rows = np.where(whole.cable_tail == 0, counts[whole.cable_head - 2], 1).astype(np.int32)
    machine = replace(whole, cable_count=rows)
    found = np.sum([uplink_flows(machine, 6, seed) for seed in range(SEEDS)], axis=0)
    share = counts / 6
    assert np.all(np.abs(found - 6 * SEEDS * share) < 4 * np.sqrt(6 * SEEDS * share * (1 - share)))


def test_flows_take_one_shortest_path_each_and_in_the_mean_the_loads_of_minimal() -> None:
    machine = Topology.model_validate(FAT_TREE, by_alias=True, by_name=False).build()
    graph = nx.Graph(zip(machine.cable_tail.tolist(), machine.cable_head.tolist(), strict=True))
    source, destination = np.array(list(itertools.permutations(range(machine.nodes), 2))).T
    router = machine.node_router
    for pair in range(0, len(source), 7):
        ends_of_pair = source[[pair]], destination[[pair]]
        load = link_loads(machine, *ends_of_pair, np.ones(1), ecmp()).link_bytes
        hops = nx.shortest_path_length(graph, router[source[pair]], router[destination[pair]])
        assert sorted(load[load > 0]) == [1] * hops
        assert np.array_equal(link_support(machine, *ends_of_pair, ecmp()), load > 0)
    size = np.ones(len(source))
    mean = np.mean(
        [link_loads(machine, source, destination, size, ecmp(seed)).link_bytes for seed in range(50)], axis=0
    )
    even = link_loads(machine, source, destination, size, Minimal()).link_bytes
    assert np.all(np.abs(mean - even) < 0.15 * even)


@pytest.mark.parametrize("engine", engines("packet", "flow"))
@pytest.mark.parametrize(
    "machine", [FAT_TREE, leaf_spine(3), {"kind": "torus", "shape": [4, 3], "bandwidth": "1 GB/s"}]
)
def test_engines_take_the_paths_of_the_analysis(tmp_path: Path, machine: Any, engine: str) -> None:
    point = point_on(machine, ecmp(5), message="20 kB", engine=engine)
    built, simulator = point.machine.build(), engine_named(engine)
    jobs = place_jobs(point, built)
    run(simulator.write(BuiltPoint(point, built, jobs), tmp_path) or [], tmp_path)
    result = simulator.result(BuiltPoint(point, built, jobs), tmp_path, 0)
    assert result.link_bytes == pytest.approx(link_loads(built, *ends(jobs), ecmp(5)).link_bytes)


def test_packets_take_the_paths_of_the_analysis_on_parallel_cables(tmp_path: Path) -> None:
    point = point_on(leaf_spine(2, parallel=3), ecmp(2), message="20 kB", engine="packet")
    built, simulator = point.machine.build(), engine_named("packet")
    jobs = place_jobs(point, built)
    run(simulator.write(BuiltPoint(point, built, jobs), tmp_path) or [], tmp_path)
    result = simulator.result(BuiltPoint(point, built, jobs), tmp_path, 0)
    assert result.link_bytes == pytest.approx(link_loads(built, *ends(jobs), ecmp(2)).link_bytes)
    on_flow = point_on(point.machine, ecmp(2), message="20 kB", engine="flow")
    assert "parallel" in str(engine_named("flow").unsupported(on_flow, built))


@pytest.mark.parametrize("engine", engines("packet", "flow"))
def test_colliding_flows_share_the_bandwidth_of_their_uplink(tmp_path: Path, engine: str) -> None:
    # A permutation of six flows that minimal routing spreads over six uplinks; the bound is that of the collisions.
    machine = leaf_spine(6)
    pairs = {"kind": "pairs", "distance": 6, "message": "1 MB"}
    job: dict[str, Any] = {"nodes": 12, "pattern": pairs, "allocation": "cluster", "mapping": "linear"}
    done = {kind: bounded(record_of(machine, kind, engine, tmp_path / kind, **job)) for kind in ("minimal", "ecmp")}
    built = machine.build()
    nodes = np.arange(12)
    load = link_loads(built, nodes, (nodes + 6) % 12, np.full(12, 1e6), ecmp()).link_bytes
    assert load.max() >= 2e6 and done["ecmp"]["bound_ns"] == pytest.approx(load.max())
    assert done["ecmp"]["runtime_ns"] <= 1.1 * load.max()
    assert done["minimal"]["runtime_ns"] <= 1.1e6


@pytest.mark.parametrize("engine", ["caminos", "sst", "codes"])
def test_others_have_no_flow_hash(engine: str) -> None:
    point = point_on(FAT_TREE, ecmp(), engine=engine)
    assert "hash" in str(engine_named(engine).unsupported(point, point.machine.build()))


def pairs_point(messages: int, engine: str, seed: int = 1) -> Any:
    """One node of the first leaf sends so many messages to its peer below four spines."""
    routing: Routing = Routing.model_validate({"kind": "ecmp", "per": "message", "hash_seed": seed})
    pattern = {"kind": "pairs", "distance": 6, "message": "10 kB", "iterations": messages}
    job = {"nodes": 12, "pattern": pattern, "allocation": "cluster", "mapping": "linear"}
    return point_on(leaf_spine(4), routing, jobs=[job], engine=engine)


@pytest.mark.parametrize("engine", engines("packet", "flow"))
def test_each_message_is_a_flow_if_the_study_says_so(tmp_path: Path, engine: str) -> None:
    """Messages of a pair are balls into bins; both engines hash the same numbers."""
    simulator, found = engine_named(engine), []
    for seed in range(1, 9):
        point = pairs_point(6, engine, seed)
        built = point.machine.build()
        jobs, folder = place_jobs(point, built), tmp_path / str(seed)
        folder.mkdir()
        run(simulator.write(BuiltPoint(point, built, jobs), folder) or [], folder)
        bytes_ = np.asarray(simulator.result(BuiltPoint(point, built, jobs), folder, 0).link_bytes)
        up = bytes_[built.link_tail == 0] / 10_000
        assert np.array_equal(up, up.round()) and up.sum() == 36  # no message is divided
        found.append(up)
    counts = np.array(found)
    # Four standard deviations of a binomial distribution of 8 x 36 messages on each of four uplinks.
    assert np.all(np.abs(counts.sum(axis=0) - 72) < 4 * np.sqrt(288 * 3 / 16))
    assert len(np.unique(counts, axis=0)) == 8


def test_messages_take_the_same_paths_on_both_engines(tmp_path: Path) -> None:
    found = []
    for engine in ("packet", "flow"):
        point, simulator = pairs_point(5, engine), engine_named(engine)
        if not simulator.probe().found:
            pytest.skip(f"{engine} is not built")
        built, folder = point.machine.build(), tmp_path / engine
        jobs = place_jobs(point, built)
        folder.mkdir()
        run(simulator.write(BuiltPoint(point, built, jobs), folder) or [], folder)
        found.append(np.asarray(simulator.result(BuiltPoint(point, built, jobs), folder, 0).link_bytes))
    assert found[0] == pytest.approx(found[1])


def test_loads_per_message_are_expectations_those_of_minimal() -> None:
    machine = leaf_spine(3).build()
    routing: Routing = Routing.model_validate({"kind": "ecmp", "per": "message"})
    nodes = np.arange(12)
    ends_of = nodes, (nodes + 6) % 12, np.full(12, 9.0)
    assert np.array_equal(
        link_loads(machine, *ends_of, routing).link_bytes, link_loads(machine, *ends_of, Minimal()).link_bytes
    )
