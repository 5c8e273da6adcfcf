"""Policies that keep jobs apart: each keeps its rule, and under the routing it is made for no link is shared."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fabricstudy.engine.point import Point
from fabricstudy.machine.base import Topology
from fabricstudy.machine.dimension import Dimension
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.structure.load import link_support
from fabricstudy.structure.sharing import Sharing, link_sharing
from fabricstudy.workload.allocation.base import NO_JOB, Allocation, Grant, Request
from fabricstudy.workload.messages import WorkloadError
from fabricstudy.workload.placing import place

from ...bundled import bundled_extension

EXTENSIONS = ["partitioning"]
BOXES = bundled_extension("partitioning")

MACHINE, ROUTING, ALLOCATION = Topology, Routing, Allocation
GRIDS: dict[str, dict[str, Any]] = {
    "mesh": {"kind": "mesh", "shape": [5, 3, 4], "nodes_per_router": 2},
    "torus": {"kind": "torus", "shape": [6, 5, 4]},
    "gemini": {"kind": "gemini", "shape": [4, 6, 5]},
    "half torus": {"kind": "torus", "shape": [8, 6], "wrap": [True, False], "nodes_per_router": 3},
    "hyperx": {"kind": "hyperx", "shape": [5, 4, 3]},
    "gap 2": {"kind": "express-mesh", "shape": [7, 4, 4], "gap": 2, "nodes_per_router": 2},
    "gap 3": {"kind": "express-mesh", "shape": [9, 6], "gap": 3},
}
TREES: dict[str, dict[str, Any]] = {
    "tree": {"kind": "fat-tree", "radix": 6},
    "half tree": {"kind": "fat-tree", "radix": 8, "pods": 4, "core_cables": 2},
}
GROUPS: dict[str, dict[str, Any]] = {
    "dragonfly": {"kind": "dragonfly", "groups": 9, "routers_per_group": 4, "nodes_per_router": 2},
    "slim fly 5": {"kind": "slim-fly", "q": 5, "nodes_per_router": 2},
    "slim fly 7": {"kind": "slim-fly", "q": 7, "nodes_per_router": 1},
    "tree": TREES["tree"],
}


@cache
def machine_of(name: str) -> Machine:
    return MACHINE.model_validate({"bandwidth": "1 GB/s"} | (GRIDS | TREES | GROUPS)[name]).build()


def allocate(machine: Machine, holder: np.ndarray, job: int, wanted: int, policy: dict[str, Any]) -> Grant:
    """Allocate nodes to a job and record them."""
    config, rng = ALLOCATION.model_validate(policy), np.random.default_rng(0)
    grant = config.allocate(Request(machine, holder, wanted, rng, rng))
    assert len(grant.nodes) == wanted == len(set(grant.nodes.tolist()))
    assert set(grant.nodes.tolist()) <= set(grant.all_reserved.tolist())
    assert np.all(holder[grant.all_reserved] == NO_JOB)
    holder[grant.all_reserved] = job
    return grant


def allocate_all(machine: Machine, wishes: Sequence[tuple[int, dict[str, Any]]]) -> list[np.ndarray]:
    """Nodes of each job that could be placed."""
    holder, found = np.full(machine.nodes, NO_JOB, dtype=np.int32), []
    for job, (wanted, policy) in enumerate(wishes):
        if wanted <= np.count_nonzero(holder == NO_JOB):
            try:
                found.append(allocate(machine, holder, job, wanted, policy).nodes)
            except WorkloadError:
                continue
    return found


def shared(machine: Machine, jobs: list[np.ndarray], routing: str) -> Sharing:
    """How far jobs share links if in each every node sends to every other."""
    used = []
    for nodes in jobs:
        source, destination = (side.reshape(-1) for side in np.meshgrid(nodes, nodes))
        used.append(link_support(machine, source, destination, ROUTING.model_validate(routing)))
    return link_sharing(np.array(used, dtype=bool).reshape(len(jobs), machine.links))


def assert_apart(machine: Machine, jobs: list[np.ndarray], routing: str) -> None:
    found = shared(machine, jobs, routing)
    assert found.mls == found.tls == 0


def is_box(machine: Machine, nodes: np.ndarray) -> bool:
    """Whether routers form a cuboid, across the ends of rings, too."""
    assert machine.coordinates is not None
    places = machine.coordinates[np.unique(machine.node_router[nodes])]
    cells = 1
    for axis, line in enumerate(machine.dimensions):
        there = set(places[:, axis].tolist())
        starts = [at for at in there if (at - 1) % line.length not in there or (at == 0 and not line.wrap)]
        if len(starts) > 1:
            return False
        cells *= len(there)
    return cells == len(places)


SIZES = st.lists(st.integers(1, 60), min_size=2, max_size=12)


@pytest.mark.parametrize("name", GRIDS)
@given(
    sizes=SIZES,
    policy=st.sampled_from(["convex-block", "building-blocks"]),
    prefer=st.sampled_from(["best-bisection", "surface", "planes"]),
    spare=st.sampled_from([0.0, 0.3, 1.0]),
)
@settings(deadline=None, max_examples=25)
def test_convex_blocks_share_nothing(name: str, sizes: list[int], policy: str, prefer: str, spare: float) -> None:
    machine = machine_of(name)
    block = [2 if line.length % 2 == 0 else 1 for line in machine.dimensions]
    more: dict[str, Any] = {"block": block} if policy == "building-blocks" else {"spare": spare}
    wish = {"kind": policy, "prefer": prefer} | more
    jobs = allocate_all(machine, [(size, wish) for size in sizes])
    for routing in ("dimension-order", "adaptive"):
        assert_apart(machine, jobs, routing)
    if machine.dimensions[0].gap in (None, 1):
        assert_apart(machine, jobs, "minimal")


@pytest.mark.parametrize("name", GRIDS)
@given(data=st.data())
@settings(deadline=None, max_examples=25)
def test_blocks_are_boxes_and_are_found_wherever_there_are_any(name: str, data: st.DataObject) -> None:
    """Against a search of all corners and sides."""
    machine = machine_of(name)
    lengths = [line.length for line in machine.dimensions]
    each = machine.nodes // machine.routers
    holder = np.full(machine.nodes, NO_JOB, dtype=np.int32)
    holder[data.draw(st.lists(st.integers(0, machine.nodes - 1), max_size=12))] = 7
    routers = data.draw(st.integers(1, machine.routers // 3))
    policy = data.draw(st.sampled_from(["cuboid", "convex-block", "building-blocks"]))
    block = [1] * len(lengths)
    if policy == "building-blocks":
        block = [data.draw(st.sampled_from([d for d in range(1, n + 1) if n % d == 0])) for n in lengths]
    assume(routers * each <= np.count_nonzero(holder == NO_JOB))
    free = set(
        np.flatnonzero(np.bincount(machine.node_router[holder != NO_JOB], minlength=machine.routers) == 0).tolist()
    )
    least = least_free_box(machine, free, routers, policy, block)
    spare = data.draw(st.sampled_from([0.0, 0.5])) if policy == "convex-block" else 0.0
    more: dict[str, Any] = {"building-blocks": {"block": block}, "convex-block": {"spare": spare}}
    wish = {"kind": policy} | more.get(policy, {})
    try:
        grant = allocate(machine, holder, 0, routers * each, wish)
    except WorkloadError:
        assert least is None
        return
    assert is_box(machine, grant.all_reserved)
    assert least is not None
    assert least <= len(grant.all_reserved) // each <= max(least, routers * (1 + spare))


def least_free_box(machine: Machine, free: set[int], routers: int, policy: str, block: list[int]) -> int | None:
    """Routers of the smallest free cuboid that the policy may give, by trying all, or None."""
    lengths = [line.length for line in machine.dimensions]
    sizes = []
    for sides in product(*(range(step, n + 1, step) for n, step in zip(lengths, block, strict=True))):
        cells = int(np.prod(sides))
        convex = all(
            not line.wrap or side == line.length or side - 1 < line.length / 2
            for side, line in zip(sides, machine.dimensions, strict=True)
        )
        if cells < routers or (policy == "cuboid" and cells != routers) or (policy != "cuboid" and not convex):
            continue
        corners = product(
            *(
                range(0, line.length if line.wrap else line.length - side + 1, step)
                for line, side, step in zip(machine.dimensions, sides, block, strict=True)
            )
        )
        for corner in corners:
            inside = {
                int(
                    np.ravel_multi_index(
                        [(at + c) % n for at, c, n in zip(place, corner, lengths, strict=True)][::-1], lengths[::-1]
                    )
                )
                for place in np.ndindex(*sides)
            }
            if inside <= free:
                sizes.append(cells)
                break
    return min(sizes, default=None)


def test_best_and_worst_cuboid_of_a_mesh() -> None:
    """16 routers of 4 x 16: 4 x 4 has 4 cables across its middle, 2 x 8 has 2, a line of 16 has one."""
    machine = MACHINE.model_validate({"kind": "mesh", "shape": [4, 16], "bandwidth": "1 GB/s"}).build()
    holder = np.full(64, NO_JOB, dtype=np.int32)
    for job, (choice, sides) in enumerate([("best", (4, 4)), ("worst", (1, 12)), ("best", (2, 8)), ("best", None)]):
        wanted = 12 if choice == "worst" else 16
        if sides is None:
            with pytest.raises(WorkloadError, match=r"\b16\b"):
                allocate(machine, holder, job, wanted, {"kind": "cuboid", "prefer": f"{choice}-bisection"})
            continue
        assert machine.coordinates is not None
        places = machine.coordinates[
            allocate(machine, holder, job, wanted, {"kind": "cuboid", "prefer": f"{choice}-bisection"}).nodes
        ]
        assert tuple(len(set(places[:, axis].tolist())) for axis in range(2)) == sides


@pytest.mark.parametrize("spare", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("name", ["torus", "gemini"])
def test_compact_blocks_have_the_fewest_cables_to_the_rest(name: str, spare: float) -> None:
    """Against a count of the cables that leave each convex cuboid of which no side can be shortened."""
    machine = machine_of(name)
    lengths = [line.length for line in machine.dimensions]
    boxes = list(product(*([side for side in range(1, n + 1) if side - 1 < n / 2 or side == n] for n in lengths)))
    leaving = {box: cables_out(machine, box) for box in boxes}
    for routers in range(1, machine.routers + 1):
        large = [np.array(box) for box in boxes if np.prod(box) >= routers]
        minimal = [box for box in large if sum(bool((other <= box).all()) for other in large) == 1]
        most = max(int(routers * (1 + spare)), min(int(box.prod()) for box in minimal))
        fewest = min(leaving[tuple(box.tolist())] for box in minimal if box.prod() <= most)
        found = BOXES.convex_boxes(routers, machine.dimensions, None, "surface", spare)[0]
        assert np.prod(found) <= most
        assert BOXES.box_surface(found, machine.dimensions) == leaving[found] == fewest


def cables_out(machine: Machine, box: tuple[int, ...]) -> int:
    """Cables between the cuboid at the origin and other routers."""
    assert machine.coordinates is not None
    inside = np.all(machine.coordinates < box, axis=1)
    crossing = inside[machine.cable_tail] != inside[machine.cable_head]
    return int(machine.cable_count[crossing].sum())


def test_a_given_shape_goes_across_the_end_of_a_ring() -> None:
    machine = machine_of("torus")
    holder = np.full(machine.nodes, NO_JOB, dtype=np.int32)
    assert machine.coordinates is not None
    holder[machine.coordinates[:, 0] == 2] = 9
    nodes = allocate(machine, holder, 0, 100, {"kind": "cuboid", "shape": [5, 5, 4]}).nodes
    assert set(machine.coordinates[nodes, 0].tolist()) == {0, 1, 3, 4, 5}
    # In the order of the cuboid, not of the machine.
    assert machine.coordinates[nodes[:5], 0].tolist() == [3, 4, 5, 0, 1]


def test_a_block_longer_than_half_a_ring_would_be_left() -> None:
    """Rings of 8: routers 0 to 5 send from 0 to 5 the other way, through 6 and 7."""
    machine = machine_of("half torus")
    assert machine.coordinates is not None
    at = machine.coordinates[machine.node_router]
    jobs = [np.flatnonzero((at[:, 0] < 6) & (at[:, 1] == 0)), np.flatnonzero((at[:, 0] >= 5) & (at[:, 1] == 0))]
    assert shared(machine, jobs, "dimension-order").mls > 0


def test_two_corners_of_a_hyperx_share() -> None:
    """(0,0,0) to (1,1,1) and (2,0,0) to (1,1,2) both go from (1,0,0) to (1,1,0)."""
    machine = machine_of("hyperx")
    corners = [[(0, 0, 0), (1, 1, 1)], [(2, 0, 0), (1, 1, 2)]]
    jobs = [np.array([x + 5 * y + 20 * z for x, y, z in job]) for job in corners]
    assert shared(machine, jobs, "dimension-order").mls > 0


@pytest.mark.parametrize("name", ["mesh", "gap 2", "gap 3"])
def test_what_is_not_convex_shares(name: str) -> None:
    """An L of two lines, and its corner's neighbour: routes of the L pass through it."""
    machine = machine_of(name)
    assert machine.coordinates is not None
    at = machine.coordinates[machine.node_router]
    rest = (at[:, 2:] == 0).all(axis=1)
    in_l = (
        rest & ((at[:, 1] == 1) | (at[:, 0] == 0)) & (at[:, :2] <= 2).all(axis=1) & ~((at[:, 0] == 0) & (at[:, 1] == 0))
    )
    corner = rest & (at[:, 0] <= 2) & (at[:, 1] == 2) & (at[:, 0] > 0)
    jobs = [np.flatnonzero(in_l), np.flatnonzero(corner)]
    assert shared(machine, jobs, "dimension-order").tls > 0


