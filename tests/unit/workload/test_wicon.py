"""WICON and WICON2 as their source runs them: 8x8x8 and 8x8x16, pairs that send and answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fabricstudy.core.model import ConfigError
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.structure.load import link_loads
from fabricstudy.workload.messages import PlacedJob, WorkloadError
from fabricstudy.workload.pattern.base import Pattern

from ...machines import place_jobs, point_on

EXTENSIONS = ["wicon"]

BGP = {"kind": "torus", "shape": [8, 8, 16], "bandwidth": "425 MB/s"}


def job_of(pattern: dict[str, Any], machine: dict[str, Any] = BGP, **more: Any) -> tuple[Machine, PlacedJob]:
    point = point_on(machine, jobs=[{"share": 1.0, "pattern": {"message": "1 kB"} | pattern, **more}])
    built = point.machine.build()
    return built, place_jobs(point, built)[0]


def loads_of(machine: Machine, job: PlacedJob, tie: str = "positive") -> np.ndarray:
    source, goal = (job.node_of_rank[end] for end in (job.messages.source, job.messages.destination))
    return link_loads(machine, source, goal, job.messages.size_bytes, DimensionOrder(tie=tie)).link_bytes


@pytest.mark.parametrize(("hops", "paired"), [
    (1, 1024), (2, 1024), (3, 896), (4, 1024), (5, 768), (6, 768), (7, 896), (8, 1024),
])  # fmt: skip
def test_wicon2_pairs_and_its_fullest_link(hops: int, paired: int) -> None:
    machine, job = job_of({"kind": "hop-pairs", "hops": hops})
    assert len(np.unique(job.messages.source)) == paired == len(job.messages)
    assert machine.coordinates is not None
    at = machine.coordinates[machine.node_router[job.node_of_rank]]
    apart = at[job.messages.destination] - at[job.messages.source]
    assert np.all(np.abs(apart[:, 2]) == hops) and not apart[:, :2].any()
    assert loads_of(machine, job).max() == 1000 * hops


def test_ties_both_ways_halve_the_load_of_half_the_ring() -> None:
    """So 8 hops lie below 7 then, as the design found."""
    machine, job = job_of({"kind": "hop-pairs", "hops": 8})
    assert loads_of(machine, job, "split").max() == 4000


def test_ranks_of_a_node_are_paired_each_with_its_like() -> None:
    machine, job = job_of({"kind": "hop-pairs", "hops": 2, "dimension": "x"}, BGP | {"cores_per_node": 4})
    assert len(job.messages) == 4096 and loads_of(machine, job).max() == 4 * 2 * 1000


def test_pairs_need_both_ends_in_the_job() -> None:
    allocation = {"kind": "explicit", "nodes": [0, 64, 65]}
    _, job = job_of({"kind": "hop-pairs", "hops": 1}, share=None, allocation=allocation)
    assert sorted(zip(job.messages.source.tolist(), job.messages.destination.tolist(), strict=True)) == [(0, 1), (1, 0)]
    with pytest.raises(WorkloadError):
        job_of({"kind": "hop-pairs", "hops": 2}, share=None, allocation=allocation)


@pytest.mark.parametrize(("pattern", "first"), [
    ({"kind": "pairs", "distance": 1, "reply": True}, [(0, 1), (2, 3)]),
    ({"kind": "pairs", "distance": 4, "reply": True}, [(0, 4), (1, 5)]),
    ({"kind": "pairs", "reply": True}, [(0, 512), (1, 513)]),
    ({"kind": "hop-pairs", "hops": 1, "reply": True}, [(0, 64), (1, 65)]),
])  # fmt: skip
def test_the_lower_one_sends_and_the_other_answers(pattern: dict[str, Any], first: list[tuple[int, ...]]) -> None:
    _, job = job_of(pattern)
    sent = job.messages
    pairs = [list(zip(sent.source[sent.phase == k], sent.destination[sent.phase == k], strict=True)) for k in (0, 1)]
    assert pairs[0][:2] == first and sorted(pairs[1]) == sorted((b, a) for a, b in pairs[0])
    assert len(pairs[0]) == 512 and np.all(sent.source[sent.phase == 0] < sent.destination[sent.phase == 0])


def test_random_pairs_answer_and_go_six_hops_on_a_cube() -> None:
    """8x8x8: a random pair is 6.01 hops apart (768 / 511 x 4)."""
    machine, job = job_of({"kind": "pairs", "shuffled": True, "reply": True}, BGP | {"shape": [8, 8, 8]})
    sent = job.messages
    assert set(np.bincount(np.concatenate([sent.source, sent.destination]))) == {2}
    assert np.all(sent.source[sent.phase == 0] < sent.destination[sent.phase == 0])
    assert abs(loads_of(machine, job, "split").sum() / len(sent) / 1000 - 6.012) < 0.35


def test_pairs_at_a_distance_exchange_at_once_without_reply() -> None:
    _, job = job_of({"kind": "pairs", "distance": 2}, BGP | {"shape": [8]})
    sent = dict(zip(job.messages.source.tolist(), job.messages.destination.tolist(), strict=True))
    assert sent == {0: 2, 1: 3, 2: 0, 3: 1, 4: 6, 5: 7, 6: 4, 7: 5} and not job.messages.phase.any()


@pytest.mark.parametrize(("pattern", "machine", "path"), [
    ({"hops": 9}, BGP, ("hops",)),
    ({"hops": 5, "dimension": "x"}, BGP, ("hops",)),
    ({"hops": 1, "dimension": "w"}, BGP, ("dimension",)),
    ({"hops": 1}, {"kind": "dragonfly", "groups": 3, "routers_per_group": 2, "nodes_per_router": 1}, ("dimension",)),
    ({"hops": 1, "dimension": "x"}, {"kind": "hyperx", "shape": [4, 4]}, ("hops",)),
])  # fmt: skip
def test_hop_pairs_beyond_the_machine_are_refused_when_planned(
    pattern: dict[str, Any], machine: dict[str, Any], path: tuple[str, ...]
) -> None:
    described = Topology.model_validate({"bandwidth": "1 GB/s"} | machine)
    with pytest.raises(ConfigError) as refusal:
        Pattern.model_validate({"kind": "hop-pairs", "message": "1 kB"} | pattern).check_machine(described)
    assert (refusal.value.code, refusal.value.keys) == ("unsupported", path)


@pytest.mark.parametrize(("ranks", "distance", "path"), [(7, None, ()), (12, 4, ("distance",)), (6, 6, ("distance",))])
def test_ranks_that_cannot_be_paired_are_refused(ranks: int, distance: int | None, path: tuple[str, ...]) -> None:
    pattern = Pattern.model_validate({"kind": "pairs", "message": "1 kB", "distance": distance})
    with pytest.raises(ConfigError) as refusal:
        pattern.check_ranks(ranks)
    assert refusal.value.keys == path
