"""The bound on the best split of flows over their paths, against the linear program over all paths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import LinkClass, Machine
from fabricstudy.routing import base
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.base import Flows, MemorylessRoutes, Routing, cached_routes
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.minimal import Minimal
from fabricstudy.structure.split import AnyPaths, any_paths_s, best_split_s

SPEEDS_BPS = (1e9, 2.5e9, 0.3e9)
ROUNDING = 1 + 1e-9


def random_machine(seed: int, routers: int, hop_weight: tuple[int, ...] = ()) -> Machine:
    """Connected machine with several classes of cables between some routers."""
    rng = np.random.default_rng(seed)
    pairs = [(a, a + 1) for a in range(routers - 1)] + [
        tuple(rng.choice(routers, 2, replace=False)) for _ in range(routers)
    ]
    rows = sorted({(min(pair), max(pair), kind) for pair in pairs for kind in rng.permutation(3)[: rng.integers(1, 3)]})
    tail, head, kind = np.array(rows, dtype=np.int32).T
    return Machine(
        kind="random",
        routers=routers,
        node_router=np.arange(routers, dtype=np.int32),
        cable_tail=tail,
        cable_head=head,
        cable_class=kind,
        cable_count=rng.integers(1, 4, len(rows)).astype(np.int32),
        classes=tuple(LinkClass(f"c{speed}", speed, 0.0) for speed in SPEEDS_BPS),
        host=LinkClass("host", 1e9, 0.0),
        hop_weight=hop_weight,
    )


def random_flows(seed: int, routers: int, count: int) -> Flows:
    rng = np.random.default_rng(seed)
    source, goal = rng.integers(0, routers, (2, count))
    apart = source != goal
    return Flows.merged(source[apart], goal[apart], rng.integers(1, 10**6, apart.sum()).astype(float), routers)


def lightest_paths(machine: Machine, source: int, goal: int) -> Iterator[list[int]]:
    """All minimal paths by networkx, a list of links each."""
    graph = nx.MultiDiGraph()
    for link, ends in enumerate(zip(machine.link_tail.tolist(), machine.link_head.tolist(), strict=True)):
        graph.add_edge(*ends, key=link, weight=machine.hop_weight[machine.link_class[link]])
    least = nx.shortest_path_length(graph, target=goal, weight="weight")

    def next_router(at: int) -> Iterator[list[int]]:
        if at == goal:
            yield []
        for _, head, link, data in graph.out_edges(at, keys=True, data=True):
            if least[head] + data["weight"] == least[at]:
                yield from ([link, *rest] for rest in next_router(head))

    return next_router(source)


def walks(machine: Machine, routing: Routing, source: int, goal: int) -> Iterator[list[int]]:
    """All paths that the next hops of a routing make."""
    way = cached_routes(machine, routing)
    assert isinstance(way, MemorylessRoutes)
    if source == goal:
        yield []
        return
    for link in way.next_hops(np.array([source]), np.array([goal])).link.tolist():
        yield from ([link, *rest] for rest in walks(machine, routing, int(machine.link_head[link]), goal))


def best_of_all_splits_s(machine: Machine, flows: Flows, paths_of: Any) -> float:
    """The linear program: bytes on each path of each flow, and the least time in which the links carry them."""
    columns, flow_of = [], []
    for flow, ends in enumerate(zip(flows.source.tolist(), flows.goal.tolist(), strict=True)):
        for path in paths_of(*ends):
            columns.append(np.bincount(path, minlength=machine.links))
            flow_of.append(flow)
    share = flows.size_bytes[flow_of] * np.array(columns).T / machine.link_capacity_Bps[:, None]
    scale = share.sum()
    upper = np.column_stack([share / scale, -np.ones(machine.links)])
    whole = np.zeros((len(flows.source), len(flow_of) + 1))
    whole[flow_of, np.arange(len(flow_of))] = 1
    cost = np.zeros(len(flow_of) + 1)
    cost[-1] = 1
    found = linprog(cost, A_ub=upper, b_ub=np.zeros(machine.links), A_eq=whole, b_eq=np.ones(len(whole)))
    assert found.status == 0
    return float(found.fun * scale)


def check(machine: Machine, routing: Routing, flows: Flows, exact_s: float) -> None:
    way = cached_routes(machine, routing)
    even = way.loads(flows) if way.oblivious else None
    if even is not None:
        assert exact_s <= (even / machine.link_capacity_Bps).max() * ROUNDING
    ways = way.path_graph(flows)
    assert ways is not None
    found_s = best_split_s(machine.link_capacity_Bps, ways, even, 0.0)
    assert 0.95 * exact_s <= found_s <= exact_s * ROUNDING
    assert best_split_s(machine.link_capacity_Bps, ways, even, 2 * exact_s) == 2 * exact_s


@given(
    seed=st.integers(0, 10_000),
    routers=st.integers(2, 10),
    count=st.integers(1, 40),
    weight=st.sampled_from([(), (1, 2, 1), (1, 100, 100)]),
)
@settings(max_examples=60)
def test_minimal_paths(seed: int, routers: int, count: int, weight: tuple[int, ...]) -> None:
    machine, flows = random_machine(seed, routers, weight), random_flows(seed, routers, count)
    if not len(flows.source):
        return
    exact_s = best_of_all_splits_s(machine, flows, lambda *ends: lightest_paths(machine, *ends))
    check(machine, Minimal(), flows, exact_s)
    check(machine, Adaptive(), flows, exact_s)


GRIDS: list[tuple[dict[str, Any], Routing]] = [
    ({"kind": "torus", "shape": [4, 4]}, DimensionOrder()),
    (
        {"kind": "torus", "shape": [4, 2, 4], "bandwidth": {"links": "2 GB/s", "host": "1 GB/s"}},
        DimensionOrder(),
    ),
    ({"kind": "torus", "shape": [4, 4]}, Adaptive()),
    ({"kind": "express-mesh", "shape": [6, 6], "gap": 3}, Adaptive()),
    ({"kind": "hyperx", "shape": [3, 4]}, Adaptive()),
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("machine", "routing"), GRIDS)
def test_paths_of_grids(machine: dict[str, Any], routing: Routing, seed: int) -> None:
    built = Topology.model_validate({"bandwidth": "1 GB/s"} | machine).build()
    flows = random_flows(seed, built.routers, 25)
    check(built, routing, flows, best_of_all_splits_s(built, flows, lambda *ends: walks(built, routing, *ends)))


@pytest.mark.parametrize("seed", range(5))
def test_paths_by_search_and_by_hops_are_the_same(seed: int) -> None:
    machine, flows = random_machine(seed, 9), random_flows(seed, 9, 30)
    way = cached_routes(machine, Minimal())
    length = np.random.default_rng(seed).random(machine.links)
    found = [ways.shortest(length) for ways in (way.path_graph(flows), MemorylessRoutes.path_graph(way, flows))]  # type: ignore[arg-type,union-attr]
    np.testing.assert_allclose(found[0], found[1])
    assert found[0] @ length == pytest.approx(
        sum(
            size * min(length[path].sum() for path in lightest_paths(machine, source, goal))
            for source, goal, size in zip(flows.source.tolist(), flows.goal.tolist(), flows.size_bytes, strict=True)
        )
    )


def test_too_many_paths_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Topology.model_validate({"kind": "torus", "shape": [4, 4], "bandwidth": "1 GB/s"}).build()
    monkeypatch.setattr(base, "MAX_FLOWS", 4)
    way = cached_routes(machine, DimensionOrder())
    assert way.path_graph(random_flows(1, 16, 30)) is None and way.path_graph(random_flows(1, 16, 2)) is not None


def least_time_by_arcs_s(machine: Machine, flows: Flows) -> float:
    """The least time over any paths: bytes of each source on each link are conserved at each router."""
    links, sources = machine.links, np.unique(flows.source)
    columns = links * len(sources) + 1
    incidence = np.zeros((machine.routers, links))
    incidence[machine.link_tail, np.arange(links)] += 1
    incidence[machine.link_head, np.arange(links)] -= 1
    conserved, supplies = [], []
    for number, source in enumerate(sources):
        rows = np.zeros((machine.routers, columns))
        rows[:, number * links : (number + 1) * links] = incidence
        conserved.append(rows)
        to = flows.source == source
        supply = -np.bincount(flows.goal[to], flows.size_bytes[to], machine.routers)
        supply[source] -= supply.sum()
        supplies.append(supply)
    capacity = np.column_stack([np.tile(np.eye(links), len(sources)), -machine.link_capacity_Bps / 1e6])
    solution = linprog(
        np.append(np.zeros(columns - 1), 1.0), capacity, np.zeros(links), np.vstack(conserved), np.concatenate(supplies)
    )
    assert solution.fun is not None
    return float(solution.fun) / 1e6


def test_any_paths_are_bounded_by_the_program_over_arcs() -> None:
    shares = []
    for seed in range(12):
        machine, flows = random_machine(seed, routers=7), random_flows(seed, 7, 20)
        between_bytes = np.zeros((7, 7))
        between_bytes[flows.source, flows.goal] = flows.size_bytes
        bound_s = any_paths_s(machine, between_bytes, 0.0)
        shares.append(bound_s / least_time_by_arcs_s(machine, flows))
    assert max(shares) <= ROUNDING and min(shares) > 0.85 and np.median(shares) > 0.99


@pytest.mark.parametrize("seed", range(5))
def test_loads_of_shortest_paths_are_those_of_networkx(seed: int) -> None:
    machine, flows = random_machine(seed, routers=9), random_flows(seed, 9, 30)
    length = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 3.0], machine.links)
    graph = nx.MultiDiGraph()
    graph.add_weighted_edges_from(zip(machine.link_tail, machine.link_head, length, strict=True))
    least = dict(nx.all_pairs_dijkstra_path_length(graph))
    ends = zip(flows.source, flows.goal, flows.size_bytes, strict=True)
    expected = sum(size * least[source][goal] for source, goal, size in ends)
    load = AnyPaths(machine, flows).shortest(length)
    assert load @ length == pytest.approx(expected, rel=1e-9, abs=1e-3)
    leaving = np.bincount(machine.link_tail, load, 9) - np.bincount(machine.link_head, load, 9)
    sent = np.bincount(flows.source, flows.size_bytes, 9) - np.bincount(flows.goal, flows.size_bytes, 9)
    assert leaving == pytest.approx(sent, abs=1e-3)
