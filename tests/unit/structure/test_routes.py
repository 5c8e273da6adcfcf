"""The longest route, against all lightest paths of networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.machine.distances import longest_route
from fabricstudy.machine.graph import LinkClass, Machine


def random_machine(ends: np.ndarray, kind: np.ndarray, weights: tuple[int, int]) -> Machine:
    """Six routers, one node each."""
    return Machine(
        kind="random",
        node_router=np.arange(6, dtype=np.int32),
        cable_tail=ends[:, 0],
        cable_head=ends[:, 1],
        cable_class=kind,
        cable_count=np.ones(len(ends), dtype=np.int32),
        classes=(LinkClass("a", 1e9, 0.0), LinkClass("b", 1e9, 0.0)),
        host=LinkClass("host", 1e9, 0.0),
        routers=6,
        hop_weight=weights,
    )


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([(1, 1), (1, 2), (1, 100)]))
def test_longest_of_all_lightest_paths(seed: int, weights: tuple[int, int]) -> None:
    rng = np.random.default_rng(seed)
    graph = nx.path_graph(6)
    graph.add_edges_from(rng.permutation(6)[:2] for _ in range(4))
    ends = np.array([edge for edge in graph.edges if edge[0] != edge[1]], dtype=np.int32)
    kind = rng.integers(0, 2, len(ends)).astype(np.int32)
    weighted = nx.Graph()
    weighted.add_weighted_edges_from((a, b, weights[k]) for (a, b), k in zip(ends.tolist(), kind, strict=True))
    paths = (p for a in range(6) for b in range(6) for p in nx.all_shortest_paths(weighted, a, b, "weight"))
    assert longest_route(random_machine(ends, kind, weights)) == max(len(path) - 1 for path in paths)


def test_a_machine_in_two_pieces_has_none() -> None:
    ends = np.array([[0, 1], [2, 3], [3, 4], [4, 5]], dtype=np.int32)
    with pytest.raises(ValueError, match="not connected"):
        longest_route(random_machine(ends, np.zeros(4, dtype=np.int32), (1, 1)))
