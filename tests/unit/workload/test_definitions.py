"""Ids of workloads: jobs that share one are placed alike, whatever the speed of the links."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fabricstudy.core.kind_modules import MODULES
from fabricstudy.engine.point import Point
from fabricstudy.workload.definitions import WorkloadIds

from .conftest import place_point

TORUS = {"kind": "torus", "shape": [4, 4, 2], "nodes_per_router": 1, "cores_per_node": 2}
DRAGONFLY = {"kind": "dragonfly", "groups": 9, "routers_per_group": 4, "nodes_per_router": 2, "cores_per_node": 2}
TREE = {"kind": "fat-tree", "radix": 4, "cores_per_node": 2}
SLOW = {"bandwidth": "1 GB/s", "latency": "40 ns"}
FAST = {
    "torus": {"links": ["8 GB/s", "1 GB/s", "2 GB/s"], "host": "1 GB/s"},
    "dragonfly": {"local": "4 GB/s", "global": "1 GB/s", "host": "2 GB/s"},
    "fat-tree": "3 GB/s",
}
KEYS: dict[str, dict[str, Any]] = {
    "explicit": {"nodes": [3, 1, 0, 2, 9, 8, 7, 6]},
    "fragmented": {"trace": {"kind": "lublin", "jobs": 200}, "after": "1 h"},
    "slurm": {"trace": {"kind": "lublin", "jobs": 200}, "after": "1 h"},
    "file": {"file": "ranks.txt", "cores": list(range(15, -1, -1))},
}
HALO = {"kind": "stencil", "message": "5 kB"}


def pair(machine: dict[str, Any], **job: Any) -> list[Point]:
    """Return a point on slow links, and the same on faster ones."""
    rest = {
        "routing": {"kind": "minimal"},
        "jobs": [{"ranks_per_node": 2, "pattern": HALO} | job],
        "engine": {"kind": "caminos"},
        "seed": 1,
    }
    fast = {"bandwidth": FAST[machine["kind"]], "latency": "70 ns"}
    return [Point.model_validate({"machine": machine | speeds, **rest}) for speeds in (SLOW, fast)]


def assert_shared(first: Point, second: Point) -> None:
    assert WorkloadIds().of(first) == WorkloadIds().of(second)
    for one, other in zip(place_point(first), place_point(second), strict=True):
        assert np.array_equal(one.node_of_rank, other.node_of_rank)


@pytest.mark.parametrize("kind", sorted(MODULES["mapping"]))
def test_mappings_do_not_depend_on_speeds(kind: str) -> None:
    for machine in (TORUS, DRAGONFLY):
        assert_shared(*pair(machine, nodes=8, mapping={"kind": kind} | KEYS.get(kind, {})))


@pytest.mark.parametrize("kind", sorted(MODULES["allocation"]))
def test_allocations_do_not_depend_on_speeds(kind: str) -> None:
    size = {} if kind == "explicit" else {"nodes": 8}
    assert_shared(*pair(TORUS, **size, allocation={"kind": kind} | KEYS.get(kind, {})))


def test_a_pattern_that_follows_the_best_cut_has_a_workload_of_its_own_for_each_speed() -> None:
    slow, fast = pair(DRAGONFLY, nodes=8, pattern={"kind": "bisection", "message": "1 kB"})
    assert WorkloadIds().of(slow) != WorkloadIds().of(fast)
