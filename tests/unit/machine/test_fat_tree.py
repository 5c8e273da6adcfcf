"""Fat trees against hand counts and networkx."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

from fabricstudy.machine.fat_tree import FatTreeConfig
from fabricstudy.machine.graph import Machine


def tree(radix: int, **more: Any) -> Machine:
    return FatTreeConfig.model_validate({"radix": radix, "bandwidth": "1 GB/s"} | more).build()


def ports(machine: Machine) -> np.ndarray:
    return np.bincount(machine.link_tail, np.repeat(machine.cable_count, 2)) + machine.nodes_of_router


SHAPES = [(4, 4, 1), (6, 6, 1), (8, 4, 1), (8, 4, 2), (8, 3, 2), (44, 22, 2), (2, 2, 1)]


@pytest.mark.parametrize(("radix", "pods", "core_cables"), SHAPES)
def test_levels_and_ports(radix: int, pods: int, core_cables: int) -> None:
    machine, half = tree(radix, pods=pods, core_cables=core_cables), radix // 2
    assert machine.level is not None and machine.group is not None
    assert np.bincount(machine.level).tolist() == [pods * half, pods * half, half * half // core_cables]
    assert machine.nodes == pods * half**2 and machine.cables == 2 * pods * half**2
    assert np.all(np.diff(machine.level) >= 0)  # leaves, aggregation, core
    assert np.array_equal(machine.nodes_of_router, np.where(machine.level == 0, half, 0))
    assert np.all(ports(machine)[machine.level < 2] == radix)
    assert np.all(ports(machine)[machine.level == 2] == pods * core_cables)


@pytest.mark.parametrize(("radix", "pods", "core_cables"), SHAPES)
def test_who_is_joined(radix: int, pods: int, core_cables: int) -> None:
    """Pods are complete bipartite; a core router meets each pod once, always at the same aggregation number."""
    machine, half = tree(radix, pods=pods, core_cables=core_cables), radix // 2
    assert machine.level is not None and machine.group is not None
    low, high = machine.cable_tail, machine.cable_head
    assert np.array_equal(machine.level[high], machine.level[low] + 1)
    within = machine.level[low] == 0
    assert np.array_equal(machine.group[low[within]], machine.group[high[within]])
    assert len({*zip(low[within].tolist(), high[within].tolist(), strict=True)}) == pods * half**2
    for core in np.flatnonzero(machine.level == 2):
        below = low[high == core]
        assert machine.group[below].tolist() == list(range(pods))
        assert len(set((below % half).tolist())) == 1
    assert set(machine.group[machine.level == 2].tolist()) == {pods}


def test_a_full_tree_uses_every_port() -> None:
    machine = tree(6)
    assert (machine.nodes, machine.routers) == (6**3 // 4, 5 * 6**2 // 4)  # k^3/4 and 5 k^2/4 (Al-Fares et al.)
    assert np.all(ports(machine) == 6)


def test_edge_disjoint_ways_between_leaves() -> None:
    """All upward cables of a leaf can be used at a time, to any other leaf."""
    machine = tree(6)
    graph = nx.Graph(zip(machine.cable_tail.tolist(), machine.cable_head.tolist(), strict=True))
    assert nx.edge_connectivity(graph, 0, 1) == nx.edge_connectivity(graph, 0, 17) == 3


def test_quantities_of_each_class() -> None:
    machine = tree(4, bandwidth={"pod": "1 GB/s", "core": "2 GB/s", "host": "3 GB/s"}, latency={"core": "9 ns"})
    assert [(c.name, c.bandwidth_Bps, c.latency_ns) for c in (*machine.classes, machine.host)] == [
        ("pod", 1e9, 40.0), ("core", 2e9, 9.0), ("host", 3e9, 40.0)
    ]  # fmt: skip
    assert np.bincount(machine.cable_class).tolist() == [16, 16]
