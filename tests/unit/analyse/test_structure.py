"""Figures of a machine, with networkx as the oracle."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.analyse import distances, structure


def as_graph(machine) -> nx.Graph:
    graph = nx.empty_graph(machine.routers)
    graph.add_edges_from(zip(machine.cable_tail.tolist(), machine.cable_head.tolist(), strict=True))
    return graph


@given(seed=st.integers(0, 10_000), routers=st.integers(2, 20))
@settings(deadline=None, max_examples=40)
def test_distances_equal_those_of_networkx(random_machine, seed, routers):
    machine = random_machine(seed, routers, hop_weight=(1, 100))
    assert np.array_equal(distances(machine), nx.floyd_warshall_numpy(as_graph(machine)))


def test_machines_in_two_parts_are_refused(from_graph):
    with pytest.raises(ValueError, match="not connected"):
        distances(from_graph(nx.Graph([(0, 1), (2, 3)])))


def test_the_small_dragonfly(dragonfly):
    machine = dragonfly(9, 4, "circulant", ratio=1)
    found, graph = structure(machine), as_graph(machine)
    assert (found.kind, found.nodes, found.routers, found.cables, found.radix) == ("dragonfly", 72, 36, 90, 7)
    assert found.diameter == nx.diameter(graph)
    assert found.mean_hops == pytest.approx(nx.average_shortest_path_length(graph))
    assert [(c.name, c.cables) for c in found.classes] == [("local", 54), ("global", 36), ("host", 72)]


def test_only_routers_with_nodes_count_for_hops(from_graph):
    # A star: its centre carries no node, so all pairs of leaves are two hops apart.
    found = structure(from_graph(nx.star_graph(4), node_router=[1, 2, 3, 4]))
    assert (found.diameter, found.mean_hops, found.bisection.upper_Bps) == (2, 2.0, 2e9)


def test_json_holds_what_tables_need(dragonfly):
    data = json.loads(json.dumps(structure(dragonfly(3, 2, links_per_group_pair=2)).to_json()))
    assert set(data) == {
        "kind", "nodes", "routers", "cables", "radix", "diameter", "mean_hops", "classes", "bisection"
    }  # fmt: skip
    assert set(data["bisection"]) == {"lower_Bps", "upper_Bps", "exact", "method"}
    assert data["classes"][1] == {"name": "global", "cables": 6, "bandwidth_Bps": 1e9, "latency_ns": 40.0}
    assert data["cables"] == sum(c["cables"] for c in data["classes"][:2])
