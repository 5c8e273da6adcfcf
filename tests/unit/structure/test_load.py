"""Link loads against hand counts, and against the enumeration of every path a packet may take."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabricstudy.machine.distances import hop_distances
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.adaptive import Adaptive
from fabricstudy.routing.d_mod_k import DModK
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.minimal import Minimal
from fabricstudy.routing.ugal import Ugal
from fabricstudy.routing.valiant import Valiant
from fabricstudy.structure.load import has_loads, link_loads, link_support, router_link_loads

ARRANGEMENTS = ["absolute", "relative", "circulant"]


def weighted_distances(machine: Machine) -> dict[int, dict[int, int]]:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(machine.routers))
    for tail, head, kind in zip(machine.link_tail, machine.link_head, machine.link_class, strict=True):
        known = graph.get_edge_data(int(tail), int(head), {"weight": np.inf})["weight"]
        graph.add_edge(int(tail), int(head), weight=min(known, machine.hop_weight[kind]))
    return dict(nx.all_pairs_dijkstra_path_length(graph))


def minimal_paths(
    machine: Machine, far: dict[int, dict[int, int]], source: int, destination: int
) -> Iterator[tuple[Fraction, tuple[int, ...]]]:
    """Every path with its probability, as the links it takes."""
    if source == destination:
        yield Fraction(1), ()
        return
    onward = {
        link: int(machine.cable_count[link // 2])
        for link in np.flatnonzero(machine.link_tail == source).tolist()
        if machine.hop_weight[machine.link_class[link]] + far[int(machine.link_head[link])][destination]
        == far[source][destination]
    }
    for link, cables in onward.items():
        share = Fraction(cables, sum(onward.values()))
        for probability, rest in minimal_paths(machine, far, int(machine.link_head[link]), destination):
            yield share * probability, (link, *rest)


def valiant_paths(
    machine: Machine, far: dict[int, dict[int, int]], source: int, destination: int
) -> Iterator[tuple[Fraction, tuple[int, ...]]]:
    """As a packet goes: draw a router, go there, then to the destination; stop wherever that is met."""
    middles = np.flatnonzero(machine.nodes_of_router).tolist()
    for middle in middles:
        if middle in (source, destination):
            legs = minimal_paths(machine, far, source, destination)
        else:
            legs = (
                (first * second, (*there, *onward))
                for first, there in minimal_paths(machine, far, source, middle)
                for second, onward in minimal_paths(machine, far, middle, destination)
            )
        for probability, links in legs:
            met = [step for step, link in enumerate(links) if machine.link_head[link] == destination]
            yield probability / len(middles), links[: met[0] + 1]


def ways_into_group(
    machine: Machine, far: dict[int, dict[int, int]], source: int, group: int
) -> Iterator[tuple[Fraction, tuple[int, ...]]]:
    """Every path of least weight to a router of the group, ended where it enters."""
    assert machine.group is not None
    if machine.group[source] == group:
        yield Fraction(1), ()
        return
    left = [min(far[router][other] for other in np.flatnonzero(machine.group == group).tolist()) for router in far]
    onward = {
        link: int(machine.cable_count[link // 2])
        for link in np.flatnonzero(machine.link_tail == source).tolist()
        if machine.hop_weight[machine.link_class[link]] + left[machine.link_head[link]] == left[source]
    }
    for link, cables in onward.items():
        share = Fraction(cables, sum(onward.values()))
        for probability, rest in ways_into_group(machine, far, int(machine.link_head[link]), group):
            yield share * probability, (link, *rest)


def group_paths(
    machine: Machine, far: dict[int, dict[int, int]], source: int, destination: int
) -> Iterator[tuple[Fraction, tuple[int, ...]]]:
    """As a packet goes: draw a group, enter it, then to the destination; stop wherever that is met."""
    assert machine.group is not None
    groups = np.unique(machine.group[machine.nodes_of_router > 0]).tolist()
    for group in groups:
        if group in (machine.group[source], machine.group[destination]):
            legs = minimal_paths(machine, far, source, destination)
        else:
            legs = (
                (first * second, (*there, *onward))
                for first, there in ways_into_group(machine, far, source, group)
                for second, onward in minimal_paths(machine, far, int(machine.link_head[there[-1]]), destination)
            )
        for probability, links in legs:
            met = [step for step, link in enumerate(links) if machine.link_head[link] == destination]
            yield probability / len(groups), links[: met[0] + 1]


def enumerated_loads(
    machine: Machine, traffic: np.ndarray, paths: Callable[..., Iterator[tuple[Fraction, tuple[int, ...]]]]
) -> np.ndarray:
    far = weighted_distances(machine)
    load: dict[int, Fraction] = defaultdict(Fraction)
    for source, destination in zip(*map(np.ndarray.tolist, np.nonzero(traffic)), strict=True):
        if source == destination:
            continue
        for probability, links in paths(machine, far, source, destination):
            for link in links:
                load[link] += probability * int(traffic[source, destination])
    return np.array([float(load[link]) for link in range(machine.links)])


def random_traffic(seed: int, routers: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.integers(0, 100, (routers, routers)) * random.integers(0, 2, (routers, routers))


ENUMERATED = [
    (Minimal(), minimal_paths),
    (Valiant(), valiant_paths),
    (Valiant(via="group"), group_paths),
]


@pytest.mark.parametrize(("routing", "paths"), ENUMERATED)
@given(seed=st.integers(0, 10_000), routers=st.integers(2, 7))
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_loads_on_random_machines_equal_the_enumeration_of_paths(
    random_machine: Callable[..., Machine],
    routing: Any,
    paths: Callable[..., Iterator[tuple[Fraction, tuple[int, ...]]]],
    seed: int,
    routers: int,
) -> None:
    carrier = np.flatnonzero(np.random.default_rng(seed).integers(0, 3, routers) | (np.arange(routers) == 0))
    machine = random_machine(seed, routers, hop_weight=(1, 2), node_router=carrier.tolist())
    machine = dataclasses.replace(machine, group=(np.arange(routers) * 2 // 3).astype(np.int32))
    traffic = random_traffic(seed, routers) * np.outer(machine.nodes_of_router, machine.nodes_of_router).astype(float)
    expected = enumerated_loads(machine, traffic, paths)
    assert router_link_loads(machine, traffic, routing) == pytest.approx(expected, rel=1e-12, abs=1e-9)
    source, destination = np.searchsorted(carrier, np.nonzero(traffic))
    assert np.array_equal(link_support(machine, source, destination, routing), expected > 0)


@pytest.mark.parametrize("links", [1, 3])
@pytest.mark.parametrize(("routing", "paths"), ENUMERATED)
def test_loads_on_a_dragonfly_equal_the_enumeration_of_paths(
    dragonfly: Callable[..., Machine],
    routing: Any,
    paths: Callable[..., Iterator[tuple[Fraction, tuple[int, ...]]]],
    links: int,
) -> None:
    machine = dragonfly(5, 3, "relative", links_per_group_pair=links)
    traffic = random_traffic(1, machine.routers).astype(float)
    expected = enumerated_loads(machine, traffic, paths)
    assert router_link_loads(machine, traffic, routing) == pytest.approx(expected, rel=1e-12, abs=1e-9)


def test_through_a_group_a_packet_takes_two_global_hops_and_no_more(dragonfly: Callable[..., Machine]) -> None:
    machine = dragonfly(5, 3, "relative")
    traffic = np.zeros((15, 15))
    traffic[0, 14] = 1.0
    loads = router_link_loads(machine, traffic, Valiant(via="group"))
    # Of five groups two are the packet's own: one global hop. The other three ask for two.
    assert loads[np.array([kind.name == "global" for kind in machine.classes])[machine.link_class]].sum() == (
        pytest.approx((2 * 1 + 3 * 2) / 5)
    )


def test_valiant_draws_only_routers_with_nodes(from_graph: Callable[..., Machine]) -> None:
    # A star whose centre carries no node, and a detour over a router without nodes that is never drawn.
    machine = from_graph(nx.star_graph(3), node_router=[1, 2, 3])
    traffic = np.zeros((4, 4))
    traffic[1, 2] = 300.0
    expected = enumerated_loads(machine, traffic, valiant_paths)
    loads = router_link_loads(machine, traffic, Valiant())
    assert loads == pytest.approx(expected)
    # Drawn 1 or 2: direct; drawn 3: up to 3 and back.
    assert loads[(machine.link_tail == 0) & (machine.link_head == 3)] == pytest.approx(100.0)


def test_valiant_packets_stop_where_they_meet_their_destination(from_graph: Callable[..., Machine]) -> None:
    # On the path 0 - 1 - 2, packets from 0 to 1 that were to go by 2 get off at 1.
    machine = from_graph(nx.path_graph(3))
    loads = router_link_loads(machine, np.array([[0, 90.0, 0], [0, 0, 0], [0, 0, 0]]), Valiant())
    used = {(0, 1): 90.0}
    for tail, head, load in zip(machine.link_tail, machine.link_head, loads, strict=True):
        assert load == pytest.approx(used.get((int(tail), int(head)), 0.0), abs=1e-9)


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_all_to_all_on_the_small_dragonfly_by_hand(dragonfly: Callable[..., Machine], arrangement: str) -> None:
    """a=4, h=2, p=2: a global link joins two groups of 8 nodes; a local one serves its routers' 2 + 2 groups."""
    machine = dragonfly(9, 4, arrangement)
    source, destination = (pair.ravel() for pair in np.indices((72, 72)))
    loads = link_loads(machine, source, destination, np.full(72 * 72, 10), Minimal())
    by_hand = np.where(machine.link_class == 1, 10 * 8 * 8, 10 * (2 * 2 + 2 * 2 * (2 * 8)))
    assert np.array_equal(loads.link_bytes, by_hand)
    assert np.array_equal(loads.injection_bytes, np.full(72, 710.0))
    assert np.array_equal(loads.ejection_bytes, np.full(72, 710.0))


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_one_message_between_groups_takes_one_global_hop(dragonfly: Callable[..., Machine], arrangement: str) -> None:
    machine = dragonfly(9, 4, arrangement)
    for destination in range(8, 72):
        loads = link_loads(machine, np.array([0]), np.array([destination]), np.array([7]), Minimal())
        used = loads.link_bytes > 0
        assert np.array_equal(loads.link_bytes[used], np.full(used.sum(), 7.0))
        assert np.count_nonzero(machine.link_class[used] == 1) == 1 and used.sum() <= 3


