"""Patches and computes placed by the machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fabricstudy.machine.base import Topology
from fabricstudy.machine.distances import hop_distances
from fabricstudy.workload.pattern.base import JobPlacement, Pattern, Sends

EXTENSIONS = ["namd"]

RING = {"kind": "torus", "shape": [4]}
CUBE = {"kind": "torus", "shape": [8, 8, 8], "cores_per_node": 4}
DRAGONFLY = {"kind": "dragonfly", "groups": 9, "routers_per_group": 4, "nodes_per_router": 2, "cores_per_node": 2}


def site_of(machine: dict[str, Any]) -> JobPlacement:
    built = Topology.model_validate({"bandwidth": "1 GB/s"} | machine).build()
    return JobPlacement(
        built,
        np.repeat(np.arange(built.nodes, dtype=np.int32), machine.get("cores_per_node", 1)),
        np.zeros(built.routers, dtype=bool),
    )


def pattern_of(kind: str = "placed-patches", **keys: Any) -> Pattern:
    return Pattern.model_validate({"kind": kind, "patches": [6, 6, 4], "split": 8, "message": "1 kB"} | keys)


def sent(sends: Sends) -> list[tuple[int, ...]]:
    assert sends.size_bytes is not None
    columns = (sends.phase, sends.source, sends.destination, sends.size_bytes)
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def test_two_patches_on_a_ring_by_hand() -> None:
    """Boxes are ranks 0 1 and 2 3, homes 1 and 3; computes 00 on 1, 11 on 3, and 01 between them, on 0."""
    found = pattern_of(patches=[2, 1, 1], split=1, forces="2 kB").sends_at(site_of(RING))
    assert sent(found) == [(0, 1, 0, 1000), (0, 3, 0, 1000), (1, 0, 1, 2000), (1, 0, 3, 2000)]


@pytest.mark.parametrize("machine", [CUBE, DRAGONFLY], ids=lambda machine: machine["kind"])
def test_evenly_is_what_every_mapping_may_place(machine: dict[str, Any]) -> None:
    site = site_of(machine)
    oblivious = pattern_of(place="evenly", place_computes="evenly").sends_at(site)
    assert sent(oblivious) == sent(pattern_of("patches").sends(len(site.node_of_rank), np.random.default_rng(0)))


@pytest.mark.parametrize("machine", [CUBE, DRAGONFLY], ids=lambda machine: machine["kind"])
def test_bricks_cost_fewer_hops_than_an_even_deal_and_are_shared(machine: dict[str, Any]) -> None:
    site = site_of(machine)
    router = site.router_of_rank
    cost, ranks = {}, {}
    for computes in ("evenly", "brick"):
        sends = pattern_of(place_computes=computes).sends_at(site)
        between = hop_distances(site.machine).between(router[sends.source], router[sends.destination])
        assert sends.size_bytes is not None
        cost[computes], ranks[computes] = (between * sends.size_bytes).sum(), len(np.unique(sends.destination))
    assert cost["brick"] < cost["evenly"]
    # 16,128 computes, and no rank has more than an even share of them.
    assert ranks["brick"] >= 16_128 // -(-16_128 // len(router))


def test_more_patches_than_ranks_share_them() -> None:
    found = pattern_of(patches=[4, 2, 1], split=1).sends_at(site_of(RING))
    assert set(found.source.tolist()) == {0, 1, 2, 3}
