"""Which rank sits where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.core.model import ConfigError
from fabricstudy.engine.point import Point
from fabricstudy.workload.mapping.file import MappingFile, read_ranks
from fabricstudy.workload.mapping.recursive_bisection import RecursiveBisection, node_graph
from fabricstudy.workload.mapping.tasks import Slots, Tasks
from fabricstudy.workload.messages import Messages, PlacedJob, WorkloadError, hop_bytes

EXTENSIONS = ["furthest_pairing"]

STENCIL = {"kind": "stencil", "message": "100 kB"}


@given(
    mapping=st.sampled_from(["linear", "random", "recursive-bisection"]),
    pattern=st.sampled_from(
        [
            STENCIL,
            {"kind": "idle"},
            {"kind": "ring", "message": "1 kB"},
            {"kind": "all-to-all", "message": "100 kB", "iterations": 2},
            {"kind": "uniform-random", "message": "1 GB", "messages_per_rank": 3},
        ]
    ),
    allocation=st.sampled_from(["cluster", "spread", "random"]),
    nodes=st.integers(1, 24),
    ranks_per_node=st.integers(1, 3),
    seed=st.integers(0, 1000),
)
@settings(deadline=None)
def test_each_core_has_one_rank(
    point: Callable[..., Point],
    placed: Callable[[Point], list[PlacedJob]],
    mapping: str,
    pattern: dict[str, Any],
    allocation: str,
    nodes: int,
    ranks_per_node: int,
    seed: int,
) -> None:
    if nodes * ranks_per_node == 1:
        pattern = {"kind": "idle"}
    job = {
        "nodes": nodes,
        "ranks_per_node": ranks_per_node,
        "pattern": pattern,
        "allocation": {"kind": allocation},
        "mapping": {"kind": mapping},
    }
    node_of_rank = placed(point(job, seed=seed, cores_per_node=3))[0].node_of_rank
    held, ranks = np.unique(node_of_rank, return_counts=True)
    linear = placed(point(job | {"mapping": {"kind": "linear"}}, seed=seed, cores_per_node=3))[0]
    assert len(held) == nodes and np.all(ranks == ranks_per_node)
    assert held.tolist() == sorted(set(linear.node_of_rank.tolist()))


def test_linear_fills_node_after_node(point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]) -> None:
    job = {"allocation": {"kind": "explicit", "nodes": [7, 2]}, "mapping": {"kind": "linear"}}
    assert placed(point(job))[0].node_of_rank.tolist() == [7, 7, 2, 2]


def test_random_seats_every_rank_everywhere(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]]
) -> None:
    job = {"nodes": 4, "ranks_per_node": 1, "mapping": {"kind": "random"}}
    seatings = {tuple(placed(point(job, seed=seed))[0].node_of_rank.tolist()) for seed in range(300)}
    assert len(seatings) == 24


def test_file_seats_rank_r_on_the_core_of_line_r(point: Callable[..., Point]) -> None:
    slots = Slots(point({"nodes": 2}).machine.build(), np.array([9, 4], dtype=np.int32), 2)
    config = MappingFile.model_construct(kind="file", file="seats.txt", cores=(3, 0, 2, 1))
    cores = config.map_ranks(slots, Tasks(4), np.random.default_rng(0))
    assert slots.node_of_core[cores].tolist() == [4, 9, 4, 9]


@pytest.mark.parametrize(("cores", "values"), [((0, 1, 2), "3.*4"), ((0, 1, 2, 2), "0.*3")])
def test_file_that_does_not_fit_is_refused(point: Callable[..., Point], cores: tuple[int, ...], values: str) -> None:
    slots = Slots(point({"nodes": 2}).machine.build(), np.array([9, 4], dtype=np.int32), 2)
    config = MappingFile.model_construct(kind="file", file="seats.txt", cores=cores)
    with pytest.raises(WorkloadError, match=values):
        config.map_ranks(slots, Tasks(4), np.random.default_rng(0))


@pytest.mark.parametrize(("text", "line"), [("0\n1\n1\n", "line 3"), ("0 0 2\n", "line 1")])
def test_a_core_listed_twice_is_refused_with_its_line(tmp_path: Path, text: str, line: str) -> None:
    (tmp_path / "cores.txt").write_text(text)
    with pytest.raises(ConfigError, match=line) as caught:
        read_ranks(tmp_path, "cores.txt")
    assert (caught.value.code, caught.value.keys) == ("invalid-data-file", ("file",))


@pytest.mark.parametrize("allocation", ["cluster", "spread", "random"])
@pytest.mark.parametrize("share", [0.5, 1.0])
@pytest.mark.parametrize("periodic", [False, True])
def test_recursive_bisection_brings_a_stencil_together(
    point: Callable[..., Point],
    placed: Callable[[Point], list[PlacedJob]],
    allocation: str,
    share: float,
    periodic: bool,
) -> None:
    def hops(mapping: str, seed: int = 1) -> float:
        job = {
            "share": share,
            "pattern": STENCIL | {"periodic": periodic},
            "allocation": {"kind": allocation},
            "mapping": {"kind": mapping},
        }
        start = point(job, seed=seed)
        machine = start.machine.build()
        return hop_bytes(placed(start)[0], machine)

    at_random = [hops("random", seed) for seed in range(5)]
    # Measured: 0.43 to 0.66 of the mean of random mappings.
    assert hops("recursive-bisection") < 0.75 * np.mean(at_random)
    assert np.mean(at_random) - min(at_random) < 0.1 * np.mean(at_random)


def test_recursive_bisection_finds_the_groups_of_a_workload(point: Callable[..., Point]) -> None:
    """Eight sets of ranks that talk only among themselves belong in the eight groups of the machine."""
    machine = point({"share": 1.0}, groups=8).machine.build()
    slots = Slots(machine, np.random.default_rng(3).permutation(64).astype(np.int32), 2)
    team = np.random.default_rng(4).permutation(128) % 8
    source, destination = np.nonzero((team[:, None] == team) & ~np.eye(128, dtype=bool))
    messages = Messages(
        np.zeros(len(source), dtype=np.int32),
        source.astype(np.int32),
        destination.astype(np.int32),
        np.full(len(source), 10**9),
    )
    cores = RecursiveBisection().map_ranks(slots, Tasks(128, messages), np.random.default_rng(0))
    assert machine.group is not None
    group = machine.group[machine.node_router[slots.node_of_core[cores]]]
    assert [len(set(group[team == number])) for number in range(8)] == [1] * 8


def test_node_graph_by_hand(point: Callable[..., Point]) -> None:
    """Two groups of one router and one node each, joined by three cables: hosts weigh more than those."""
    shape = {"groups": 2, "routers_per_group": 1, "nodes_per_router": 1, "links_per_group_pair": 3}
    machine = point({"share": 1.0}, **shape).machine.build()
    graph = node_graph(Slots(machine, np.array([1, 0], dtype=np.int32), 2))
    assert graph.weight.tolist() == [1, 1, 0, 0]
    joined = graph.edges.tocoo()
    edges = zip(joined.row.tolist(), joined.col.tolist(), joined.data.tolist(), strict=True)
    assert {edge for edge in edges if edge[0] < edge[1]} == {(0, 3, 4), (1, 2, 4), (2, 3, 3)}


@pytest.mark.parametrize("kind", ["bisection", "furthest-pairing"])
def test_recursive_bisection_refuses_a_pattern_that_follows_the_seats(
    point: Callable[..., Point], placed: Callable[[Point], list[PlacedJob]], kind: str
) -> None:
    job = {"share": 1.0, "pattern": {"kind": kind, "message": "1 kB"}, "mapping": {"kind": "recursive-bisection"}}
    with pytest.raises(WorkloadError, match="recursive-bisection"):
        placed(point(job))