def test_ties_on_a_ring_split_and_parallel_cables_count(from_graph: Callable[..., Machine]) -> None:
    ring = nx.cycle_graph(4)
    even = from_graph(ring)
    ring.edges[0, 1]["count"] = 3
    uneven = from_graph(ring)
    traffic = np.zeros((4, 4))
    traffic[0, 2] = 8.0
    for machine, share in ((even, 4.0), (uneven, 6.0)):
        loads = router_link_loads(machine, traffic, Minimal())
        by_ends = dict(zip(zip(machine.link_tail, machine.link_head, strict=True), loads, strict=True))
        assert by_ends[0, 1] == by_ends[1, 2] == share
        assert by_ends[0, 3] == by_ends[3, 2] == 8 - share
        assert loads.sum() == 16.0


def test_messages_within_a_node_use_nothing_and_within_a_router_only_host_links(
    dragonfly: Callable[..., Machine],
) -> None:
    machine = dragonfly(3, 2)
    source, destination = np.array([0, 0]), np.array([0, 1])
    for routing in (Minimal(), Valiant()):
        loads = link_loads(machine, source, destination, np.array([5, 9]), routing)
        assert not loads.link_bytes.any()
        assert loads.injection_bytes.nonzero()[0].tolist() == [0] and loads.injection_bytes[0] == 9
        assert loads.ejection_bytes.nonzero()[0].tolist() == [1] and loads.ejection_bytes[1] == 9


