"""Mappings that go by traffic or coordinates: known optima, invariants, and what is refused."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from fabricstudy.core.model import ConfigError
from fabricstudy.engine.point import Point
from fabricstudy.machine.base import Topology
from fabricstudy.machine.distances import hop_distances
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.structure.load import link_loads
from fabricstudy.workload.mapping import Mapping, Slots, TaskGraph, Tasks
from fabricstudy.workload.mapping.annealing import temperatures
from fabricstudy.workload.mapping.curve import hilbert, morton
from fabricstudy.workload.mapping.kernels import (
    anneal_link_load,
    mapping_link_loads,
    mapping_state,
    nearest_routers_with_slots,
    route_table,
    slot_topology,
    swap_cost,
)
from fabricstudy.workload.mapping.kernels import mapping_hop_bytes as sum_of
from fabricstudy.workload.messages import Messages, PlacedJob
from fabricstudy.workload.pattern.base import Pattern

EXTENSIONS = ["ordered"]

TORUS: dict[str, Any] = {"kind": "torus", "shape": [4, 4, 4], "bandwidth": "1 GB/s"}
MACHINES: dict[str, dict[str, Any]] = {
    "torus": {"kind": "torus", "shape": [4, 3, 2], "nodes_per_router": 2, "cores_per_node": 2},
    "mesh": {"kind": "mesh", "shape": [5, 4], "cores_per_node": 2},
    "dragonfly": {"kind": "dragonfly", "groups": 5, "routers_per_group": 3, "nodes_per_router": 2},
    "fat-tree": {"kind": "fat-tree", "radix": 6, "cores_per_node": 2},
    "slim-fly": {"kind": "slim-fly", "q": 5, "nodes_per_router": 2},
}
BY_TRAFFIC: list[Any] = [
    "greedy",
    {"kind": "greedy", "starts": 1},
    "exchange",
    {"kind": "exchange", "start": "random", "neighbourhood": "all"},
    {"kind": "annealing", "moves_per_task": 20},
    {"kind": "annealing", "moves_per_task": 5, "start": {"kind": "exchange", "start": "linear"}},
    "recursive-bisection",
    {"kind": "best", "moves_per_task": 20},
]


def slots_on(machine: dict[str, Any], nodes: list[int] | None = None) -> Slots:
    built = Topology.model_validate({"bandwidth": "1 GB/s"} | machine).build()
    chosen = np.arange(built.nodes) if nodes is None else np.array(nodes)
    return Slots(built, chosen.astype(np.int32), built.cores_per_node)


def tasks_with(ranks: int, edges: list[tuple[int, int, int]], places: Any = None) -> Tasks:
    source, destination, size = (np.array(column) for column in zip(*edges, strict=True))
    phase = np.zeros(len(edges), dtype=np.int32)
    messages = Messages(phase, source.astype(np.int32), destination.astype(np.int32), size.astype(np.int64))
    return Tasks(ranks, messages, places)


def stencil(shape: tuple[int, ...], periodic: bool = True, shuffled: int | None = None) -> Tasks:
    pattern = Pattern.model_validate({
        "kind": "stencil", "dimensions": len(shape), "shape": shape, "periodic": periodic, "message": "1 kB",
    })  # fmt: skip
    ranks = int(np.prod(shape))
    sends, places = pattern.sends(ranks, np.random.default_rng(0)), pattern.coordinates(ranks)
    number = np.arange(ranks) if shuffled is None else np.random.default_rng(shuffled).permutation(ranks)
    edges = [(number[a], number[b], 1000) for a, b in zip(sends.source, sends.destination, strict=True)]
    assert places is not None
    return tasks_with(ranks, edges, places[np.argsort(number)])


def random_tasks(ranks: int, seed: int, degree: int = 4) -> Tasks:
    rng = np.random.default_rng(seed)
    pairs = rng.integers(ranks, size=(ranks * degree, 2))
    sizes = rng.integers(1, 1000, len(pairs))
    return tasks_with(ranks, [(a, b, c) for (a, b), c in zip(pairs.tolist(), sizes.tolist(), strict=True) if a != b])


def mapped(kind: Any, slots: Slots, tasks: Tasks, seed: int = 0) -> np.ndarray:
    mapping: Mapping = Mapping.model_validate(kind)
    core = mapping.map_ranks(slots, tasks, np.random.default_rng(seed))
    assert sorted(core) == list(range(slots.ranks))
    return np.asarray(core)


def bytes_times_hops(slots: Slots, tasks: Tasks, core: np.ndarray) -> float:
    """By the messages and the machine alone."""
    messages, router = tasks.messages, slots.router_of_core[core]
    assert messages is not None
    far = hop_distances(slots.machine).between(router[messages.source], router[messages.destination])
    return float(far @ messages.size_bytes)


def hops_a_byte(kind: Any, slots: Slots, tasks: Tasks, seed: int = 0) -> float:
    assert tasks.messages is not None
    return bytes_times_hops(slots, tasks, mapped(kind, slots, tasks, seed)) / int(tasks.messages.size_bytes.sum())


@pytest.mark.parametrize("kind", ["orb", "curve", {"kind": "curve", "curve": "morton"}, "greedy", "exchange"])
def test_a_torus_onto_the_same_torus_is_one_hop_a_message(kind: Any) -> None:
    shuffled = None if kind in ("greedy", "exchange") else 5
    assert hops_a_byte(kind, slots_on(TORUS), stencil((4, 4, 4), shuffled=shuffled)) == 1.0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_greedy_finds_a_torus_whatever_its_numbers(seed: int) -> None:
    """Without the look ahead, starts lead to 2 hops and more."""
    tasks = stencil((8, 8, 8), shuffled=seed)
    assert hops_a_byte("exchange", slots_on(TORUS | {"shape": [8, 8, 8]}), tasks) == 1.0


def test_a_long_grid_is_folded_by_orb_as_its_dimensions_pair() -> None:
    """Unpaired dimensions give 2.25 here."""
    slots = slots_on(TORUS | {"shape": [4, 8, 8]})
    assert hops_a_byte("orb", slots, stencil((8, 8, 4), shuffled=1)) == 1.0


def test_a_ring_is_one_hop_on_any_even_torus() -> None:
    ring = tasks_with(64, [(r, (r + 1) % 64, 1000) for r in range(64)])
    best = min(hops_a_byte({"kind": "annealing", "moves_per_task": 2000}, slots_on(TORUS), ring, s) for s in range(3))
    assert best < 1.1


def test_a_star_of_six_is_one_hop_on_a_torus_of_three_dimensions() -> None:
    star = tasks_with(64, [(0, leaf, 1000) for leaf in range(1, 7)])
    assert hops_a_byte("greedy", slots_on(TORUS), star) == 1.0


@pytest.mark.parametrize("kind", BY_TRAFFIC)
def test_all_to_all_is_the_mean_distance_however_it_is_mapped(kind: Any) -> None:
    slots = slots_on(TORUS | {"shape": [4, 4]})
    pairs = [(a, b, 10) for a in range(16) for b in range(16) if a != b]
    assert hops_a_byte(kind, slots, tasks_with(16, pairs)) == 32 / 15


def geometric(ranks: int, places: bool = True) -> Tasks:
    """Points in a cube, joined to those nearby, some nine each."""
    points = np.random.default_rng(1).random((ranks, 3))
    near = cKDTree(points).query_pairs((9 / (ranks * 4.19)) ** (1 / 3), output_type="ndarray")
    return tasks_with(ranks, [(a, b, 1000) for a, b in near.tolist()], (points * 1024).astype(int) if places else None)


@pytest.mark.parametrize("start", ["orb", {"kind": "exchange", "start": "orb"}, "exchange"], ids=str)
def test_annealing_improves_a_good_start(start: str | dict[str, Any]) -> None:
    """Half of the mean change at the start as the first temperature undoes each of them, so that nothing is gained."""
    slots, tasks = slots_on(TORUS | {"shape": [8, 8, 8]}), geometric(512)
    annealed = hops_a_byte({"kind": "annealing", "moves_per_task": 200, "start": start}, slots, tasks)
    assert annealed < 0.99 * hops_a_byte(start, slots, tasks)


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=50))
def test_gains_balance_losses_at_the_first_temperature(changes: list[int]) -> None:
    change = np.array(changes, dtype=float)
    loss, gain = change[change > 0], -change[change < 0].sum()
    hot, cold = temperatures(change)
    if not len(loss):
        assert (hot, cold) == (0, 0)
        return
    drift = loss @ np.exp(-loss / hot) - gain
    assert (
        abs(drift) < 1e-6 * (gain + loss.sum())
        or (np.isclose(hot, loss.mean() / 10) and drift > 0)
        or (np.isclose(hot, loss.mean()) and drift < 0)
    )


def test_the_better_curve_is_never_worse_than_either() -> None:
    slots, mesh = slots_on(TORUS | {"shape": [8, 8]}), stencil((4, 16), shuffled=1)
    for tasks in (mesh, geometric(64)):
        both = [hops_a_byte({"kind": "curve", "curve": curve}, slots, tasks) for curve in ("hilbert", "morton")]
        assert both[0] != both[1] and hops_a_byte("curve", slots, tasks) == min(both)


def test_best_names_the_start_and_is_no_worse_than_any_of_them() -> None:
    slots, tasks = slots_on(TORUS), stencil((4, 4, 4), shuffled=2)
    seating = Mapping.model_validate({"kind": "best", "starts": ["random", "orb", "random"]}).map_ranks_with_start(
        slots, tasks, np.random.default_rng(1)
    )
    assert tasks.messages is not None
    assert seating.start == "orb" and bytes_times_hops(slots, tasks, seating.core) == tasks.messages.size_bytes.sum()
    nested = Mapping.model_validate({"kind": "exchange", "start": {"kind": "best", "starts": ["random", "random"]}})
    assert nested.map_ranks_with_start(slots, tasks, np.random.default_rng(1)).start in ("random 1", "random 2")


def test_best_reaches_the_published_hops_of_a_butterfly_on_a_mesh() -> None:
    """64 ranks of NAS CG, exchanges within rows of eight and with the transposed rank: 1.161 by PaCMap (MapLib)."""
    rank = np.arange(64)
    partners = [rank ^ 1, rank ^ 2, rank ^ 4, rank % 8 * 8 + rank // 8]
    edges = [(a, b, 1000) for partner in partners for a, b in zip(rank.tolist(), partner.tolist(), strict=True)]
    tasks = tasks_with(64, [edge for edge in edges if edge[0] != edge[1]])
    slots = slots_on({"kind": "mesh", "shape": [4, 4, 4]})
    best = [hops_a_byte("best", slots, tasks, seed) for seed in range(3)]
    assert min(best) == pytest.approx(36 / 31) and max(best) < 1.2
    assert all(hops_a_byte("exchange", slots, tasks, seed) > 1.3 for seed in range(3))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kind", BY_TRAFFIC, ids=str)
def test_each_is_a_permutation_on_each_machine_and_never_worse_than_random(machine: str, kind: Any) -> None:
    whole = slots_on(MACHINES[machine])
    nodes = np.random.default_rng(2).permutation(whole.machine.nodes)[: whole.machine.nodes // 2 + 1]
    for slots in (whole, slots_on(MACHINES[machine], nodes.tolist())):
        tasks = random_tasks(slots.ranks, 1)
        mean = np.mean([hops_a_byte("random", slots, tasks, seed) for seed in range(5)])
        assert hops_a_byte(kind, slots, tasks) < mean


@given(seed=st.integers(0, 10_000), start=st.sampled_from(["linear", "random", "greedy", "recursive-bisection"]))
@settings(deadline=None, max_examples=25)
def test_refinement_is_never_worse_than_its_start(seed: int, start: str) -> None:
    slots, tasks = slots_on(MACHINES["torus"]), random_tasks(96, seed)
    before = hops_a_byte(start, slots, tasks, seed)
    for more in ({"kind": "exchange"}, {"kind": "exchange", "neighbourhood": "all"}, {"kind": "annealing"}):
        effort = {"moves_per_task": 3} if more["kind"] == "annealing" else {}
        assert hops_a_byte({**more, **effort, "start": start}, slots, tasks, seed) <= before


@given(seed=st.integers(0, 10_000))
@settings(deadline=None, max_examples=25)
def test_the_cost_of_a_swap_is_the_difference_of_two_sums(seed: int) -> None:
    rng = np.random.default_rng(seed)
    slots, tasks = slots_on(MACHINES["mesh"]), random_tasks(40, seed)
    graph, ground, seat = tasks.graph, slot_topology(slots), rng.permutation(40)
    one, other = rng.choice(40, 2, replace=False)
    swapped = seat.copy()
    swapped[[one, other]] = seat[[other, one]]
    change = sum_of(graph, ground, swapped) - sum_of(graph, ground, seat)
    assert swap_cost(mapping_state(slots, tasks.graph, seat), one, other) == change
    assert sum_of(graph, ground, seat) == bytes_times_hops(slots, tasks, seat)


def test_no_swap_gains_after_all_were_tried() -> None:
    slots, tasks = slots_on(MACHINES["torus"]), random_tasks(96, 3)
    seat = mapped({"kind": "exchange", "start": "random", "neighbourhood": "all"}, slots, tasks).astype(np.int64)
    state = mapping_state(slots, tasks.graph, seat)
    assert min(swap_cost(state, a, b) for a, b in itertools.combinations(range(96), 2)) >= 0


def test_near_routers_of_a_tree_are_leaves_of_the_same_pod() -> None:
    """Leaves of a pod are two hops apart, through routers that have no nodes."""
    slots = slots_on(MACHINES["fat-tree"])
    ground, far = slot_topology(slots), hop_distances(slots.machine).matrix()
    leaves = np.flatnonzero(slots.machine.nodes_of_router)
    for leaf in leaves:
        near = ground.near[ground.near_first[leaf] : ground.near_first[leaf + 1]]
        assert sorted(near) == [other for other in leaves if far[leaf, other] in (0, 2)]
    assert nearest_routers_with_slots(ground.joined_first, ground.joined, ground.cores_first)[0][-1] == len(ground.near)


@pytest.mark.parametrize("tie", ["split", "positive", "alternate"])
@pytest.mark.parametrize("machine", [
    {"kind": "torus", "shape": [4, 6, 2], "pair_cables": 2},
    {"kind": "mesh", "shape": [4, 3]},
    {"kind": "express-mesh", "shape": [7, 4], "gap": 2},
])  # fmt: skip
def test_loads_are_those_of_the_routing(machine: dict[str, Any], tie: str) -> None:
    slots = slots_on(machine)
    tasks = random_tasks(slots.ranks, 1)
    core = np.random.default_rng(1).permutation(slots.ranks)
    ends = slots.node_of_core[core]
    messages = tasks.messages
    assert messages is not None
    routing = DimensionOrder(tie=tie)
    source, goal = ends[messages.source], ends[messages.destination]
    expected = link_loads(slots.machine, source, goal, messages.size_bytes, routing).link_bytes
    loads = mapping_link_loads(mapping_state(slots, tasks.graph, core), route_table(slots.machine, tie))
    assert np.array_equal(loads.load, expected)


def test_swaps_by_loads_keep_the_loads_and_lower_the_fullest_link() -> None:
    """Two flows over the same links part where a swap lets them."""
    slots, tasks = slots_on(TORUS), random_tasks(64, 5)
    start = mapped({"kind": "exchange", "start": "random"}, slots, tasks).astype(np.int64)
    state, routes = mapping_state(slots, tasks.graph, start), route_table(slots.machine, "split")
    before = mapping_link_loads(state, routes).load
    anneal_link_load(state, routes, 64 * 300, 0.0, 0.0, 1)
    after = mapping_link_loads(state, routes).load
    assert np.sum((after / 1e4) ** 8) < np.sum((before / 1e4) ** 8) and after.max() < before.max()
    assert np.array_equal(state.task[state.core], np.arange(64))


def test_the_seats_do_not_move_with_the_cables_bandwidth_or_the_points_routing() -> None:
    kind = {"kind": "exchange", "objective": "link-load"}
    fast = slots_on(TORUS | {"bandwidth": {"links": "7 GB/s", "host": "1 GB/s"}})
    tasks = random_tasks(64, 5)
    assert np.array_equal(mapped(kind, slots_on(TORUS), tasks), mapped(kind, fast, tasks))


@pytest.mark.parametrize(("order", "expected"), [
    ("XYT", [0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11]),
    ("TXY", list(range(12))),
    ("ytx", [0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11]),
])  # fmt: skip
def test_ordered_goes_along_the_letters(order: str, expected: list[int]) -> None:
    slots = slots_on({"kind": "torus", "shape": [3, 2], "cores_per_node": 2})
    assert mapped({"kind": "ordered", "order": order}, slots, Tasks(12)).tolist() == expected


def test_hilberts_curve_goes_from_neighbour_to_neighbour() -> None:
    for shape in ((8, 8), (4, 4, 4), (2, 2, 2, 2)):
        place = np.indices(shape).reshape(len(shape), -1).T
        number = hilbert(place)
        steps = np.abs(np.diff(place[np.argsort(number)], axis=0)).sum(axis=1)
        assert sorted(number) == list(range(len(place))) and np.all(steps == 1)


def test_mortons_curve_interleaves_bits() -> None:
    x, y = np.divmod(np.arange(64), 8)
    bits = [
        sum(((a >> k & 1) << 2 * k + 1) + ((b >> k & 1) << 2 * k) for k in range(3)) for a, b in zip(x, y, strict=True)
    ]
    assert morton(np.stack([x, y], axis=1)).tolist() == bits


def test_curve_and_orb_follow_shuffled_numbers_off_a_grid() -> None:
    """On a dragonfly the nodes stand in the order of their routers, so a line of ranks stays a line."""
    slots = slots_on({"kind": "dragonfly", "groups": 3, "routers_per_group": 2, "nodes_per_router": 2})
    tasks = stencil((12,), periodic=False, shuffled=4)
    for kind in ("curve", "orb"):
        router = slots.router_of_core[mapped(kind, slots, tasks)]
        assert np.all(np.diff(router[np.argsort(tasks.known_coordinates[:, 0])]) >= 0)


def test_shuffled_numbers_are_the_same_pattern_with_other_names(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]
) -> None:
    def job(numbering: str, mapping: Any, seed: int = 1) -> Any:
        pattern = {"kind": "stencil", "message": "1 kB", "numbering": numbering}
        return placed(point({"nodes": 32, "pattern": pattern, "mapping": mapping}, seed=seed))[0]

    natural, shuffled = job("natural", "linear"), job("shuffled", "linear")
    assert natural.messages.source.tolist() != shuffled.messages.source.tolist()
    assert job("shuffled", "linear", 2).messages.source.tolist() != shuffled.messages.source.tolist()
    degrees = [sorted(np.bincount(one.messages.source)) for one in (natural, shuffled)]
    assert degrees[0] == degrees[1]
    # A mapping by coordinates sees through the numbers: the same nodes exchange the same bytes.
    pairs = [
        sorted(zip(one.node_of_rank[one.messages.source], one.node_of_rank[one.messages.destination], strict=True))
        for one in (job("natural", "orb"), job("shuffled", "orb"))
    ]
    assert pairs[0] == pairs[1]


def test_another_process_maps_the_same() -> None:
    kinds: list[Any] = ["exchange", {"kind": "exchange", "objective": "link-load"}, "annealing", "best"]
    script = f"""
