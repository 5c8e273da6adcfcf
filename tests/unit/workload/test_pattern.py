"""Who sends to whom, how often and in what order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.engine.point import Point
from fabricstudy.workload.messages import Messages, PlacedJob, WorkloadError
from fabricstudy.workload.pattern.base import Pattern, Sends, in_send_order

EXTENSIONS = ["b_eff", "caps", "furthest_pairing", "low_diameter"]
OF_EXTENSIONS = ["b-eff", "strassen-bfs", "furthest-pairing", "spread", "sub-all-to-all", "unstructured-mesh"]

ELSEWHERE = {
    "task-graph",
    "matrix",
    "messages",
    "trace",
    "training",
}
"""Those that need a file or a model; see test_*_file, test_operations, test_training."""
KINDS = [*(kind for kind in Pattern.FAMILY.kinds if kind not in ELSEWHERE), *OF_EXTENSIONS]
# What each rank sends and receives in a phase, where that is the same for all: by ranks and pattern.
PER_RANK: dict[str, Callable[[int, dict[str, Any]], int]] = {
    "all-to-all": lambda ranks, pattern: 1 if pattern.get("algorithm") == "pairwise" else ranks - 1,
    "ring": lambda ranks, pattern: 2,
    "permutation": lambda ranks, pattern: 1,
    "furthest-pairing": lambda ranks, pattern: 1,
    "all-gather": lambda ranks, pattern: 1,
    "pairs": lambda ranks, pattern: 1,
    "b-eff": lambda ranks, pattern: 2,
    "strassen-bfs": lambda ranks, pattern: 6,
}
# Where `traffic_messages` is an upper estimate or a mean, or takes the halves as equal.
ESTIMATES = {"stencil", "bisection", "unstructured-mesh", "spread"}
COLLECTIVES = {"all-reduce", "reduce-scatter", "broadcast", "gather", "scatter", "barrier", "incast"}
SIZED = {"all-gather", "pencil-fft", "strassen-bfs", *COLLECTIVES}


@st.composite
def patterns(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(KINDS))
    if kind == "idle":
        return {"kind": kind}
    pattern = {
        "kind": kind,
        "message": "3 kB",
        "iterations": draw(st.integers(1, 3)),
        "order": draw(st.sampled_from(["shift", "ascending", "random", "rounds"])),
    }
    if kind == "all-to-all":
        pattern["algorithm"] = draw(st.sampled_from(["linear", "pairwise"]))
    if kind == "uniform-random":
        pattern["messages_per_rank"] = draw(st.integers(1, 5))
    if kind in ("stencil", "sub-all-to-all", "unstructured-mesh"):
        pattern["dimensions"] = draw(st.integers(1, 4))
    if kind == "stencil":
        pattern["periodic"] = draw(st.booleans())
    if kind in ("spread", "unstructured-mesh"):
        pattern |= {"degree": sorted(draw(st.tuples(st.integers(1, 9), st.integers(1, 9))))}
        pattern |= {"neighbourhood": draw(st.integers(1, 40))}
    if kind == "all-gather":
        pattern["algorithm"] = draw(st.sampled_from(["ring", "recursive-doubling"]))
    if kind == "pairs":
        pattern["shuffled"] = draw(st.booleans())
    if kind == "strassen-bfs":
        pattern["steps"] = draw(st.integers(1, 2))
    return pattern


# What some numbers of ranks, and some allocations, cannot have.
REFUSED = {"bisection", "all-gather", "strassen-bfs", "ping-pong"}
"""Patterns that do not exist for every number of nodes, or everywhere."""


def rows(messages: Messages) -> list[tuple[int, int, int]]:
    return list(zip(messages.phase.tolist(), messages.source.tolist(), messages.destination.tolist(), strict=True))


@given(
    pattern=patterns(),
    nodes=st.integers(1, 18).map(lambda half: 2 * half),
    allocation=st.sampled_from(["spread", "random"]),
    mapping=st.sampled_from(["linear", "random"]),
    seed=st.integers(0, 2**31 - 1),
)
@settings(deadline=None, max_examples=300)
def test_every_pattern(
    point: Callable[..., Point],
    placed: Callable[[Point], list[PlacedJob]],
    pattern: dict[str, Any],
    nodes: int,
    allocation: str,
    mapping: str,
    seed: int,
) -> None:
    job = {"nodes": nodes, "pattern": pattern, "allocation": {"kind": allocation}, "mapping": {"kind": mapping}}
    start = point(job, seed=seed)
    try:
        (placed_job,) = placed(start)
    except WorkloadError:
        assert pattern["kind"] in REFUSED
        return
    messages, ranks, config = placed_job.messages, 2 * nodes, start.jobs[0].pattern
    assert placed_job.ranks == ranks
    assert np.all(messages.source != messages.destination)
    for number in (messages.source, messages.destination):
        assert number.dtype == np.int32 and np.all((number >= 0) & (number < ranks))
    told = sum(part.messages * part.size_bytes for part in config.traffic(ranks)) if len(messages) else 0
    if pattern["kind"] in SIZED:
        assert placed_job.bytes_sent == told
    else:
        assert np.all(messages.size_bytes == 3000)
        assert placed_job.bytes_sent == 3000 * len(messages)
    phases = int(messages.phase.max(initial=-1)) + 1
    assert sorted(set(messages.phase.tolist())) == list(range(phases))
    assert phases % pattern.get("iterations", 1) == 0
    turns = messages.phase.astype(np.int64) * ranks + messages.source
    assert np.all(np.diff(turns) >= 0)
    if pattern["kind"] in PER_RANK:
        expected = PER_RANK[pattern["kind"]](ranks, pattern)
        sent = np.bincount(turns, minlength=phases * ranks)
        received = np.bincount(messages.phase * np.int64(ranks) + messages.destination, minlength=phases * ranks)
        assert np.all(sent == expected) and np.all(received == expected)
    if pattern["kind"] not in ESTIMATES:
        assert len(messages) == config.traffic_messages(ranks)
    if pattern["kind"] == "stencil":
        assert len(messages) <= config.traffic_messages(ranks)
    if pattern["kind"] in ("unstructured-mesh", "spread"):
        partners = Counter(messages.source[messages.phase == 0].tolist())
        least, most = pattern["degree"]
        assert all(least <= partners[rank] <= most for rank in range(ranks))


@given(pattern=patterns(), nodes=st.integers(1, 12).map(lambda half: 2 * half), seed=st.integers(0, 99))
@settings(deadline=None)
def test_order_within_a_turn(
    point: Callable[..., Point],
    placed: Callable[[Point], list[PlacedJob]],
    pattern: dict[str, Any],
    nodes: int,
    seed: int,
) -> None:
    """The same messages in every order; shift and ascending as sorted by hand."""
    # Two nodes of this allocation lie on one router, where there is nobody to play ping-pong with.
    nodes = max(nodes, 4) if pattern["kind"] == "ping-pong" else nodes
    job: dict[str, Any] = {"nodes": nodes, "pattern": pattern, "allocation": {"kind": "spread"}}
    if pattern["kind"] == "bisection":
        job["nodes"] = 72
    if pattern.get("algorithm") == "recursive-doubling":
        job["nodes"] = 16
    if pattern["kind"] == "strassen-bfs":
        job |= {"nodes": 49, "ranks_per_node": 1}
    messages = placed(point(job, seed=seed))[0].messages
    ranks = job.get("ranks_per_node", 2) * job["nodes"]
    keys = {"shift": lambda row: (row[2] - row[1]) % ranks, "ascending": lambda row: row[2]}
    order = pattern.get("order")
    if order in keys:
        assert rows(messages) == sorted(rows(messages), key=lambda row: (row[0], row[1], keys[order](row)))
    if pattern["kind"] != "idle":
        other = "ascending" if order == "random" else "random"
        again = placed(point(job | {"pattern": pattern | {"order": other}}, seed=seed))[0].messages
        assert Counter(rows(again)) == Counter(rows(messages))


@pytest.mark.parametrize("order", ["random", "rounds"])
def test_random_order_gives_each_partner_each_place(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]], order: str
) -> None:
    """Place of partner 1 among the 5 sends of rank 0, over 600 seeds: 120 each, and 5 deviations are 49."""
    places = np.zeros(5, dtype=int)
    for seed in range(600):
        job = {"nodes": 3, "pattern": {"kind": "all-to-all", "message": "1 kB", "order": order}}
        sent = rows(placed(point(job, seed=seed))[0].messages)[:5]
        places[[destination for _, _, destination in sent].index(1)] += 1
    assert np.all(abs(places - 120) < 49)


@pytest.mark.parametrize("order", ["random", "rounds"])
def test_random_order_differs_between_ranks_and_iterations(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]], order: str
) -> None:
    pattern = {"kind": "all-to-all", "message": "1 kB", "iterations": 4, "order": order}
    messages = placed(point({"nodes": 16, "pattern": pattern}))[0].messages
    turns = groupby(rows(messages), key=lambda row: row[:2])
    orders = [tuple((row[2] - row[1]) % 32 for row in turn) for _, turn in turns]
    assert len(orders) == len(set(orders)) == 4 * 32


def test_in_a_round_of_an_all_to_all_no_two_ranks_send_to_the_same_one(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]
) -> None:
    pattern = {"kind": "all-to-all", "message": "1 kB", "iterations": 3}
    sent = placed(point({"nodes": 9, "pattern": pattern}))[0].messages
    assert {tuple(sorted(turn)) for turn in sent.destination.reshape(3, 18, 17).transpose(0, 2, 1).reshape(-1, 18)} == {
        tuple(range(18))
    }


def test_all_to_all_in_shift_order_by_hand(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]
) -> None:
    pattern = {"kind": "all-to-all", "message": "1 kB", "order": "shift"}
    messages = placed(point({"nodes": 2, "ranks_per_node": 2, "pattern": pattern}))[0].messages
    assert messages.destination.reshape(4, 3).tolist() == [[1, 2, 3], [2, 3, 0], [3, 0, 1], [0, 1, 2]]


@pytest.mark.parametrize(("nodes", "exchange"), [(4, True), (3, False)])
def test_pairwise_exchanges_where_it_can(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]], nodes: int, exchange: bool
) -> None:
    """With a power of two ranks both partners of a phase send to each other; together they meet everybody once."""
    pattern = {"kind": "all-to-all", "algorithm": "pairwise", "message": "1 kB"}
    sent = rows(placed(point({"nodes": nodes, "pattern": pattern}))[0].messages)
    ranks = 2 * nodes
    mutual = [(phase, destination, source) in sent for phase, source, destination in sent]
    assert all(mutual) == exchange
    pairs = {(source, destination) for _, source, destination in sent}
    assert len(pairs) == len(sent) == ranks * (ranks - 1)


@given(allocation=st.sampled_from(["cluster", "spread", "random"]), seed=st.integers(0, 99), nodes=st.integers(1, 72))
@settings(deadline=None)
def test_bisection_is_complete_bipartite(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]], allocation: str, seed: int, nodes: int
) -> None:
    job = {
        "nodes": nodes,
        "pattern": {"kind": "bisection", "message": "1 kB"},
        "allocation": {"kind": allocation},
        "mapping": {"kind": "random"},
    }
    start = point(job, seed=seed)
    idle = placed(point(job | {"pattern": {"kind": "idle"}}, seed=seed))[0]
    first = start.machine.build().node_router[idle.node_of_rank] < 18
    here, there = np.flatnonzero(first).tolist(), np.flatnonzero(~first).tolist()
    if not here or not there:
        with pytest.raises(WorkloadError, match=r"^job 0: "):
            placed(start)
        return
    (placed_job,) = placed(start)
    expected = {(0, a, b) for a in here for b in there} | {(0, b, a) for a in here for b in there}
    assert len(placed_job.messages) == len(expected) == 2 * len(here) * len(there)
    assert set(rows(placed_job.messages)) == expected


def test_bisection_counts_by_hand(point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]) -> None:
    """72 nodes of 2 ranks cut in the middle: 72 ranks a side; 40 nodes in order: 36 nodes against 4."""
    pattern = {"kind": "bisection", "message": "1 kB", "iterations": 2}
    assert len(placed(point({"share": 1.0, "pattern": pattern}))[0].messages) == 2 * 2 * 72 * 72
    assert len(placed(point({"nodes": 40, "pattern": pattern}))[0].messages) == 2 * 2 * 72 * 8


def test_permutation_is_one_for_all_iterations_and_uniform(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]
) -> None:
    pattern = {"kind": "permutation", "message": "1 kB", "iterations": 3, "order": "shift"}
    images: Counter[tuple[int, ...]] = Counter()
    for seed in range(900):
        messages = placed(point({"nodes": 2, "pattern": pattern}, seed=seed))[0].messages
        first, *others = messages.destination.reshape(3, 4).tolist()
        assert others == [first, first]
        images[tuple(first)] += 1
    # Nine derangements of four; Binomial(900, 1/9): 5 standard deviations are 47.
    assert len(images) == 9
    assert all(abs(hits - 100) < 47 for hits in images.values())


def test_uniform_random_draws_anew_and_uniformly(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]
) -> None:
    pattern = {"kind": "uniform-random", "message": "1 kB", "iterations": 500, "messages_per_rank": 4}
    messages = placed(point({"nodes": 2, "pattern": pattern}))[0].messages
    hits = np.zeros((4, 4), dtype=int)
    np.add.at(hits, (messages.source, messages.destination), 1)
    turns = np.bincount(messages.phase * 4 + messages.source)
    assert len(turns) == 500 * 4 and np.all(turns == 4)
    assert np.all(hits.diagonal() == 0) and np.all(hits.sum(axis=1) == 2000)
    # Binomial(2000, 1/3): 5 standard deviations are 105.
    assert np.all(abs(hits[~np.eye(4, dtype=bool)] - 2000 / 3) < 105)


def test_ring_by_hand(point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]) -> None:
    pattern = {"kind": "ring", "message": "1 kB", "order": "shift"}
    messages = placed(point({"nodes": 2, "pattern": pattern}))[0].messages
    assert messages.destination.reshape(4, 2).tolist() == [[1, 3], [2, 0], [3, 1], [0, 2]]


def test_ring_of_two_sends_two_messages_each_way(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]
) -> None:
    messages = placed(point({"nodes": 1, "pattern": {"kind": "ring", "message": "1 kB"}}))[0].messages
    assert rows(messages) == [(0, 0, 1), (0, 0, 1), (0, 1, 0), (0, 1, 0)]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "idle"])
def test_one_rank_has_nobody_to_talk_to(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]], kind: str
) -> None:
    job = {"nodes": 1, "ranks_per_node": 1, "pattern": {"kind": kind, "message": "1 kB"}}
    with pytest.raises(WorkloadError, match=r"^job 0: .*2"):
        placed(point(job))


def test_more_messages_than_memory_holds_are_refused(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]
) -> None:
    job = {"share": 1.0, "pattern": {"kind": "all-to-all", "message": "1 kB", "iterations": 1_000_000}}
    with pytest.raises(WorkloadError, match=r"^job 0: 2.06e\+10"):
        placed(point(job))


class _Sized(Pattern):
    """Says no message size and no order for all, as an extension may."""

    kind: Literal["sized"] = "sized"


def test_a_pattern_without_a_message_size_sends_the_sizes_that_it_gives_in_its_order() -> None:
    phase, source, destination = np.array([1, 0, 0]), np.array([0, 1, 1]), np.array([1, 2, 0])
    sends = Sends(phase, source, destination, size_bytes=np.array([30, 20, 10]))
    messages = in_send_order(sends, _Sized(), 3, np.random.default_rng(0))
    assert messages.destination.tolist() == [2, 0, 1] and messages.size_bytes.tolist() == [20, 10, 30]
    with pytest.raises(WorkloadError):
        in_send_order(replace(sends, size_bytes=None), _Sized(), 3, np.random.default_rng(0))


def test_phases_stand_in_order_however_many_there_are() -> None:
    """600,000 round trips of 4,000 ranks: phase times ranks passes what a common key of 64 bits could hold."""
    phase = np.array([1_199_999, 600_000, 536_871, 536_870, 0], dtype=np.int32)
    sends = Sends(phase, np.array([3, 2, 1, 0, 3999]), np.array([0, 1, 2, 3, 4]))
    pattern = Pattern.model_validate({"kind": "ping-pong", "message": "1 kB"})
    messages = in_send_order(sends, pattern, 4000, np.random.default_rng(0))
    assert messages.phase.tolist() == sorted(phase.tolist())
    assert messages.source.tolist() == [3999, 0, 1, 2, 3]