@given(seed=st.integers(0, 10_000), routers=st.integers(2, 12), data=st.data())
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_byte_makes_its_hops_and_none_gets_lost(
    random_machine: Callable[..., Machine], seed: int, routers: int, data: st.DataObject
) -> None:
    machine = random_machine(seed, routers)
    random = np.random.default_rng(seed)
    messages = data.draw(st.integers(0, 50))
    source, destination = random.integers(0, routers, (2, messages))
    size = random.integers(1, 10**9, messages)
    loads = link_loads(machine, source, destination, size, Minimal())
    hops = hop_distances(machine).matrix()[source, destination]
    assert loads.link_bytes.sum() == pytest.approx((hops * size).sum())
    for routing in (Minimal(), Valiant()):
        loads = link_loads(machine, source, destination, size, routing)
        enters = np.bincount(machine.link_head, loads.link_bytes, routers) + loads.injection_bytes
        leaves = np.bincount(machine.link_tail, loads.link_bytes, routers) + loads.ejection_bytes
        assert enters == pytest.approx(leaves, abs=1e-3)


def test_messages_and_their_matrix_give_the_same_loads(dragonfly: Callable[..., Machine]) -> None:
    machine = dragonfly(5, 4, "circulant", links_per_group_pair=2)
    random = np.random.default_rng(3)
    source, destination, size = random.integers(0, machine.nodes, (3, 500))
    traffic = np.zeros((machine.routers, machine.routers))
    np.add.at(traffic, (machine.node_router[source], machine.node_router[destination]), size)
    for routing in (Minimal(), Valiant()):
        loads = link_loads(machine, source, destination, size, routing)
        assert router_link_loads(machine, traffic, routing) == pytest.approx(loads.link_bytes)


