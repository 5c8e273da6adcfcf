"""Dimension order, d-mod-k and adaptive routing: against walks of single packets, and what is proven of them."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.machine.dimension import Dimension
from fabricstudy.machine.distances import hop_distances
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.d_mod_k import DModK
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.ugal import Ugal
from fabricstudy.routing.valiant import Valiant
from fabricstudy.structure.load import link_loads, link_support, router_link_loads

TIES = ["split", "positive", "alternate"]


def steps(dimension: Dimension, a: int, b: int, tie: str) -> list[tuple[int, float]]:
    """Next coordinates on the way from a to b, with their shares."""
    if dimension.wrap:
        k = dimension.length
        up, down = ((a + 1) % k, (b - a) % k), ((a - 1) % k, (a - b) % k)
        if up[1] == down[1] and tie == "split":
            return [(up[0], 0.5), (down[0], 0.5)]
        if up[1] == down[1]:
            return [((up if tie == "positive" or a % 2 == 0 else down)[0], 1.0)]
        return [(min(up, down, key=lambda way: way[1])[0], 1.0)]
    lengths = [1] if dimension.gap is None else [1, *range(1, dimension.length, dimension.gap)]
    distance, sign = abs(b - a), 1 if b > a else -1
    hop = distance if distance in lengths else max((n for n in lengths if n < distance), default=1)
    return [(a + sign * hop, 1.0)]


def adaptive_steps(dimension: Dimension, a: int, b: int) -> set[int]:
    found = {to for to, _ in steps(dimension, a, b, "split")}
    return found if b in found or dimension.wrap else found | {a + (1 if b > a else -1)}


def moved(place: tuple[int, ...], k: int, to: int) -> tuple[int, ...]:
    return (*place[:k], to, *place[k + 1 :])


class Walker:
    """Single packets on a grid, by coordinates alone."""

    def __init__(self, machine: Machine) -> None:
        self.dimensions = machine.dimensions
        assert machine.coordinates is not None
        self.places = [tuple(row) for row in machine.coordinates.tolist()]
        self.link = {
            (self.places[tail], self.places[head]): link
            for link, (tail, head) in enumerate(zip(machine.link_tail, machine.link_head, strict=True))
        }

    def in_order(
        self, at: tuple[int, ...], goal: tuple[int, ...], tie: str, share: float, load: dict[int, float]
    ) -> None:
        if at == goal:
            return
        k = next(k for k in range(len(at)) if at[k] != goal[k])
        for to, part in steps(self.dimensions[k], at[k], goal[k], tie):
            onward = moved(at, k, to)
            load[self.link[at, onward]] += share * part
            self.in_order(onward, goal, tie, share * part, load)

    def adaptively(self, at: tuple[int, ...], goal: tuple[int, ...], used: set[int]) -> None:
        for k in range(len(at)):
            if at[k] != goal[k]:
                for to in adaptive_steps(self.dimensions[k], at[k], goal[k]):
                    onward = moved(at, k, to)
                    used.add(self.link[at, onward])
                    self.adaptively(onward, goal, used)


GRIDS = [
    {"kind": "torus", "shape": [4, 5]},
    {"kind": "torus", "shape": [6, 2, 3], "wrap": [True, True, False]},
    {"kind": "mesh", "shape": [4, 3, 2]},
    {"kind": "hypercube", "dimensions": 4},
    {"kind": "hyperx", "shape": [4, 3, 2]},
    {"kind": "express-mesh", "shape": [7, 4], "gap": 2},
    {"kind": "express-mesh", "shape": [9, 5], "gap": 3},
]


@pytest.fixture(params=GRIDS, ids=str, scope="module")
def grid(request: pytest.FixtureRequest, machine_of: Callable[..., Machine]) -> Machine:
    return machine_of(**request.param)


def random_flows(machine: Machine, messages: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.integers(0, machine.nodes, (2, messages)), random.integers(1, 1000, messages)


@pytest.mark.parametrize("tie", TIES)
def test_dimension_order_moves_bytes_as_single_packets_go(grid: Machine, tie: str) -> None:
    (source, destination), size = random_flows(grid, 200)
    walker = Walker(grid)
    load: dict[int, float] = defaultdict(float)
    for a, b, share in zip(grid.node_router[source], grid.node_router[destination], size, strict=True):
        walker.in_order(walker.places[a], walker.places[b], tie, float(share), load)
    expected = np.array([load[link] for link in range(grid.links)])
    found = link_loads(grid, source, destination, size, DimensionOrder(tie=tie)).link_bytes
    assert np.array_equal(found, expected)
    assert np.array_equal(link_support(grid, source, destination, DimensionOrder(tie=tie)), expected > 0)


def test_adaptive_packets_may_use_the_links_of_every_order(grid: Machine) -> None:
    (source, destination), _ = random_flows(grid, 6)
    walker = Walker(grid)
    used: set[int] = set()
    for a, b in zip(grid.node_router[source], grid.node_router[destination], strict=True):
        walker.adaptively(walker.places[a], walker.places[b], used)
    found = link_support(grid, source, destination, Adaptive())
    assert np.flatnonzero(found).tolist() == sorted(used)
    assert np.all(found[link_support(grid, source, destination, DimensionOrder())])


@pytest.mark.parametrize("fields", GRIDS[:5], ids=str)
def test_without_gaps_grid_routings_are_minimal(machine_of: Callable[..., Machine], fields: dict[str, Any]) -> None:
    grid = machine_of(**fields)
    (source, destination), size = random_flows(grid, 10)
    hops = hop_distances(grid).matrix()[grid.node_router[source], grid.node_router[destination]]
    for tie in TIES:
        assert link_loads(grid, source, destination, size, DimensionOrder(tie=tie)).link_bytes.sum() == hops @ size
    minimal = link_support(grid, source, destination, Minimal())
    assert np.array_equal(link_support(grid, source, destination, Adaptive()), minimal)


@pytest.mark.parametrize(
    ("tie", "up", "down"),
    [
        # Each way 2 bytes over distances 1 and 2, and half-way: half of 2 bytes, all, or those of every second router.
        ("split", [9] * 6, [9] * 6),
        ("positive", [12] * 6, [6] * 6),
        ("alternate", [10, 8] * 3, [8, 10] * 3),
    ],
)
def test_all_to_all_on_a_ring_by_hand(
    machine_of: Callable[..., Machine], tie: str, up: list[int], down: list[int]
) -> None:
    machine = machine_of("torus", shape=[6])
    load = router_link_loads(machine, np.full((6, 6), 2.0), DimensionOrder(tie=tie))
    for way, expected in ((1, up), (5, down)):
        links = np.flatnonzero((machine.link_head - machine.link_tail) % 6 == way)
        assert load[links[np.argsort(machine.link_tail[links])]].tolist() == expected


@pytest.mark.parametrize(("gap", "hops"), [(1, [9]), (2, [9]), (3, [7, 1, 1]), (4, [9]), (5, [6, 1, 1, 1]), (8, [9])])
def test_express_hops_by_hand(machine_of: Callable[..., Machine], gap: int, hops: list[int]) -> None:
    machine = machine_of("express-mesh", shape=[10], gap=gap)
    for source, destination, sign in ((0, 9, 1), (9, 0, -1)):
        used = link_support(machine, np.array([source]), np.array([destination]), DimensionOrder())
        found = sorted((machine.link_head - machine.link_tail)[used].tolist(), key=abs, reverse=True)
        assert found == [sign * hop for hop in hops]


def trees(machine_of: Callable[..., Machine]) -> dict[str, Machine]:
    return {
        "full": machine_of("fat-tree", radix=6),
        "half": machine_of("fat-tree", radix=8, pods=4, core_cables=2),
    }


def test_shifts_do_not_contend_under_d_mod_k(machine_of: Callable[..., Machine]) -> None:
    """Zahavi 2012: each shift of all nodes is free of contention in a tree as wide above as below."""
    machine = machine_of("fat-tree", radix=6)
    nodes = np.arange(machine.nodes)
    for shift in range(1, machine.nodes):
        load = link_loads(machine, nodes, (nodes + shift) % machine.nodes, np.ones(machine.nodes), DModK())
        assert load.link_bytes.max() <= 1


@pytest.mark.parametrize("name", ["full", "half"])
def test_d_mod_k_goes_up_by_the_digits_and_down_once(machine_of: Callable[..., Machine], name: str) -> None:
    machine = trees(machine_of)[name]
    assert machine.level is not None and machine.group is not None
    link = {(int(t), int(h)): i for i, (t, h) in enumerate(zip(machine.link_tail, machine.link_head, strict=True))}
    parents = [
        sorted(h for t, h in link if t == router and machine.level[h] > machine.level[t])
        for router in range(machine.routers)
    ]
    widths = [len(parents[int(np.argmax(machine.level == level))]) for level in range(2)]
    (source, destination), size = random_flows(machine, 150)
    load: Counter[int] = Counter()
    for a, node, bytes_ in zip(machine.node_router[source].tolist(), destination.tolist(), size.tolist(), strict=True):
        goal = int(machine.node_router[node])
        if a == goal:
            continue
        up = [a]
        if machine.group[a] != machine.group[goal]:
            up.append(parents[a][node % widths[0]])
            up.append(parents[up[1]][node // widths[0] % widths[1]])
            # The router of the goal's pod that this core router is joined to.
            down = next(h for t, h in link if t == up[2] and machine.group[h] == machine.group[goal])
            way = [*up, down, goal]
        else:
            way = [a, parents[a][node % widths[0]], goal]
        for hop in itertools.pairwise(way):
            load[link[hop]] += bytes_
    expected = np.array([load[i] for i in range(machine.links)])
    assert np.array_equal(link_loads(machine, source, destination, size, DModK()).link_bytes, expected)
    assert np.array_equal(link_support(machine, source, destination, DModK()), expected > 0)


def test_d_mod_k_is_minimal_and_adaptive_may_use_all_of_minimal(machine_of: Callable[..., Machine]) -> None:
    machine = machine_of("fat-tree", radix=6)
    (source, destination), _ = random_flows(machine, 20)
    minimal = link_support(machine, source, destination, Minimal())
    assert np.array_equal(link_support(machine, source, destination, Adaptive()), minimal)
    assert np.all(minimal[link_support(machine, source, destination, DModK())])


def test_d_mod_k_has_no_loads_between_routers(machine_of: Callable[..., Machine]) -> None:
    machine = machine_of("fat-tree", radix=4)
    with pytest.raises(ValueError, match="destination nodes"):
        router_link_loads(machine, np.ones((machine.routers, machine.routers)), DModK())


@pytest.mark.parametrize("routing", [DimensionOrder(), Minimal(), Valiant(), Adaptive(), Ugal()], ids=lambda r: r.kind)
def test_nothing_sent_uses_nothing(grid: Machine, routing: Any) -> None:
    none = np.array([], dtype=np.int32)
    assert not link_support(grid, none, none, routing).any()
    one = np.array([3])
    assert not link_support(grid, one, one, routing).any()


@given(seed=st.integers(0, 1000), parts=st.integers(1, 40))
@settings(deadline=None, max_examples=20)
def test_support_is_the_union_of_what_single_messages_use(
    machine_of: Callable[..., Machine], seed: int, parts: int
) -> None:
    machine = machine_of("torus", shape=[4, 3])
    (source, destination), _ = random_flows(machine, parts, seed)
    for routing in (DimensionOrder(), Adaptive(), Valiant()):
        single = [link_support(machine, source[i : i + 1], destination[i : i + 1], routing) for i in range(parts)]
        assert np.array_equal(link_support(machine, source, destination, routing), np.any(single, axis=0))


@pytest.mark.parametrize("fields", [*GRIDS, {"kind": "fat-tree", "radix": 6}], ids=str)
def test_large_walks_in_parts_find_the_same(
    machine_of: Callable[..., Machine], fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_of(**fields)
    routing = DModK() if fields["kind"] == "fat-tree" else DimensionOrder()
    (source, destination), size = random_flows(machine, 300)
    whole = link_loads(machine, source, destination, size, routing).link_bytes
    monkeypatch.setattr("fabricstudy.routing.base.PACKETS_AT_ONCE", 7)
    monkeypatch.setattr("fabricstudy.routing.base.STATES_AT_ONCE", 3 * machine.routers)
    assert np.array_equal(link_loads(machine, source, destination, size, routing).link_bytes, whole)
    assert np.array_equal(link_support(machine, source, destination, routing), whole > 0)