from tests.unit.workload.test_task_mapping import TORUS, mapped, random_tasks, slots_on
for kind in {kinds!r}:
    print(mapped(kind, slots_on(TORUS), random_tasks(64, 1), 7).tolist())
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert found.splitlines() == [str(mapped(kind, slots_on(TORUS), random_tasks(64, 1), 7).tolist()) for kind in kinds]


def test_the_graph_adds_up_both_ways_and_drops_loops() -> None:
    graph = TaskGraph.of_edges(np.array([0, 1, 0, 2]), np.array([1, 0, 1, 2]), np.array([5, 7, 1, 9]), 3)
    assert (graph.first.tolist(), graph.partner.tolist()) == ([0, 1, 2, 2], [1, 0])
    assert (graph.size_bytes.tolist(), graph.sent_bytes.tolist()) == ([13.0, 13.0], [6.0, 7.0])


STENCIL: dict[str, Any] = {"kind": "stencil", "message": "1 kB"}


@pytest.mark.parametrize(("kind", "machine", "pattern", "ranks", "path"), [
    ("curve", TORUS, {"kind": "ring", "message": "1 kB"}, 64, ()),
    ("orb", TORUS, {"kind": "all-to-all", "message": "1 kB"}, 64, ()),
    ({"kind": "ordered", "order": "XYT"}, TORUS, STENCIL, 64, ("order",)),
    ({"kind": "ordered", "order": "XYZTT"}, TORUS, STENCIL, 64, ("order",)),
    ({"kind": "ordered", "order": "XT"}, MACHINES["dragonfly"], STENCIL, 30, ("order",)),
    ("exchange", TORUS, {"kind": "bisection", "message": "1 kB"}, 64, ()),
    ({"kind": "exchange", "start": "curve"}, TORUS, {"kind": "ring", "message": "1 kB"}, 64, ("start",)),
    ({"kind": "annealing", "start": {"kind": "ordered", "order": "T"}}, TORUS, STENCIL, 64, None),
    ({"kind": "best", "starts": ["greedy", "curve"]}, TORUS, {"kind": "ring", "message": "1 kB"}, 64, ("starts", "1")),
    ({"kind": "best", "moves_per_task": 1_000_000}, TORUS, STENCIL, 4096, ()),
    ({"kind": "exchange", "objective": "link-load"}, MACHINES["dragonfly"], STENCIL, 30, ("objective",)),
    ({"kind": "exchange", "neighbourhood": "all"}, TORUS, STENCIL, 200_000, ()),
    ({"kind": "annealing", "moves_per_task": 1_000_000}, TORUS, STENCIL, 4096, ()),
    ({"kind": "greedy", "starts": 10_000}, TORUS, STENCIL, 65_536, ()),
], ids=str)  # fmt: skip
def test_what_a_mapping_cannot_have_is_refused_when_planned(
    kind: Any, machine: dict[str, Any], pattern: dict[str, Any], ranks: int, path: tuple[str, ...] | None
) -> None:
    with pytest.raises((ConfigError, ValueError)) as refusal:
        mapping: Mapping = Mapping.model_validate(kind)
        mapping.check_fit(
            Topology.model_validate({"bandwidth": "1 GB/s"} | machine), Pattern.model_validate(pattern), ranks
        )
    if path is not None:
        error = refusal.value
        assert isinstance(error, ConfigError) and (error.code, error.keys) == ("unsupported", path)
