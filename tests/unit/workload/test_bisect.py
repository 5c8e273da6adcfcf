"""Cuts of exact size."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.workload.mapping.recursive_bisection import WeightedGraph, _correct, bisect_graph
from fabricstudy.workload.mapping.tasks import TaskGraph


def of_networkx(graph: nx.Graph, weight: np.ndarray | None = None) -> WeightedGraph:
    edges = np.array([(u, v, d.get("weight", 1)) for u, v, d in graph.edges(data=True)]).reshape(-1, 3)
    ones = np.ones(len(graph), dtype=np.int64)
    joined = TaskGraph.of_edges(edges[:, 0], edges[:, 1], edges[:, 2], len(ones))
    return WeightedGraph.of_graph(joined, ones if weight is None else weight)


def cut(graph: nx.Graph, chosen: np.ndarray) -> int:
    return sum(d.get("weight", 1) for u, v, d in graph.edges(data=True) if bool(chosen[u]) != bool(chosen[v]))


@given(vertices=st.integers(2, 40), density=st.floats(0, 1), seed=st.integers(0, 999), data=st.data())
@settings(deadline=None)
def test_size_is_exact(vertices: int, density: float, seed: int, data: st.DataObject) -> None:
    graph = nx.gnp_random_graph(vertices, density, seed=seed)
    weight = np.array(data.draw(st.lists(st.integers(0, 1), min_size=vertices, max_size=vertices)))
    weight[:2] = 1
    size = data.draw(st.integers(1, int(weight.sum()) - 1))
    chosen = bisect_graph(of_networkx(graph, weight), size, seed)
    assert weight[chosen].sum() == size


@pytest.mark.parametrize(
    ("graph", "size", "least"),
    [
        (nx.barbell_graph(5, 0), 5, 1),
        (nx.path_graph(9), 4, 1),
        (nx.cycle_graph(12), 6, 2),
        (nx.grid_2d_graph(4, 8), 16, 4),
        (nx.complete_graph(8), 4, 16),
        (nx.hypercube_graph(4), 8, 8),
    ],
)
def test_cut_of_known_graphs_is_the_least(graph: nx.Graph, size: int, least: int) -> None:
    graph = nx.convert_node_labels_to_integers(graph, ordering="sorted")
    assert cut(graph, bisect_graph(of_networkx(graph), size, 1)) == least


@pytest.mark.parametrize("seed", range(20))
def test_small_cuts_are_near_the_best_of_all(seed: int) -> None:
    graph = nx.connected_watts_strogatz_graph(12, 4, 0.3, seed=seed)
    best = min(cut(graph, np.isin(np.arange(12), half)) for half in combinations(range(12), 6))
    assert best <= cut(graph, bisect_graph(of_networkx(graph), 6, seed)) <= best + 2


def test_correct_moves_what_costs_least() -> None:
    """On a path both ends cost an edge; once vertex 0 has left, vertex 1 costs nothing more, and so on."""
    graph = of_networkx(nx.path_graph(5))
    chosen = np.ones(5, dtype=bool)
    _correct(graph, chosen, 2)
    assert chosen.tolist() == [False, False, False, True, True]


@given(seed=st.integers(0, 999), data=st.data())
@settings(deadline=None)
def test_correct_keeps_its_gains_right(seed: int, data: st.DataObject) -> None:
    """Against gains counted anew before each move."""
    graph = nx.gnp_random_graph(10, 0.4, seed=seed)
    for u, v in graph.edges:
        graph.edges[u, v]["weight"] = (u * 7 + v * 3) % 5 + 1
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=10, max_size=10)))
    size = data.draw(st.integers(0, 10))
    expected = chosen.copy()
    while expected.sum() != size:
        costs = {}
        for vertex in np.flatnonzero(expected == (expected.sum() > size)):
            moved = expected.copy()
            moved[vertex] = not moved[vertex]
            costs[int(vertex)] = cut(graph, moved)
        least = min(costs, key=lambda vertex: (costs[vertex], vertex))
        expected[least] = not expected[least]
    _correct(of_networkx(graph), chosen, size)
    assert chosen.tolist() == expected.tolist()


def test_parallel_edges_add_up_and_heavy_graphs_are_scaled() -> None:
    tail, head = np.array([0, 1, 1]), np.array([1, 0, 2])
    ones = np.ones(3, dtype=np.int64)
    graph = WeightedGraph.of_graph(TaskGraph.of_edges(tail, head, np.array([1, 2, 4]), 3), ones)
    assert graph.edges.data.tolist() == [3, 3, 4, 4] and graph.edges.indices.tolist() == [1, 0, 2, 1]
    heavy = WeightedGraph.of_graph(TaskGraph.of_edges(tail, head, 10**15 * np.array([1, 2, 4]), 3), ones)
    assert heavy.edges.data.sum() <= 2**30
    assert heavy.edges.data[2] / heavy.edges.data[0] == pytest.approx(4 / 3)


@given(seed=st.integers(0, 999), chosen=st.lists(st.booleans(), min_size=12, max_size=12))
def test_part_is_the_induced_subgraph(seed: int, chosen: list[bool]) -> None:
    graph = nx.gnp_random_graph(12, 0.4, seed=seed)
    part = of_networkx(graph).part(np.array(chosen))
    expected = graph.subgraph(np.flatnonzero(chosen).tolist())
    assert part.label.tolist() == sorted(expected)
    edges = {(int(part.label[u]), int(part.label[v])) for u, v in zip(*part.edges.tocoo().coords, strict=True)}
    assert edges == {*expected.edges, *((v, u) for u, v in expected.edges)}
