"""Bisections, with the enumeration of all halves as the oracle."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fabricstudy.machine.graph import LinkClass, Machine
from fabricstudy.structure import bisection
from fabricstudy.structure.bisection import BisectionBounds, all_to_all_bound_Bps, bisection_bounds, spectral_bound_Bps
from fabricstudy.structure.cut import best_cut, capacity_step_Bps, cut_capacity_Bps
from fabricstudy.structure.exact_cut import better_cut


def enumerated_bisection_Bps(machine: Machine) -> float:
    """Least cut over every way to halve the routers with nodes and to place the others."""
    nodes = machine.nodes_of_router
    carriers = np.flatnonzero(nodes).tolist()
    free = np.flatnonzero(nodes == 0).tolist()
    least = np.inf
    subsets = (part for size in range(len(carriers)) for part in itertools.combinations(carriers, size))
    for chosen in subsets:
        if abs(nodes.sum() - 2 * nodes[list(chosen)].sum()) > nodes.max():
            continue
        for size in range(len(free) + 1):
            for others in itertools.combinations(free, size):
                inside = {*chosen, *others}
                cut_Bps = sum(
                    int(count) * machine.classes[kind].bandwidth_Bps
                    for tail, head, kind, count in zip(
                        machine.cable_tail, machine.cable_head, machine.cable_class, machine.cable_count, strict=True
                    )
                    if (int(tail) in inside) != (int(head) in inside)
                )
                least = min(least, cut_Bps)
    return least


def check_cut(machine: Machine, found: BisectionBounds) -> None:
    """The half is balanced and its capacity is the upper end."""
    nodes = np.bincount(found.cut_side.astype(int), machine.nodes_of_router, 2)
    assert 0 <= nodes[0] - nodes[1] <= machine.nodes_of_router.max()
    assert cut_capacity_Bps(machine, found.cut_side) == found.upper_Bps


@given(seed=st.integers(0, 10_000), routers=st.integers(2, 9))
@settings(deadline=None, max_examples=40)
def test_small_machines_are_exact(random_machine: Callable[..., Machine], seed: int, routers: int) -> None:
    machine = random_machine(seed, routers)
    found = bisection_bounds(machine)
    check_cut(machine, found)
    assert found.exact and found.lower_Bps == found.upper_Bps == enumerated_bisection_Bps(machine)


@given(seed=st.integers(0, 10_000), routers=st.integers(5, 8), data=st.data())
@settings(deadline=None, max_examples=20)
def test_routers_without_nodes_stand_where_they_cut_least(
    random_machine: Callable[..., Machine], seed: int, routers: int, data: st.DataObject
) -> None:
    carriers = data.draw(st.sets(st.integers(0, routers - 1), min_size=2, max_size=routers - 1))
    machine = random_machine(seed, routers, node_router=np.repeat(sorted(carriers), 3).astype(np.int32))
    found = bisection_bounds(machine)
    check_cut(machine, found)
    assert found.exact and found.upper_Bps == enumerated_bisection_Bps(machine)


@given(seed=st.integers(0, 10_000), nodes=st.lists(st.integers(0, 5), min_size=4, max_size=8))
@settings(deadline=None, max_examples=40)
def test_routers_may_carry_different_numbers_of_nodes(
    random_machine: Callable[..., Machine], seed: int, nodes: list[int]
) -> None:
    assume(sum(number > 0 for number in nodes) > 1)
    machine = random_machine(seed, len(nodes), node_router=np.repeat(np.arange(len(nodes)), nodes).astype(np.int32))
    found, expected_Bps = bisection_bounds(machine), enumerated_bisection_Bps(machine)
    check_cut(machine, found)
    assert found.exact and found.upper_Bps == expected_Bps
    assert spectral_bound_Bps(machine) <= expected_Bps * (1 + 1e-9)
    assert all_to_all_bound_Bps(machine) <= expected_Bps * (1 + 1e-9)
    assert cut_capacity_Bps(machine, best_cut(machine)) <= 1.5 * expected_Bps


def test_many_routers_of_different_weight_have_both_bounds(from_graph: Callable[..., Machine]) -> None:
    # A ring with 1 and 3 nodes in turn: a half is an arc. The bound of 1100 routers takes Lanczos; waves as long as the
    # torus do not tell its routers from ones that weigh 3/2 each.
    ring = from_graph(nx.cycle_graph(40), node_router=np.repeat(np.arange(40), [1, 3] * 20))
    assert bisection_bounds(ring).upper_Bps == 2e9 and bisection_bounds(ring).exact
    torus = from_graph(nx.grid_graph([44, 25], periodic=True), node_router=np.repeat(np.arange(1100), [1, 2] * 550))
    assert spectral_bound_Bps(torus) == pytest.approx(1e9 * (2 - 2 * np.cos(2 * np.pi / 44)) / 1.5 * 1650 / 4, rel=0.01)


@pytest.mark.parametrize("routers", [2, 3, 5, 8, 11])
def test_the_spectral_bound_of_a_complete_graph_is_its_bisection(
    from_graph: Callable[..., Machine], routers: int
) -> None:
    machine = from_graph(nx.complete_graph(routers))
    assert spectral_bound_Bps(machine) == pytest.approx((routers // 2) * ((routers + 1) // 2) * 1e9)


@given(seed=st.integers(0, 10_000), routers=st.integers(2, 9))
@settings(deadline=None, max_examples=40)
def test_no_lower_bound_passes_the_bisection(random_machine: Callable[..., Machine], seed: int, routers: int) -> None:
    machine = random_machine(seed, routers)
    bisection_Bps = enumerated_bisection_Bps(machine)
    assert spectral_bound_Bps(machine) <= bisection_Bps * (1 + 1e-9)
    assert all_to_all_bound_Bps(machine) <= bisection_Bps * (1 + 1e-9)


@given(seed=st.integers(0, 10_000), routers=st.integers(3, 9))
@settings(deadline=None, max_examples=20)
def test_the_search_finds_a_better_cut_or_proves_that_there_is_none(
    random_machine: Callable[..., Machine], seed: int, routers: int
) -> None:
    machine = random_machine(seed, routers)
    bisection_Bps = enumerated_bisection_Bps(machine)
    search = better_cut(machine, bisection_Bps)
    assert search.cut_side is None and search.lower_Bps == bisection_Bps
    search = better_cut(machine, bisection_Bps + capacity_step_Bps(machine))
    assert search.cut_side is not None and cut_capacity_Bps(machine, search.cut_side) == bisection_Bps
    assert search.lower_Bps == bisection_Bps


@pytest.mark.parametrize(("slow_Bps", "fast_Bps", "step_Bps"), [(1e9 / 3, np.pi * 1e9, 0), (2**30, 1e9, 512)])
@pytest.mark.parametrize("seed", range(8))
def test_bandwidths_without_a_useful_common_step_are_searched_too(
    random_machine: Callable[..., Machine], seed: int, slow_Bps: float, fast_Bps: float, step_Bps: int
) -> None:
    classes = (LinkClass("slow", slow_Bps, 40.0), LinkClass("fast", fast_Bps, 40.0))
    machine = random_machine(seed, 8, classes=classes)
    found = bisection_bounds(machine)
    assert capacity_step_Bps(machine) == step_Bps
    assert found.exact and found.upper_Bps == pytest.approx(enumerated_bisection_Bps(machine), rel=1e-12)


@pytest.mark.parametrize(
    ("graph", "cables"),
    [
        (nx.complete_graph(7), 12),
        (nx.cycle_graph(11), 2),
        (nx.hypercube_graph(5), 16),
        (nx.grid_graph([6, 6], periodic=True), 12),
        (nx.grid_graph([8, 8, 4], periodic=True), 64),
        (nx.grid_graph([5, 6]), 5),
    ],
    ids=["complete", "ring", "hypercube", "torus", "torus of 256", "mesh"],
)
def test_textbook_bisections_are_proven(from_graph: Callable[..., Machine], graph: nx.Graph, cables: int) -> None:
    found = bisection_bounds(from_graph(graph))
    assert found.exact and found.upper_Bps == cables * 1e9


# Global at 1.25 times local bandwidth the arrangements are equal; at 3 they differ by a third.
SMALL_DRAGONFLY = [
    ("absolute", 1, 20),
    ("relative", 1, 20),
    ("circulant", 1, 20),
    ("absolute", 1.25, 24),
    ("absolute", 3, 24),
    ("relative", 3, 32),
    ("circulant", 3, 36),
]


@pytest.mark.parametrize(("arrangement", "ratio", "expected"), SMALL_DRAGONFLY)
def test_the_small_dragonfly_of_the_study(
    dragonfly: Callable[..., Machine], arrangement: str, ratio: float, expected: int
) -> None:
    machine = dragonfly(9, 4, arrangement, ratio)
    found = bisection_bounds(machine)
    check_cut(machine, found)
    assert found.exact and found.upper_Bps == expected * 1e9


@pytest.mark.parametrize("arrangement", ["absolute", "relative", "circulant"])
def test_the_medium_dragonfly_is_bracketed(dragonfly: Callable[..., Machine], arrangement: str) -> None:
    machine = dragonfly(17, 8, arrangement, ratio=2)
    found, again = bisection_bounds(machine), bisection_bounds(machine)
    check_cut(machine, found)
    assert not found.exact and 141e9 <= found.lower_Bps <= found.upper_Bps <= 144e9
    assert np.array_equal(found.cut_side, again.cut_side) and found.to_json() == again.to_json()


def test_large_machines_have_a_spectral_bound_that_is_right(from_graph: Callable[..., Machine]) -> None:
    # 40 x 32 torus: second eigenvalue 2 - 2 cos(2 pi / 40), bisection 2 x 32 cables.
    machine = from_graph(nx.grid_graph([40, 32], periodic=True))
    closed_form_Bps = 1e9 * (2 - 2 * np.cos(2 * np.pi / 40)) * 1280 / 4
    assert spectral_bound_Bps(machine) == pytest.approx(closed_form_Bps, rel=1e-3)
    assert spectral_bound_Bps(machine) <= closed_form_Bps * (1 + 1e-9)
    assert cut_capacity_Bps(machine, best_cut(machine)) == 64e9


@pytest.mark.parametrize("nodes", [1, 2, 5])
def test_half_of_the_host_links_join_the_halves_of_one_router(from_graph: Callable[..., Machine], nodes: int) -> None:
    # A star of nodes: its bisection width is floor(n / 2) links.
    for graph in (nx.empty_graph(1), nx.path_graph(3)):
        machine = from_graph(graph, node_router=[0] * nodes)
        found = bisection_bounds(machine)
        assert found.exact and found.lower_Bps == found.upper_Bps == nodes // 2 * machine.host.bandwidth_Bps
        assert not found.cut_side.any()


@pytest.mark.parametrize("dense", [True, False])
def test_switches_without_cables_do_not_change_the_bisection(
    from_graph: Callable[..., Machine], dense: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Router 3 has no nodes; neither have routers 6 to 8, which are connected to no router with nodes."""
    if not dense:
        monkeypatch.setattr(bisection, "ROUTERS_FOR_DENSE_EIGENVALUES", 4)
    graph = nx.cycle_graph(6)
    nodes = [0, 1, 2, 4, 5]
    alone = spectral_bound_Bps(from_graph(graph, node_router=nodes))
    graph.add_edge(6, 7)
    graph.add_node(8)
    assert spectral_bound_Bps(from_graph(graph, node_router=nodes)) == pytest.approx(alone, rel=1e-6)