RULES = ("auto", "one-leaf", "whole-leaves", "shared-pods", "whole-pods")


@pytest.mark.parametrize("name", TREES)
@given(wishes=st.lists(st.tuples(st.integers(1, 20), st.sampled_from(RULES)), min_size=2, max_size=14))
@settings(deadline=None, max_examples=60)
def test_tree_partitions_share_nothing(name: str, wishes: list[tuple[int, str]]) -> None:
    machine = machine_of(name)
    jobs = allocate_all(machine, [(size, {"kind": "tree-partition", "rule": rule}) for size, rule in wishes])
    for routing in ("d-mod-k", "minimal", "adaptive"):
        assert_apart(machine, jobs, routing)


@pytest.mark.parametrize("name", TREES)
@given(first=st.lists(st.integers(1, 9), max_size=8), wanted=st.integers(1, 30), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_each_rule_by_its_words(name: str, first: list[int], wanted: int, seed: int) -> None:
    """Among jobs anywhere: what is granted keeps the rule, and a rule is refused only where it cannot be kept."""
    machine, rng = machine_of(name), np.random.default_rng(seed)
    assert machine.group is not None
    leaf, pod = machine.node_router, machine.group[machine.node_router]
    before = np.full(machine.nodes, NO_JOB, dtype=np.int32)
    for job, size in enumerate(first):
        chosen = np.flatnonzero(before == NO_JOB)
        before[(rng.permutation(chosen) if job % 2 else chosen)[:size]] = job
    free = before == NO_JOB
    assume(wanted <= np.count_nonzero(free))
    empty = np.array([free[leaf == n].all() for n in leaf]) & free
    quiet = [
        p
        for p in set(pod.tolist())
        if all(keeps_i_or_ii(before == j, leaf, pod) for j in set(before[pod == p].tolist()) - {NO_JOB})
    ]
    possible = {
        "one-leaf": max(np.bincount(leaf[free])) >= wanted,
        "whole-leaves": max(np.bincount(pod[empty], minlength=1)) >= wanted,
        "shared-pods": np.count_nonzero(free & np.isin(pod, quiet)) >= wanted,
        "whole-pods": sum(np.count_nonzero(pod == p) for p in set(pod.tolist()) if free[pod == p].all()) >= wanted,
    }
    for rule, can in possible.items():
        holder = before.copy()
        try:
            grant = allocate(machine, holder, 99, wanted, {"kind": "tree-partition", "rule": rule})
        except WorkloadError:
            assert not can, rule
            continue
        assert can, rule
        mine = holder == 99
        if rule == "one-leaf":
            assert len(set(leaf[mine].tolist())) == 1
        elif rule == "whole-leaves":
            assert keeps_i_or_ii(mine, leaf, pod) and np.array_equal(np.isin(leaf, leaf[mine]), mine)
            assert len(grant.all_reserved) - wanted < np.bincount(leaf)[0]
        elif rule == "shared-pods":
            assert set(pod[mine].tolist()) <= set(quiet)
        else:
            assert np.array_equal(np.isin(pod, pod[mine]), mine)


def keeps_i_or_ii(mine: np.ndarray, leaf: np.ndarray, pod: np.ndarray) -> bool:
    """Rules (i) and (ii) as the source words them."""
    leaves = set(leaf[mine].tolist())
    whole = all(mine[leaf == number].all() for number in leaves)
    return len(leaves) == 1 or (whole and len(set(pod[mine].tolist())) == 1)


def test_jobs_that_break_the_tree_rules_share() -> None:
    """Rule (iii) with two jobs across the same pods, and leaves shared by jobs across leaves (claim 3.17)."""
    machine = machine_of("tree")
    assert machine.group is not None
    leaf, pod = machine.node_router, machine.group[machine.node_router]
    odd = np.arange(machine.nodes) % 2 == 1
    across = [np.flatnonzero((pod < 2) & odd), np.flatnonzero((pod < 2) & ~odd)]
    within = [np.flatnonzero((leaf < 2) & odd), np.flatnonzero((leaf < 2) & ~odd)]
    for jobs in (across, within):
        for routing in ("minimal", "adaptive"):
            assert shared(machine, jobs, routing).mls > 0


@pytest.mark.parametrize("name", GROUPS)
@given(sizes=SIZES)
@settings(deadline=None, max_examples=20)
def test_jobs_within_a_group_share_nothing(name: str, sizes: list[int]) -> None:
    machine = machine_of(name)
    jobs = allocate_all(machine, [(1 + size % 11, {"kind": "one-group"}) for size in sizes])
    assert_apart(machine, jobs, "minimal")
    assert machine.group is not None
    for nodes in jobs:
        assert len(set(machine.group[machine.node_router[nodes]].tolist())) == 1


@pytest.mark.parametrize("name", ["dragonfly", "tree"])
@given(sizes=SIZES)
@settings(deadline=None, max_examples=20)
def test_jobs_on_whole_groups_share_nothing_under_minimal_routing(name: str, sizes: list[int]) -> None:
    machine = machine_of(name)
    jobs = allocate_all(machine, [(size, {"kind": "whole-groups"}) for size in sizes])
    assert_apart(machine, jobs, "minimal")


def test_whole_groups_do_share_where_the_source_says_so() -> None:
    """Valiant routes leave the groups of a dragonfly, and minimal ones those of a Slim Fly (claim 3.18)."""
    for name, routing in (("dragonfly", "valiant"), ("slim fly 5", "minimal")):
        machine = machine_of(name)
        assert machine.group is not None
        three_groups = 3 * int(np.count_nonzero(machine.group[machine.node_router] == 0))
        jobs = allocate_all(machine, [(three_groups, {"kind": "whole-groups"})] * 3)
        assert len(jobs) == 3 and shared(machine, jobs, routing).mls > 0


def test_swapped_clusters_exchange_about_a_tenth() -> None:
    """500 swaps of 10,000 nodes displace 2 * 500 less those drawn twice: 1 - exp(-0.1) of them (claim 3.16)."""
    config = {"kind": "mesh", "shape": [100, 100], "bandwidth": "1 GB/s"}
    machine = MACHINE.model_validate(config).build()
    rngs = [np.random.default_rng(5) for _ in range(2)]
    holder, jobs = np.full(10_000, NO_JOB, dtype=np.int32), []
    policy = ALLOCATION.model_validate({"kind": "swapped-cluster"})
    for rng in rngs:
        jobs.append(policy.allocate(Request(machine, holder, 5000, rng, rng)).nodes)
        holder[jobs[-1]] = 0
    order = np.concatenate(jobs)
    assert np.array_equal(np.sort(order), np.arange(10_000))
    assert abs(np.count_nonzero(order != np.arange(10_000)) / 10_000 - (1 - np.exp(-0.1))) < 0.01


def make(jobs: list[dict[str, Any]], machine: dict[str, Any], seed: int = 1) -> Point:
    base = {"routing": "minimal", "engine": "caminos", "seed": seed, "machine": {"bandwidth": "1 GB/s"} | machine}
    return Point.model_validate(base | {"jobs": jobs})


def test_place_keeps_held_nodes_from_later_jobs() -> None:
    """4 nodes in blocks of 2 x 2 x 2 routers hold 8; the next job starts after them."""
    machine = {"kind": "mesh", "shape": [4, 4, 4]}
    idle = {"pattern": "idle"}
    blocks = {"nodes": 4, "allocation": {"kind": "building-blocks", "block": [4, 4, 1]}, **idle}
    point = make([blocks, {"nodes": 3, **idle}], machine)
    first, second = place(point, point.machine.build(), np.zeros(64, dtype=bool))
    assert first.node_of_rank.tolist() == [0, 1, 2, 3]
    assert second.node_of_rank.tolist() == [16, 17, 18]


def test_all_jobs_see_the_same_swaps() -> None:
    """Two halves under the same swaps are disjoint and cover the machine; another seed gives other swaps."""
    half = {"share": 0.5, "pattern": "idle", "allocation": {"kind": "swapped-cluster", "swaps": 0.2}}
    seen = []
    for seed in (1, 2):
        point = make([half, half], {"kind": "mesh", "shape": [8, 8]}, seed)
        jobs = place(point, point.machine.build(), np.zeros(64, dtype=bool))
        seen.append(np.concatenate([job.node_of_rank for job in jobs]).tolist())
        assert sorted(seen[-1]) == list(range(64))
    assert seen[0] != seen[1]


@pytest.mark.parametrize(
    ("machine", "jobs", "value"),
    [
        ({"kind": "mesh", "shape": [4, 4]}, [("cluster", 1), ("cuboid", 15)], "15"),
        ({"kind": "mesh", "shape": [3, 3]}, [("cluster", 1), ("convex-block", 7)], "7"),
        (GROUPS["dragonfly"], [("cluster", 60), ("whole-groups", 9)], "9"),
        (GROUPS["dragonfly"], [("cluster", 66), ("one-group", 2)], "2"),
        (TREES["tree"], [("random", 40), ("tree-partition", 14)], "14"),
    ],
)
def test_where_none_exists_the_job_is_refused(machine: dict[str, Any], jobs: list[tuple[str, int]], value: Any) -> None:
    point = make([{"nodes": n, "pattern": "idle", "allocation": kind} for kind, n in jobs], machine)
    built = point.machine.build()
    with pytest.raises(WorkloadError, match=rf"^job 1: .*\b{value}\b"):
        place(point, built, np.zeros(built.routers, dtype=bool))


def test_half_planes_and_whole_planes_of_the_source_fill_the_machine() -> None:
    """EM* of Jain et al.: 12 x 10 x 10 routers of 9 nodes; 500 to 4,000 nodes on 1, 2, 4, 6 or 8 half planes."""
    config = {"kind": "express-mesh", "shape": [12, 10, 10], "gap": 1, "nodes_per_router": 9, "bandwidth": "1 GB/s"}
    machine = MACHINE.model_validate(config).build()
    policy = {"kind": "building-blocks", "block": [6, 10, 1], "prefer": "planes"}
    holder = np.full(machine.nodes, NO_JOB, dtype=np.int32)
    for job, wanted in enumerate([500, 2000, 1000, 500, 3000, 500, 1000, 500, 1000]):
        grant = allocate(machine, holder, job, wanted, policy)
        assert len(grant.all_reserved) == 540 * wanted // 500
        if wanted > 500:
            assert machine.coordinates is not None
            planes = machine.coordinates[machine.node_router[grant.all_reserved], 2]
            assert len(set(planes.tolist())) == wanted // 1000
    assert np.all(holder != NO_JOB)


def test_both_cables_of_a_pair_count() -> None:
    """Two routers that two cables join have a larger bisection than two neighbours on a ring of four."""
    lines = (Dimension(4, wrap=True), Dimension(2, wrap=True, parallel=2))
    assert BOXES.exact_boxes(2, lines) == ((1, 2), (2, 1))
    assert BOXES.exact_boxes(2, lines, "worst-bisection") == ((2, 1), (1, 2))
