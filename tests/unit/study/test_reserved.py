"""Allocation policies that cannot be, told when a study is planned."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.machine.base import Topology
from fabricstudy.workload.job import Job

from .conftest import the_error, told

EXTENSIONS = ["partitioning"]

MESH = {"kind": "mesh", "shape": [6, 4], "nodes_per_router": 2}
TORUS = {"kind": "torus", "shape": [8, 8]}
TREE = {"kind": "fat-tree", "radix": 6}
DRAGONFLY = {"kind": "dragonfly", "groups": 9, "routers_per_group": 4, "nodes_per_router": 2}
SLIM_FLY = {"kind": "slim-fly", "q": 5, "nodes_per_router": 3}
RING = {"kind": "ring", "message": "1 kB"}

RESERVED: dict[str, tuple[dict[str, Any], Any, int, int]] = {
    "cluster": (MESH, "cluster", 7, 7),
    "cuboid": (MESH, "cuboid", 7, 8),
    "cuboid of a shape": (MESH, {"kind": "cuboid", "shape": [3, 2]}, 7, 12),
    "convex block": (MESH, "convex-block", 10, 10),
    "convex block of no prime": (MESH, "convex-block", 14, 16),
    "convex block on rings": (TORUS, "convex-block", 25, 32),
    "building blocks": (MESH, {"kind": "building-blocks", "block": [3, 2]}, 13, 24),
    "one group": (DRAGONFLY, "one-group", 3, 8),
    "one sub-group": (SLIM_FLY, "one-group", 15, 15),
    "whole groups": (DRAGONFLY, "whole-groups", 17, 24),
    "whole pods": (TREE, {"kind": "tree-partition", "rule": "whole-pods"}, 10, 18),
    "whole leaves": (TREE, {"kind": "tree-partition", "rule": "whole-leaves"}, 4, 6),
    "shared pods": (TREE, "tree-partition", 10, 10),
}


@pytest.mark.parametrize("kind", RESERVED)
def test_reserved_nodes_by_hand(kind: str) -> None:
    machine, allocation, nodes, reserved = RESERVED[kind]
    config = Topology.model_validate({"bandwidth": "1 GB/s"} | machine)
    job = Job.model_validate({"nodes": nodes, "pattern": RING, "allocation": allocation})
    assert job.allocation.reserved_nodes(config, job.node_count(config.nodes)) == reserved


# machine, allocation and nodes of each job -> path, code
BROKEN: dict[str, tuple[dict[str, Any], list[tuple[Any, int]], str, str]] = {
    "cuboid on a dragonfly": (
        DRAGONFLY, [("cuboid", 4)], "jobs.0.allocation", "unsupported",
    ),
    "convex block without rings or lines": (
        {"kind": "jellyfish", "routers": 8, "degree": 3, "nodes_per_router": 1}, [("convex-block", 4)],
        "jobs.0.allocation", "unsupported",
    ),
    "convex block of more than half of both rings": (
        TORUS, [("convex-block", 33), ("cluster", 1)], "jobs.1.nodes", "does-not-fit",
    ),
    "groups on a mesh": (MESH, [("one-group", 4)], "jobs.0.allocation", "unsupported"),
    "tree rules on a Slim Fly": (SLIM_FLY, [("tree-partition", 4)], "jobs.0.allocation", "unsupported"),
    "cuboid of a large prime": (
        MESH, [("cuboid", 14)], "jobs.0.allocation", "does-not-fit",
    ),
    "cuboid of other dimensions": (
        MESH, [({"kind": "cuboid", "shape": [2, 2, 2]}, 4)], "jobs.0.allocation.shape", "out-of-range",
    ),
    "cuboid that does not fit": (
        MESH, [({"kind": "cuboid", "shape": [4, 6]}, 4)], "jobs.0.allocation.shape",
        "does-not-fit",
    ),
    "cuboid too small": (
        MESH, [({"kind": "cuboid", "shape": [2, 2]}, 9)], "jobs.0.allocation.shape", "does-not-fit",
    ),
    "block that does not divide": (
        MESH, [({"kind": "building-blocks", "block": [4, 2]}, 9)], "jobs.0.allocation.block",
        "does-not-fit",
    ),
    "blocks that do not fit together": (
        MESH, [({"kind": "building-blocks", "block": [6, 1]}, 9), ("cuboid", 26)],
        "jobs.1.allocation", "does-not-fit",
    ),
    "job larger than a group": (
        SLIM_FLY, [("one-group", 16)], "jobs.0.allocation", "does-not-fit",
    ),
    "job larger than a leaf": (
        TREE, [({"kind": "tree-partition", "rule": "one-leaf"}, 4)], "jobs.0.allocation", "does-not-fit",
    ),
    "job larger than a pod": (
        TREE, [({"kind": "tree-partition", "rule": "whole-leaves"}, 10)],
        "jobs.0.allocation", "does-not-fit",
    ),
    "whole pods that are too few": (
        TREE, [({"kind": "tree-partition", "rule": "whole-pods"}, 10)] * 4, "jobs.3.nodes",
        "does-not-fit",
    ),
    "convex block of more than the machine": (
        MESH, [("convex-block", 49)], "jobs.0.nodes", "does-not-fit",
    ),
    "ranks for pairs": (MESH, [("cluster", 3)], "jobs.0.pattern", "does-not-fit"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_what_cannot_be_is_told_when_planned(kind: str, write_study: Callable[[dict[str, Any]], Path]) -> None:
    machine, jobs, place, code = BROKEN[kind]
    pattern = {"kind": "pairs", "message": "1 kB"} if kind == "ranks for pairs" else RING
    path = write_study(
        {
            "extensions": ["partitioning.py"],
            "machine": {"bandwidth": "1 GB/s"} | machine,
            "jobs": [{"nodes": nodes, "pattern": pattern, "allocation": allocation} for allocation, nodes in jobs],
            "sweep": ...,
        }
    )
    shutil.copy(CONFIGS / "extensions/partitioning.py", path.parent)
    assert told(the_error(path)) == [(code, place)]
