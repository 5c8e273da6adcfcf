"""Cray XC against published link lists and sizes, hand counts, brute force and networkx."""

from __future__ import annotations

import hashlib
from typing import Any

import networkx as nx
import numpy as np
import pytest

from fabricstudy.machine.aries import AriesConfig
from fabricstudy.machine.graph import Machine
from fabricstudy.structure.bisection import bisection_bounds

ROW, COLUMN, GLOBAL = range(3)


def aries(groups: int, **more: Any) -> AriesConfig:
    return AriesConfig.model_validate({"groups": groups, "bandwidth": "1 GB/s"} | more)


def small(
    groups: int, chassis: int, blades: int, cables: int = 1, arrangement: str = "absolute", **more: Any
) -> AriesConfig:
    sizes = {"chassis_per_group": chassis, "blades_per_chassis": blades, "nodes_per_router": 1}
    return aries(groups, **sizes, cables_per_group_pair=cables, arrangement=arrangement, **more)


SMALL: list[tuple[Any, ...]] = [
    (1, 2, 4), (1, 1, 6), (2, 1, 2), (3, 2, 2, 2), (4, 2, 4, 3, "relative"),
    (5, 3, 2, 3, "circulant"), (7, 2, 4, 1, "circulant"), (6, 1, 4, 2),
]  # fmt: skip


def links(machine: Machine, kind: int) -> np.ndarray:
    """Return the router pairs of all links of a class, in both directions, sorted."""
    rows = machine.cable_class == kind
    pairs = np.stack([machine.cable_tail[rows], machine.cable_head[rows]], axis=1)
    pairs = np.repeat(np.concatenate([pairs, pairs[:, ::-1]]), np.tile(machine.cable_count[rows], 2), axis=0)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


@pytest.mark.parametrize(
    ("groups", "cables", "digest"),
    [
        (15, 6, "4f17d9056d0a49896963c547c155d54fbdb4aaad697f1dea09e8808a8ecfb3c9"),
        (9, 12, "39c22806965b1b7a11fb8300870367f9a4eb44c190bba6bab0ce439435ed6875"),
    ],
    ids=["Edison", "Theta"],
)
def test_global_links_of_real_machines(groups: int, cables: int, digest: str) -> None:
    """SHA-256 of the sorted int32 pairs in inter-edison and inter-theta, made by CODES from the machines' link lists.

    The lists are in src/network-workloads/conf/dragonfly-custom of https://github.com/codes-org/codes (a5958cfa).
    """
    pairs = links(aries(groups, cables_per_group_pair=cables).build(), GLOBAL)
    assert hashlib.sha256(pairs.astype("<i4").tobytes()).hexdigest() == digest


def test_ports_and_nodes_of_the_largest_xc() -> None:
    """241 groups, 92,544 nodes; a router has 15 links in its row, 15 in its column and 10 to other groups."""
    config = aries(241)
    machine = config.build()
    assert (config.nodes, config.routers_per_group) == (92_544, 96)
    ports = [np.bincount(links(machine, kind)[:, 0]) for kind in range(3)]
    assert [set(count.tolist()) for count in ports] == [{15}, {15}, {10}]


@pytest.mark.parametrize("shape", SMALL)
def test_rows_columns_and_group_pairs(shape: tuple[Any, ...]) -> None:
    """Links join routers of one chassis once, of one slot three times, and each two groups by four per cable."""
    config = small(*shape)
    machine = config.build()
    router = np.arange(machine.routers)
    chassis, slot = np.divmod(router, config.blades_per_chassis)
    group = chassis // config.chassis_per_group
    joined = np.zeros((3, machine.routers, machine.routers), dtype=int)
    for kind in range(3):
        np.add.at(joined[kind], tuple(links(machine, kind).T), 1)
    apart = router[:, None] != router
    assert np.array_equal(joined[ROW], apart & (chassis[:, None] == chassis))
    assert np.array_equal(joined[COLUMN], 3 * (apart & (group[:, None] == group) & (slot[:, None] == slot)))
    between = np.zeros((config.groups, config.groups), dtype=int)
    np.add.at(between, (group[:, None], group), joined[GLOBAL])
    assert np.array_equal(between, 4 * config.cables_per_group_pair * (1 - np.eye(config.groups, dtype=int)))
    assert joined[GLOBAL].sum(axis=1).max(initial=0) <= 10 and set(joined[GLOBAL].ravel() % 2) == {0}


def test_bisection_of_a_group() -> None:
    """The smaller of 8 x 8 x 6 links of rows and 3 x 3 x 16 x 3 links of columns (Oltchik and Schwartz)."""
    bounds = bisection_bounds(aries(1).build())
    assert bounds.exact and bounds.upper_Bps == min(8 * 8 * 6, 3 * 3 * 16 * 3) * 1e9
    slow = {"row": "2 GB/s", "column": "1 GB/s", "global": "1 GB/s", "host": "1 GB/s"}
    assert bisection_bounds(aries(1, bandwidth=slow).build()).upper_Bps == 3 * 3 * 16 * 3 * 1e9


@pytest.mark.parametrize("shape", [*SMALL, (15, 6, 16, 6), (9, 6, 16, 12)])
def test_typical_hops_are_near_the_mean_distance_of_networkx(shape: tuple[Any, ...]) -> None:
    """The last two are Edison and Theta; a group alone is exact."""
    config = small(*shape)
    machine = config.build()
    graph = nx.Graph(zip(machine.cable_tail.tolist(), machine.cable_head.tolist(), strict=True))
    mean = nx.average_shortest_path_length(graph) * (1 - 1 / machine.routers)
    assert config.typical_hops == pytest.approx(mean, rel=1e-9 if config.groups == 1 else 0.1)
