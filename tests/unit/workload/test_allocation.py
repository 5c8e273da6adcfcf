"""Which nodes a job gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.engine.point import Point
from fabricstudy.machine.graph import Machine
from fabricstudy.schedule.backfill.rules import Easy
from fabricstudy.schedule.fragmented import Fragmented
from fabricstudy.schedule.order.simple import Fcfs
from fabricstudy.schedule.partitions import NodePool
from fabricstudy.schedule.simulate import simulate_schedule
from fabricstudy.schedule.trace.base import Trace
from fabricstudy.workload.allocation.base import NO_JOB, Request
from fabricstudy.workload.allocation.spread import SpreadAllocation
from fabricstudy.workload.messages import PlacedJob, WorkloadError

EXTENSIONS = ["partitioning"]


def request(machine: Machine, free: np.ndarray, wanted: int) -> Request:
    """A request in which job 0 holds what is not free."""
    rng = np.random.default_rng(0)
    return Request(machine, np.where(free, NO_JOB, 0).astype(np.int32), wanted, rng, rng)


def nodes_of(job: PlacedJob) -> list[int]:
    """Nodes in the order in which ranks fill them (the mapping is linear)."""
    assert np.array_equal(job.node_of_rank[0::2], job.node_of_rank[1::2])
    nodes: list[int] = job.node_of_rank[0::2].tolist()
    return nodes


@given(
    policies=st.lists(st.sampled_from(["cluster", "spread", "random"]), min_size=1, max_size=6),
    data=st.data(),
)
@settings(deadline=None)
def test_jobs_are_disjoint_and_of_the_size_asked(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]], policies: list[str], data: st.DataObject
) -> None:
    sizes = [data.draw(st.integers(1, 72 // len(policies))) for _ in policies]
    jobs = [{"nodes": n, "allocation": {"kind": kind}} for n, kind in zip(sizes, policies, strict=True)]
    seed = data.draw(st.integers(0, 2**31 - 1))
    nodes = [nodes_of(job) for job in placed(point(*jobs, seed=seed))]
    assert [len(mine) for mine in nodes] == sizes
    taken = list(chain.from_iterable(nodes))
    assert len(set(taken)) == len(taken)
    assert set(taken) <= set(range(72))


@given(holes=st.sets(st.integers(0, 71), max_size=60), data=st.data())
@settings(deadline=None)
def test_cluster_takes_the_first_free_nodes(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]], holes: set[int], data: st.DataObject
) -> None:
    wanted = data.draw(st.integers(1, 72 - len(holes)))
    jobs = [{"nodes": wanted, "allocation": {"kind": "cluster"}}]
    if holes:
        jobs.insert(0, {"allocation": {"kind": "explicit", "nodes": sorted(holes)}})
    free = sorted(set(range(72)) - holes)
    assert nodes_of(placed(point(*jobs))[-1]) == free[:wanted]


def walk_round_robin(groups: int, routers: int, nodes: int, free: set[int]) -> Iterator[int]:
    """Go from router to the same router of the next group, from the last group to the next router of the first."""
    router = group = 0
    for _ in range(groups * routers):
        for node in range(nodes):
            number = (group * routers + router) * nodes + node
            if number in free:
                yield number
        group = (group + 1) % groups
        router += group == 0


@given(
    groups=st.integers(2, 6),
    routers=st.integers(1, 4),
    nodes=st.integers(1, 3),
    data=st.data(),
)
@settings(deadline=None)
def test_spread_goes_round_the_groups(
    point: Callable[..., Point], groups: int, routers: int, nodes: int, data: st.DataObject
) -> None:
    shape = {"groups": groups, "routers_per_group": routers, "nodes_per_router": nodes}
    machine = point({"share": 1.0}, **shape).machine.build()
    free = np.array(data.draw(st.lists(st.booleans(), min_size=machine.nodes, max_size=machine.nodes)))
    wanted = data.draw(st.integers(0, int(free.sum())))
    got = SpreadAllocation().allocate(request(machine, free, wanted)).nodes
    walk = walk_round_robin(groups, routers, nodes, set(np.flatnonzero(free).tolist()))
    assert got.tolist() == list(islice(walk, wanted))


def test_spread_by_hand(point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]) -> None:
    job = {"nodes": 20, "allocation": {"kind": "spread"}}
    first_routers = [8 * group + node for group in range(9) for node in (0, 1)]
    assert nodes_of(placed(point(job))[0]) == [*first_routers, 2, 3]


def test_spread_without_groups_goes_round_the_routers(torus: Callable[..., Machine]) -> None:
    machine = torus((3, 2), nodes_per_router=2)
    free = np.ones(12, dtype=bool)
    free[4] = False
    got = SpreadAllocation().allocate(request(machine, free, 7)).nodes
    assert got.tolist() == [0, 2, 6, 8, 10, 1, 3]


def test_random_gives_every_node_the_same_chance(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]
) -> None:
    draws = 300
    hits = np.zeros(72, dtype=int)
    orders = set()
    for seed in range(draws):
        nodes = nodes_of(placed(point({"nodes": 36, "allocation": {"kind": "random"}}, seed=seed))[0])
        hits[nodes] += 1
        orders.add(tuple(nodes))
    assert len(orders) == draws
    # Binomial(300, 1/2): 5 standard deviations are 43.
    assert np.all(abs(hits - draws / 2) < 5 * np.sqrt(draws) / 2)


def test_explicit_keeps_the_order_given(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]
) -> None:
    nodes = [70, 3, 11]
    assert nodes_of(placed(point({"allocation": {"kind": "explicit", "nodes": nodes}}))[0]) == nodes


@pytest.mark.parametrize(
    ("jobs", "values"),
    [
        ([{"nodes": 2}, {"allocation": {"kind": "explicit", "nodes": [5, 1]}}], "job 1: .*\\b1\\b"),
        ([{"allocation": {"kind": "explicit", "nodes": [72]}}], "job 0: .*72.*71"),
        ([{"share": 0.5}, {"nodes": 37}], "job 1: .*37.*36"),
        ([{"share": 0.01}], "job 0: .*72"),
        ([{"nodes": 1, "ranks_per_node": 3}], "job 0: .*3.*2"),
    ],
)
def test_what_does_not_fit_is_refused(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]], jobs: list[dict[str, Any]], values: str
) -> None:
    with pytest.raises(WorkloadError, match=values):
        placed(point(*jobs))


def test_two_jobs_of_half_share_all_nodes(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]
) -> None:
    for kind in ("cluster", "spread", "random"):
        job = {"share": 0.5, "allocation": {"kind": kind}}
        first, second = placed(point(job, job))
        assert sorted(nodes_of(first) + nodes_of(second)) == list(range(72))


@pytest.mark.parametrize("load", [0.05, 0.7, 1.5])
def test_the_nodes_left_over_by_a_scheduler(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]], load: float
) -> None:
    """The oracle knows the schedule alone: at each moment, the nodes within the spans of the jobs that run."""
    trace = Trace.model_validate(
        {"kind": "synthetic", "jobs": 800, "span": "10 days", "load": load, "sizes": {1: 3, 8: 2, 20: 1},
         "runtime": {"median": "1 h", "longest": "8 h"}}
    )  # fmt: skip
    after_s, wanted = 7 * 86400.0, 12
    request = Request(
        point({"nodes": 1}).machine.build(), np.full(72, NO_JOB, np.int32), wanted,
        np.random.default_rng(1), np.random.default_rng(2),
    )  # fmt: skip
    jobs = trace.jobs(72, 1, int(np.random.default_rng(2).integers(2**31)), Path())
    result = simulate_schedule(NodePool(72), jobs, Fcfs(), Easy())
    running = [job for job in range(len(jobs)) if result.start_s[job] <= after_s < result.end_s[job]]
    for begin_s in sorted({after_s, *(result.end_s[job] for job in running)}):
        left = set(range(72))
        for job in running:
            if result.end_s[job] > begin_s:
                left -= {node for low, high in result.nodes_of(job) for node in range(low, high + 1)}
        if len(left) >= wanted:
            break
    granted = Fragmented(trace=trace).allocate(request).nodes.tolist()
    assert granted == sorted(left)[:wanted]


def test_jobs_of_a_point_share_what_a_scheduler_left(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]
) -> None:
    trace = {"kind": "lublin", "jobs": 3000, "load": 0.8}
    job = {"nodes": 6, "allocation": {"kind": "fragmented", "trace": trace, "after": "1 h"}}
    first, second = (nodes_of(mine) for mine in placed(point(job, job)))
    assert not set(first) & set(second)
    assert nodes_of(placed(point(job | {"nodes": 12}))[0]) == [*first, *second]
    with pytest.raises(WorkloadError, match=r"job 0: .*more jobs"):
        placed(point(job | {"allocation": {"kind": "fragmented", "trace": {"kind": "lublin", "jobs": 2}}}))
    with pytest.raises(FabricstudyError):
        placed(point(job | {"allocation": {"kind": "fragmented", "trace": {"kind": "swf", "file": "a.swf"}}}))


@pytest.mark.parametrize(("wanted", "reserved"), [(1, 1), (7, 1), (8, 1), (9, 2), (16, 2), (17, 3), (72, 9)])
def test_whole_groups_reserves_no_group_too_many(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]], wanted: int, reserved: int
) -> None:
    """Groups have 8 nodes: what is left of the machine still holds a job that fills it."""
    rest = 72 - 8 * reserved
    jobs = [{"nodes": wanted, "allocation": {"kind": "whole-groups"}}]
    jobs += [{"nodes": rest, "allocation": {"kind": "whole-groups"}}] if rest else []
    first, *others = (nodes_of(job) for job in placed(point(*jobs)))
    assert first == list(range(wanted))
    assert others == ([list(range(8 * reserved, 72))] if rest else [])
