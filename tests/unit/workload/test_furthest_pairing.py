"""Pairs against distances and matchings of networkx."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.engine.point import Point
from fabricstudy.machine.base import Topology
from fabricstudy.machine.distances import hop_distances
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.messages import PlacedJob, WorkloadError
from fabricstudy.workload.pattern.base import JobPlacement

from ...bundled import bundled_extension

EXTENSIONS = ["furthest_pairing"]

PAIRING = bundled_extension("furthest_pairing")
antipodes, furthest_pairs = PAIRING.antipodes, PAIRING.furthest_pairs
CONFIG = PAIRING.FurthestPairing.model_validate({"message": "1 kB"})


def hops_of(graph: nx.Graph) -> np.ndarray:
    hops = np.zeros((len(graph), len(graph)), dtype=np.int16)
    for tail, row in nx.all_pairs_shortest_path_length(graph):
        for head, length in row.items():
            hops[tail, head] = length
    return hops


@pytest.mark.parametrize(
    ("shape", "nodes_per_router"),
    [((8, 4, 4), 1), ((4, 6), 1), ((16, 4, 2), 1), ((5, 5), 2), ((7, 3), 2), ((3, 3, 4), 1), ((9, 5), 4)],
)
def test_on_a_torus_every_pair_is_at_the_diameter(
    torus: Callable[..., Machine], shape: tuple[int, ...], nodes_per_router: int
) -> None:
    machine = torus(shape, nodes_per_router)
    site = JobPlacement(machine, np.arange(machine.nodes, dtype=np.int32), np.zeros(machine.routers, dtype=bool))
    pairs = CONFIG.sends_at(site)
    hops = hops_of(nx.convert_node_labels_to_integers(nx.grid_graph(shape[::-1], periodic=True), ordering="sorted"))
    router = machine.node_router
    assert np.all(hops[router[pairs.source], router[pairs.destination]] == sum(n // 2 for n in shape))


@pytest.mark.parametrize("allocation", ["cluster", "spread", "random"])
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_on_a_dragonfly_every_pair_is_at_the_diameter(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]], allocation: str, share: float
) -> None:
    job = {
        "share": share,
        "pattern": {"kind": "furthest-pairing", "message": "1 kB"},
        "allocation": {"kind": allocation},
        "mapping": {"kind": "random"},
    }
    start = point(job)
    (placed_job,) = placed(start)
    machine = start.machine.build()
    router = machine.node_router[placed_job.node_of_rank]
    messages = placed_job.messages
    assert np.all(hop_distances(machine).matrix()[router[messages.source], router[messages.destination]] == 3)


def test_of_equally_far_nodes_the_one_half_the_job_later_is_taken() -> None:
    everywhere = 1 - np.eye(6, dtype=np.int16)
    assert furthest_pairs(np.arange(6, dtype=np.int32), everywhere).tolist() == [3, 4, 5, 0, 1, 2]


def test_ranks_of_a_node_share_its_partner(torus: Callable[..., Machine]) -> None:
    """Four routers in a ring, a node each, ranks seated at random: rank order decides who of a node meets whom."""
    machine = torus((4,), cores_per_node=2)
    site = JobPlacement(machine, np.array([0, 2, 3, 1, 0, 1, 2, 3], dtype=np.int32), np.zeros(4, dtype=bool))
    pairs = CONFIG.sends_at(site)
    partner = dict(zip(pairs.source.tolist(), pairs.destination.tolist(), strict=True))
    assert partner == {0: 1, 1: 0, 4: 6, 6: 4, 3: 2, 2: 3, 5: 7, 7: 5}


@given(seed=st.integers(0, 10_000), routers=st.integers(3, 12), pairs=st.integers(1, 7))
@settings(deadline=None)
def test_partners_are_mutual_and_no_swap_of_two_pairs_gains(seed: int, routers: int, pairs: int) -> None:
    hops = hops_of(nx.connected_watts_strogatz_graph(routers, 2, 0.5, seed=seed))
    router = np.sort(np.random.default_rng(seed).integers(0, routers, 2 * pairs)).astype(np.int32)
    partner = furthest_pairs(router, hops)
    assert np.all(partner[partner] == np.arange(2 * pairs)) and np.all(partner != np.arange(2 * pairs))
    apart = hops[router, router[partner]]
    for a in range(2 * pairs):
        for c in range(2 * pairs):
            if c in (a, partner[a]):
                continue
            swapped = hops[router[a], router[c]] + hops[router[partner[a]], router[partner[c]]]
            assert swapped <= apart[a] + apart[c]


@pytest.mark.parametrize("seed", range(40))
def test_total_distance_is_that_of_the_best_matching(seed: int) -> None:
    """Not promised, but so on these; a change for the worse should be seen."""
    rng = np.random.default_rng(seed)
    hops = hops_of(nx.connected_watts_strogatz_graph(10, 3, 0.5, seed=seed))
    router = np.sort(rng.integers(0, 10, 12)).astype(np.int32)
    graph = nx.Graph()
    graph.add_weighted_edges_from((a, b, int(hops[router[a], router[b]])) for a in range(12) for b in range(a))
    best = sum(graph.edges[pair]["weight"] for pair in nx.max_weight_matching(graph, maxcardinality=True))
    assert hops[router, router[furthest_pairs(router, hops)]].sum() == 2 * best


def test_odd_number_of_nodes_is_refused(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]
) -> None:
    job = {"nodes": 3, "pattern": {"kind": "furthest-pairing", "message": "1 kB"}}
    with pytest.raises(WorkloadError, match=r"^job 0: .*\b3\b"):
        placed(point(job))


RINGS = [((8, 4, 4), 1), ((4, 6), 1), ((16, 4, 2), 1), ((2, 2), 1), ((4, 4), 3), ((6,), 2)]


def grid(shape: tuple[int, ...], nodes_per_router: int = 1, **more: Any) -> Machine:
    config = {"kind": "torus", "shape": list(shape), "nodes_per_router": nodes_per_router, "bandwidth": "1 GB/s"}
    return Topology.model_validate(config | more).build()


@pytest.mark.parametrize(("shape", "nodes_per_router"), RINGS)
def test_on_even_rings_partners_are_half_way_round_each(shape: tuple[int, ...], nodes_per_router: int) -> None:
    """Experiment A of Oltchik and Schwartz; the general search agrees, in the sum of distances and mostly in pairs."""
    machine = grid(shape, nodes_per_router)
    partner = antipodes(machine, np.arange(machine.nodes))
    assert machine.coordinates is not None and partner is not None
    at = machine.coordinates[machine.node_router]
    assert np.array_equal((at + np.array(shape) // 2) % shape, at[partner])
    assert np.array_equal(partner[partner], np.arange(machine.nodes))
    searched = furthest_pairs(machine.node_router, hop_distances(machine).matrix())
    assert np.array_equal(at[searched], at[partner])


@given(data=st.data())
@settings(deadline=None, max_examples=40)
def test_antipodes_of_a_part_are_given_only_where_all_are_in_it(data: st.DataObject) -> None:
    machine = grid((4, 4, 2), 2)
    assert machine.coordinates is not None
    nodes = np.array(sorted(data.draw(st.sets(st.integers(0, 63), min_size=2, max_size=20))))
    if data.draw(st.booleans()):
        opposite = (machine.coordinates[machine.node_router] + [2, 2, 1]) % [4, 4, 2] @ [1, 4, 16]
        nodes = np.union1d(nodes, 2 * opposite[nodes] + nodes % 2)
    router = machine.node_router[nodes]
    partner = antipodes(machine, nodes)
    at = machine.coordinates
    counts = {tuple(at[r]): np.count_nonzero(router == r) for r in set(router.tolist())}
    closed = all(counts.get(tuple(np.add(place, [2, 2, 1]) % [4, 4, 2])) == n for place, n in counts.items())
    assert (partner is not None) == closed
    if partner is not None:
        assert np.array_equal((at[router] + [2, 2, 1]) % [4, 4, 2], at[router[partner]])
        assert np.array_equal(partner[partner], np.arange(len(nodes)))


def test_odd_rings_and_lines_have_no_antipodes() -> None:
    for shape, wrap in (((4, 5), True), ((4, 4), [True, False])):
        machine = grid(shape, wrap=wrap)
        assert antipodes(machine, np.arange(machine.nodes)) is None


def test_ranks_of_a_node_pair_with_those_of_the_opposite_one() -> None:
    machine = grid((4, 2), cores_per_node=2)
    node_of_rank = np.array([0, 5, 2, 7, 4, 1, 6, 3] * 2, dtype=np.int32)
    pairs = CONFIG.sends_at(JobPlacement(machine, node_of_rank, np.zeros(8, dtype=bool)))
    partner = dict(zip(pairs.source.tolist(), pairs.destination.tolist(), strict=True))
    # Node (x, y) is x + 4 y, so 0 and 6 are opposite: ranks 0 and 8, 6 and 14.
    assert partner[0] == 6 and partner[8] == 14 and partner[14] == 8
