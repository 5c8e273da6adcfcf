"""Generalised fat trees against hand counts, networkx and the exact search for cuts."""

from __future__ import annotations

from math import prod
from typing import Any

import networkx as nx
import numpy as np
import pytest
from pydantic import ValidationError

from fabricstudy.machine.fat_tree import FatTreeConfig
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.xgft import XgftConfig
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.d_mod_k import DModK
from fabricstudy.routing.minimal import Minimal
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.structure.deadlock import is_deadlock_free
from fabricstudy.structure.exact_cut import better_cut
from fabricstudy.structure.load import link_loads
from fabricstudy.structure.summary import describe_machine

# Children, parents and parallel cables; leaf-spine, tapered, four levels, one parent (a plain tree).
SHAPES: list[tuple[list[int], list[int], list[int]]] = [
    ([8, 4], [2], [2]),
    ([3, 5], [4], [1]),
    ([2, 2, 4], [2, 2], [1, 1]),
    ([4, 3, 2], [2, 1], [1, 3]),
    ([2, 2, 2, 2], [1, 2, 3], [2, 1, 1]),
    ([2, 3, 2, 3], [1, 1, 1], [1, 1, 1]),
]


def config(down: list[int], up: list[int], parallel: Any = 1, **more: Any) -> XgftConfig:
    sizes = {"down": down, "up": up, "parallel": parallel, "bandwidth": "1 GB/s"}
    return XgftConfig.model_validate(sizes | more)


def simple(machine: Machine) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(machine.routers))
    graph.add_edges_from(zip(machine.cable_tail.tolist(), machine.cable_head.tolist(), strict=True))
    return graph


@pytest.mark.parametrize(("down", "up", "parallel"), SHAPES)
def test_the_graph_is_that_of_its_definition(down: list[int], up: list[int], parallel: list[int]) -> None:
    """Every router has its children and parents, and subtrees of a level are equal and apart."""
    own = config(down, up, parallel)
    machine = own.build()
    assert (machine.routers, machine.nodes, machine.cables) == (own.routers, own.nodes, own.cables)
    assert machine.level is not None and machine.group is not None
    assert np.bincount(machine.cable_class, machine.cable_count).tolist() == list(own.cables_of_class)
    graph, levels = simple(machine), len(down)
    for router, level in enumerate(machine.level.tolist()):
        around = machine.level[list(graph[router])]
        assert np.count_nonzero(around == level + 1) == (up[level] if level + 1 < levels else 0)
        below = machine.nodes_of_router[router] if level == 0 else np.count_nonzero(around == level - 1)
        assert below == down[level] and set(around) <= {level - 1, level + 1}
    for height in range(levels):
        parts = list(nx.connected_components(graph.subgraph(np.flatnonzero(machine.level <= height).tolist())))
        leaves = [sum(machine.level[router] == 0 for router in part) for part in parts]
        assert leaves == [prod(down[1 : height + 1])] * prod(down[height + 1 :])
    of_node = machine.group[machine.node_router]
    assert np.bincount(of_node).tolist() == [own.group_nodes] * down[-1]
    assert set(machine.group[machine.level == levels - 1]) == {down[-1]}


@pytest.mark.parametrize(("down", "up", "parallel"), SHAPES)
def test_hops(down: list[int], up: list[int], parallel: list[int]) -> None:
    own = config(down, up, parallel)
    machine = own.build()
    far = dict(nx.all_pairs_shortest_path_length(simple(machine)))
    leaves = np.unique(machine.node_router).tolist()
    hops = [far[a][b] for a in leaves for b in leaves]
    assert own.typical_hops == pytest.approx(np.mean(hops))
    assert describe_machine(machine).diameter == max(hops) == 2 * (len(down) - 1)


@pytest.mark.parametrize(("down", "up", "parallel"), SHAPES)
def test_bisection_is_that_of_the_exact_search(down: list[int], up: list[int], parallel: list[int]) -> None:
    machine = config(down, up, parallel).build()
    found = bisection_bounds(machine)
    searched = better_cut(machine, found.upper_Bps)
    assert searched.cut_side is None and found.lower_Bps <= found.upper_Bps
    assert found.exact == (searched.lower_Bps >= found.upper_Bps * (1 - 1e-9))


@pytest.mark.parametrize(
    ("shape", "links"),
    [
        (([8, 4], [2], [2]), 8),  # two of four leaves with four cables each
        (([4, 3, 2], [2, 1], [1, 3]), 6),  # one of two pods: two routers with three cables each
        (([2, 3, 2, 2], [1, 1, 1], [1, 1, 1]), 1),
    ],
)
def test_bisection_by_hand(shape: Any, links: int) -> None:
    found = bisection_bounds(config(*shape).build())
    assert found.exact and found.upper_Bps == links * 1e9


def test_fat_trees_are_among_them() -> None:
    """A fat tree of radix 8 in four pods, two cables to each core router: equal in all but names."""
    tree = FatTreeConfig.model_validate({"radix": 8, "pods": 4, "core_cables": 2, "bandwidth": "1 GB/s"}).build()
    same = config([4, 4, 4], [4, 2], [1, 2]).build()
    for name in ("node_router", "cable_tail", "cable_head", "cable_class", "cable_count", "group", "level"):
        assert np.array_equal(getattr(tree, name), getattr(same, name)), name


@pytest.mark.parametrize(("down", "up", "parallel"), SHAPES)
def test_routings_reach_everybody_without_deadlock(down: list[int], up: list[int], parallel: list[int]) -> None:
    machine = config(down, up, parallel).build()
    for routing in (Minimal(), DModK(), Adaptive()):
        assert is_deadlock_free(machine, routing)
    source, destination = np.nonzero(~np.eye(machine.nodes, dtype=bool))
    loads = [
        link_loads(machine, source, destination, np.ones(len(source)), routing).link_bytes
        for routing in (Minimal(), DModK())
    ]
    # Both cross each level as often; minimal routing spreads evenly over all links up from a level.
    for kind in range(len(up)):
        of_class = machine.link_class == kind
        assert loads[1][of_class].sum() == pytest.approx(loads[0][of_class].sum())
        assert np.ptp(loads[0][of_class]) < 1e-9 * loads[0].max()


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"up": [2, 2]}, ("up",)),
        ({"parallel": [1, 2]}, ("parallel",)),
        ({"bandwidth": {"links": ["1 GB/s", "1 GB/s"], "host": "1 GB/s"}}, ("bandwidth", "links")),
    ],
)
def test_what_cannot_be_built(changed: dict[str, Any], path: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError) as refusal:
        config(**({"down": [8, 4], "up": [2]} | changed))
    assert refusal.value.errors()[0]["ctx"]["error"].keys == path
