"""Which nodes a job gets: one module a policy.

Each answers a `Request` by a `Grant`: ``policy(config, request) -> Grant``. At least as many nodes are free as
the job needs. A policy keeps its rule, or raises `WorkloadError`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import building_blocks, cluster, convex_block, cuboid, explicit, groups, random, spread, tree_partition
from .request import NOBODY, Grant, Request

Policy = Callable[[Any, Request], Grant]

# One line a policy, by the `kind` of its config.
ALLOCATIONS: dict[str, Policy] = {
    "cluster": cluster.allocate,
    "swapped-cluster": cluster.allocate_swapped,
    "spread": spread.allocate,
    "random": random.allocate,
    "explicit": explicit.allocate,
    "cuboid": cuboid.allocate,
    "convex-block": convex_block.allocate,
    "building-blocks": building_blocks.allocate,
    "one-group": groups.one_group,
    "whole-groups": groups.whole_groups,
    "tree-partition": tree_partition.allocate,
}

__all__ = ["ALLOCATIONS", "NOBODY", "Grant", "Policy", "Request"]
