"""Megaflies against their definition, hand counts and networkx."""

from __future__ import annotations

import itertools
from typing import Any

import networkx as nx
import numpy as np
import pytest

from fabricstudy.machine.graph import Machine
from fabricstudy.machine.megafly import MegaflyConfig
from fabricstudy.machine.requirements import MachineRequirements
from fabricstudy.routing.minimal import Minimal
from fabricstudy.structure.load import link_loads
from fabricstudy.structure.summary import describe_machine


def megafly(groups: int, leaves: int, spines: int, nodes: int = 1, links: int = 1, local: int = 1) -> Any:
    sizes = {"leaves_per_group": leaves, "spines_per_group": spines, "nodes_per_leaf": nodes}
    parallel = {"links_per_group_pair": links, "links_per_local_pair": local}
    own = {"kind": "megafly", "groups": groups, **sizes, **parallel, "bandwidth": "1 GB/s"}
    return MegaflyConfig.model_validate(own)


def levels(machine: Machine, config: Any) -> Any:
    """Whether each router is a leaf."""
    return np.arange(machine.routers) % config.routers_per_group < config.leaves_per_group


SHAPES = [
    (5, 2, 2, 2, 1),
    (4, 2, 3, 1, 1),
    (2, 1, 1, 1, 1),
    (3, 4, 2, 2, 3),
    (9, 4, 4, 4, 2),
    (6, 3, 4, 2, 3),
    (4, 3, 2, 2, 1, 3),
]


def test_counts_by_hand() -> None:
    """5 groups of 2 leaves and 2 spines: 4 local cables a group, 10 pairs of groups; each router has 4 ports."""
    machine = megafly(5, 2, 2, 2).build()
    assert (machine.routers, machine.nodes, machine.cables, machine.radix) == (20, 20, 30, 4)


def test_parallel_local_cables_by_hand() -> None:
    """Two cables between each leaf and spine: 8 local cables a group, and a leaf of 2 nodes has 6 ports."""
    config = megafly(5, 2, 2, 2, local=2)
    machine = config.build()
    assert (config.cables, machine.cables, machine.radix) == (50, 50, 6)
    local = machine.cable_class == 0
    assert set(machine.cable_count[local].tolist()) == {2} and set(machine.cable_count[~local].tolist()) == {1}
    wanted = MachineRequirements(216, 226, 16, 130)
    assert any(keys.get("links_per_local_pair") == 2 for keys in MegaflyConfig.configurations(wanted))


def test_the_published_size() -> None:
    """Radix 64: 1,025 groups of 32 + 32 routers and 1,024 nodes (Flajslik et al. 2018; 32 x 32 + 1 groups)."""
    config = megafly(1025, 32, 32, 32)
    assert (config.nodes, config.routers) == (1_049_600, 65_600)
    assert config.links_per_group_pair * (config.groups - 1) == 32 * config.spines_per_group


@pytest.mark.parametrize("shape", SHAPES)
def test_closed_forms_are_those_of_the_arrays(shape: tuple[int, ...]) -> None:
    config = megafly(*shape)
    machine = config.build()
    assert (machine.routers, machine.nodes, machine.cables) == (config.routers, config.nodes, config.cables)
    assert machine.group is not None
    nodes_of_group = np.bincount(machine.group[machine.node_router])
    assert nodes_of_group.tolist() == [config.group_nodes] * config.groups


@pytest.mark.parametrize("shape", SHAPES)
def test_the_graph_is_that_of_its_definition(shape: tuple[int, ...]) -> None:
    config = megafly(*shape)
    machine = config.build()
    leaf = levels(machine, config)
    assert np.array_equal(machine.nodes_of_router > 0, leaf)
    local = machine.cable_class == 0
    groups = machine.group
    assert groups is not None
    own = {tuple(sorted(pair)) for pair in zip(machine.cable_tail[local], machine.cable_head[local], strict=True)}
    every = {
        (a, b) if a < b else (b, a)
        for a in np.flatnonzero(leaf) for b in np.flatnonzero(~leaf) if groups[a] == groups[b]
    }  # fmt: skip
    assert own == every and not leaf[machine.cable_tail[~local]].any() and not leaf[machine.cable_head[~local]].any()
    cables = np.zeros((config.groups, config.groups), dtype=int)
    ends = groups[machine.cable_tail[~local]], groups[machine.cable_head[~local]]
    np.add.at(cables, ends, machine.cable_count[~local])
    assert np.array_equal(cables + cables.T, config.links_per_group_pair * (1 - np.eye(config.groups, dtype=int)))
    ports = np.bincount(machine.cable_tail[~local], machine.cable_count[~local], machine.routers)
    ports += np.bincount(machine.cable_head[~local], machine.cable_count[~local], machine.routers)
    assert ports.max() == -(-config.links_per_group_pair * (config.groups - 1) // config.spines_per_group)


@pytest.mark.parametrize("shape", SHAPES)
def test_hops(shape: tuple[int, ...]) -> None:
    """Two hops between leaves of a group, three between groups."""
    config = megafly(*shape)
    groups, leaves = config.groups, config.leaves_per_group
    found = describe_machine(config.build())
    hops = groups * leaves * (2 * (leaves - 1) + 3 * (groups - 1) * leaves)
    assert found.diameter == 3 and found.mean_hops == pytest.approx(hops / (groups * leaves) / (groups * leaves - 1))


def test_minimal_paths_hold_one_global_hop_at_most() -> None:
    config = megafly(5, 2, 2)
    machine = config.build()
    graph = nx.Graph()
    for tail, head, kind in zip(machine.cable_tail, machine.cable_head, machine.cable_class, strict=True):
        graph.add_edge(int(tail), int(head), weight=machine.hop_weight[kind], glob=int(kind == 1))
    leaves = np.flatnonzero(levels(machine, config)).tolist()
    for a in leaves:
        for b in leaves:
            path = nx.dijkstra_path(graph, a, b)
            crossed = sum(graph[u][v]["glob"] for u, v in itertools.pairwise(path))
            assert crossed == (a // 4 != b // 4)


def test_loads_of_all_to_all_by_hand() -> None:
    """5 groups of 2 leaves, 2 spines, 2 nodes a leaf, a byte between all nodes.

    A global link carries what 4 nodes send to 4: 16. Up and down between a leaf and a spine goes what 2 nodes send
    to the 4 nodes of each of the 2 groups that the spine leads to, 16, and half of the 4 to the other leaf: 18.
    """
    machine = megafly(5, 2, 2, 2).build()
    source, destination = np.nonzero(~np.eye(machine.nodes, dtype=bool))
    loads = link_loads(machine, source, destination, np.ones(len(source)), Minimal()).link_bytes
    assert set(loads[machine.link_class == 1]) == {16.0} and set(loads[machine.link_class == 0]) == {18.0}


@pytest.mark.parametrize(("shape", "links"), [((4, 2, 3, 1, 1), 4), ((2, 2, 2, 1, 2), 2), ((5, 2, 2, 2, 1), 6)])
def test_bisection_by_hand(shape: tuple[int, ...], links: int) -> None:
    """Two groups against two: 4 links. One against one, twice joined: 2. Two against two, and the fifth between.

    The fifth group's leaves part, each with the spine whose groups are on its side: 4 links, and 2 local ones.
    """
    found = describe_machine(megafly(*shape).build()).bisection
    assert (found.lower_Bps, found.upper_Bps) == (links * 1e9, links * 1e9)