def test_given_traffic_is_left_as_it_was(dragonfly: Callable[..., Machine]) -> None:
    machine = dragonfly(3, 2)
    traffic = np.ones((6, 6))
    router_link_loads(machine, traffic, Valiant())
    assert np.array_equal(traffic, np.ones((6, 6)))


@pytest.mark.parametrize("routing", [Adaptive(), Ugal()])
def test_what_has_no_loads_is_refused(dragonfly: Callable[..., Machine], routing: Any) -> None:
    assert not has_loads(dragonfly(3, 2), routing)
    with pytest.raises(ValueError, match=routing.kind):
        router_link_loads(dragonfly(3, 2), np.ones((6, 6)), routing)


@pytest.mark.parametrize("routing", [Minimal(), Valiant()])
def test_machines_in_two_parts_are_refused(from_graph: Callable[..., Machine], routing: Any) -> None:
    apart = from_graph(nx.Graph([(0, 1), (2, 3)]))
    with pytest.raises(ValueError, match="not connected"):
        router_link_loads(apart, np.ones((4, 4)), routing)


@pytest.mark.parametrize(("routing", "lacks"), [(DimensionOrder(), "dimensions"), (DModK(), "levels")])
def test_a_routing_on_a_machine_without_what_it_needs_is_refused(
    dragonfly: Callable[..., Machine], routing: Any, lacks: str
) -> None:
    with pytest.raises(ValueError, match=f"needs a machine with {lacks}, not dragonfly"):
        router_link_loads(dragonfly(3, 2), np.ones((6, 6)), routing)


def test_ugal_may_use_what_valiant_may(dragonfly: Callable[..., Machine]) -> None:
    machine = dragonfly(5, 3)
    messages = np.array([0, 1]), np.array([20, 9])
    support = link_support(machine, *messages, Ugal())
    assert np.array_equal(support, link_support(machine, *messages, Valiant()))
    assert np.all(support[link_support(machine, *messages, Minimal())])
    assert not support.all()


@pytest.mark.parametrize(("source", "destination"), [(4, 5), (0, 1), (7, 18)])
def test_links_that_rounding_alone_fills_are_not_used(
    machine_of: Callable[..., Machine], source: int, destination: int
) -> None:
    # Some legs of Valiant's routes end early with probability 1, which thirds and sixths do not add up to exactly.
    machine = machine_of("mesh", shape=[5, 5])
    traffic = np.zeros((25, 25))
    traffic[source, destination] = 1
    expected = enumerated_loads(machine, traffic, valiant_paths)
    assert np.array_equal(link_support(machine, np.array([source]), np.array([destination]), Valiant()), expected > 0)


@given(seed=st.integers(0, 10_000), routers=st.integers(2, 7))
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_shares_of_minimal_next_hops_are_those_of_cables(
    random_machine: Callable[..., Machine], seed: int, routers: int
) -> None:
    machine = random_machine(seed, routers, hop_weight=(1, 2))
    far, routes = weighted_distances(machine), Minimal().routes(machine)
    at, goal = (ends.ravel() for ends in np.divmod(np.arange(routers**2), routers))
    hops = routes.next_hops(at, goal)  # type: ignore[attr-defined]
    for packet, (source, destination) in enumerate(zip(at.tolist(), goal.tolist(), strict=True)):
        shares: dict[int, Fraction] = defaultdict(Fraction)
        for probability, links in minimal_paths(machine, far, source, destination):
            if links:
                shares[links[0]] += probability
        mine = hops.packet == packet
        found = dict(zip(hops.link[mine].tolist(), hops.share[mine].tolist(), strict=True))
        assert found == pytest.approx({link: float(share) for link, share in shares.items()})
