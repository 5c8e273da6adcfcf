"""Figures of a machine, with networkx as the oracle."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.machine.base import Topology
from fabricstudy.machine.distances import hop_distances
from fabricstudy.machine.graph import Machine
from fabricstudy.structure.summary import describe_machine, hop_figures


def as_graph(machine: Machine) -> nx.Graph:
    graph = nx.empty_graph(machine.routers)
    graph.add_edges_from(zip(machine.cable_tail.tolist(), machine.cable_head.tolist(), strict=True))
    return graph


@given(seed=st.integers(0, 10_000), routers=st.integers(2, 20))
@settings(deadline=None, max_examples=40)
def test_distances_equal_those_of_networkx(random_machine: Callable[..., Machine], seed: int, routers: int) -> None:
    machine = random_machine(seed, routers, hop_weight=(1, 100))
    assert np.array_equal(hop_distances(machine).matrix(), nx.floyd_warshall_numpy(as_graph(machine)))


def test_machines_in_two_parts_are_refused(from_graph: Callable[..., Machine]) -> None:
    with pytest.raises(ValueError, match="not connected"):
        hop_distances(from_graph(nx.Graph([(0, 1), (2, 3)])))


def test_the_small_dragonfly(dragonfly: Callable[..., Machine]) -> None:
    machine = dragonfly(9, 4, "circulant", ratio=1)
    found, graph = describe_machine(machine), as_graph(machine)
    assert (found.kind, found.nodes, found.routers, found.cables, found.radix) == ("dragonfly", 72, 36, 90, 7)
    assert found.diameter == nx.diameter(graph)
    assert found.mean_hops == pytest.approx(nx.average_shortest_path_length(graph))
    assert [(c["name"], c["cables"]) for c in found.classes] == [("local", 54), ("global", 36), ("host", 72)]


def test_only_routers_with_nodes_count_for_hops(from_graph: Callable[..., Machine]) -> None:
    # A star: its centre carries no node, so all pairs of leaves are two hops apart.
    found = describe_machine(from_graph(nx.star_graph(4), node_router=[1, 2, 3, 4]))
    assert (found.diameter, found.mean_hops, found.bisection.upper_Bps) == (2, 2.0, 2e9)


def test_json_holds_what_tables_need(dragonfly: Callable[..., Machine]) -> None:
    data = json.loads(json.dumps(describe_machine(dragonfly(3, 2, links_per_group_pair=2)).to_json()))
    assert set(data) == {
        "kind", "nodes", "routers", "cables", "radix", "diameter", "mean_hops", "classes", "bisection"
    }  # fmt: skip
    assert set(data["bisection"]) == {"lower_Bps", "upper_Bps", "exact", "method"}
    assert data["classes"][1] == {"name": "global", "cables": 6, "bandwidth_Bps": 1e9, "latency_ns": 40.0}
    assert data["cables"] == sum(c["cables"] for c in data["classes"][:2])


@pytest.mark.parametrize(
    "keys",
    [
        {"kind": "torus", "shape": [5, 4, 2], "wrap": [True, False, True]},
        {"kind": "mesh", "shape": [6, 3]},
        {"kind": "hypercube", "dimensions": 5},
        {"kind": "hyperx", "shape": [4, 3]},
        {"kind": "express-mesh", "shape": [9, 6], "gap": 3},
        {"kind": "slim-fly", "q": 5, "nodes_per_router": 1},
    ],
    ids=lambda keys: keys["kind"],
)
def test_hops_equal_those_of_networkx(keys: dict[str, Any]) -> None:
    machine = Topology.model_validate(keys | {"bandwidth": "1 GB/s"}).build()
    diameter, mean_hops = hop_figures(machine)
    assert diameter == nx.diameter(as_graph(machine))
    assert mean_hops == pytest.approx(nx.average_shortest_path_length(as_graph(machine)))


@given(seed=st.integers(0, 10_000), routers=st.integers(2, 30))
@settings(deadline=None, max_examples=40)
def test_hops_from_some_routers_at_a_time(random_machine: Callable[..., Machine], seed: int, routers: int) -> None:
    random = np.random.default_rng(seed)
    carrier = random.choice(routers, random.integers(1, routers + 1), replace=False)
    machine = random_machine(seed, routers, node_router=carrier.tolist())
    hops = hop_distances(machine).matrix()[np.ix_(carrier, carrier)]
    diameter, mean_hops = hop_figures(machine, sources_at_a_time=5)
    assert diameter == hops.max()
    assert mean_hops == pytest.approx(hops.sum() / max(1, len(carrier) * (len(carrier) - 1)))


def test_hops_of_machines_in_two_parts_are_refused(from_graph: Callable[..., Machine]) -> None:
    with pytest.raises(ValueError, match="not connected"):
        hop_figures(from_graph(nx.Graph([(0, 1), (2, 3)])))


@pytest.mark.parametrize("length", range(2, 12))
def test_mean_hops_of_one_dimension_by_the_closed_forms(length: int) -> None:
    """With a router's distance to itself: k/4 or (k^2 - 1)/4k on rings, (k^2 - 1)/3k on lines, 1 - 1/k on cliques."""
    ring = length / 4 if length % 2 == 0 else (length**2 - 1) / (4 * length)
    for kind, mean in (("torus", ring), ("mesh", (length**2 - 1) / (3 * length)), ("hyperx", 1 - 1 / length)):
        keys = {"kind": kind, "shape": [length], "bandwidth": "1 GB/s"}
        _, found = hop_figures(Topology.model_validate(keys).build())
        assert found == pytest.approx(mean * length / (length - 1))
