"""Hops by the tables of a grid's dimensions, or by one matrix."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

from fabricstudy.machine.base import Topology
from fabricstudy.machine.distances import hop_distances

EXTENSIONS = ["twisted_torus"]

MACHINES: list[dict[str, Any]] = [
    {"kind": "torus", "shape": [5, 4, 2]},
    {"kind": "torus", "shape": [4, 3], "wrap": [True, False], "nodes_per_router": 2},
    {"kind": "mesh", "shape": [3, 4]},
    {"kind": "hypercube", "dimensions": 4},
    {"kind": "hyperx", "shape": [3, 4]},
    {"kind": "express-mesh", "shape": [7, 4], "gap": 2},
    {"kind": "dragonfly", "groups": 5, "routers_per_group": 4, "nodes_per_router": 2},
    {"kind": "aries", "groups": 1, "chassis_per_group": 3, "blades_per_chassis": 4},
    {"kind": "aries", "groups": 3, "chassis_per_group": 3, "blades_per_chassis": 4},
    {"kind": "percs", "supernodes": 4, "hubs_per_drawer": 2},
    {"kind": "fat-tree", "radix": 4},
    {"kind": "slim-fly", "q": 5, "nodes_per_router": 2},
]


@pytest.mark.parametrize("description", MACHINES, ids=[str(one["kind"]) for one in MACHINES])
def test_hops_are_those_of_a_search(description: dict[str, Any]) -> None:
    machine = Topology.model_validate(description | {"bandwidth": "1 GB/s"}).build()
    graph = nx.Graph(zip(machine.cable_tail.tolist(), machine.cable_head.tolist(), strict=True))
    far = dict(nx.all_pairs_shortest_path_length(graph))
    expected = [[far[a][b] for b in range(machine.routers)] for a in range(machine.routers)]
    every = np.arange(machine.routers)
    assert hop_distances(machine).between(every[:, None], every).tolist() == expected
    assert hop_distances(machine).matrix().tolist() == expected


def test_a_large_torus_needs_no_matrix() -> None:
    shape = {"kind": "torus", "shape": [64, 32, 32], "bandwidth": "1 GB/s"}
    assert hop_distances(Topology.model_validate(shape).build()).table.nbytes == 2 * (64**2 + 2 * 32**2)


@pytest.mark.parametrize(
    ("description", "equal_ones"),
    [
        ({"kind": "megafly", "groups": 5, "leaves_per_group": 4, "spines_per_group": 4, "nodes_per_leaf": 2}, True),
        ({"kind": "megafly", "groups": 3, "leaves_per_group": 2, "spines_per_group": 2, "nodes_per_leaf": 2}, True),
        ({"kind": "fat-tree", "radix": 4}, True),
        ({"kind": "fat-tree", "radix": 8, "pods": 3}, True),
        ({"kind": "polarfly", "q": 5, "nodes_per_router": 2}, False),
        ({"kind": "polarfly", "q": 4, "nodes_per_router": 2}, False),
    ],
)
def test_typical_hops_are_the_mean_of_a_search(description: dict[str, Any], equal_ones: bool) -> None:
    topology = Topology.model_validate(description | {"bandwidth": "1 GB/s"})
    machine = topology.build()
    graph = nx.Graph(zip(machine.cable_tail.tolist(), machine.cable_head.tolist(), strict=True))
    far = dict(nx.all_pairs_shortest_path_length(graph))
    ends = np.flatnonzero(machine.nodes_of_router).tolist()
    assert topology.typical_hops == pytest.approx(
        np.mean([far[a][b] for a in ends for b in ends if equal_ones or a != b])
    )


@pytest.mark.parametrize("shape", [[4, 8], [8, 16], [4, 4, 8], [4, 8, 8], [3, 6, 6]])
def test_typical_hops_of_a_twisted_torus_are_those_of_a_cube(shape: list[int]) -> None:
    """A cube of as many routers has a quarter of a side per dimension; the twist saves up to a seventh of it."""
    topology = Topology.model_validate({"kind": "twisted-torus", "shape": shape, "bandwidth": "1 GB/s"})
    machine = topology.build()
    graph = nx.Graph(zip(machine.cable_tail.tolist(), machine.cable_head.tolist(), strict=True))
    far = dict(nx.all_pairs_shortest_path_length(graph))
    mean = np.mean([hops for from_one in far.values() for hops in from_one.values()])
    assert 1 <= topology.typical_hops / mean < 7 / 6
