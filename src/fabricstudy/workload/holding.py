"""How many nodes the allocation policies keep from other jobs, and what they cannot do even on an empty machine."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fabricstudy.machine.base import Topology
from fabricstudy.machine.dimension import Dimension
from fabricstudy.machine.fat_tree import FatTreeConfig
from fabricstudy.machine.grid import GridConfig
from fabricstudy.model import ConfigError

from .allocation.boxes import convex_boxes, exact_boxes
from .allocation.building_blocks import BuildingBlocks
from .allocation.convex_block import ConvexBlock
from .allocation.cuboid import Cuboid
from .allocation.one_group import OneGroup
from .allocation.tree_partition import TreePartition
from .allocation.whole_groups import WholeGroups
from .job import Job

_SMALLER = "make the job smaller, or take another allocation"


def nodes_held(machine: Topology, job: Job) -> int:
    """Give the nodes that no other job can have once the job is placed, at the least.

    Raises
    ------
    ConfigError
        With the path below the job, if its allocation policy cannot place it on the empty machine.
    """
    nodes = job.node_count(machine.nodes)
    held = _HELD.get(type(job.allocation))
    return nodes if held is None else held(machine, job.allocation, nodes)


def _grid(machine: Topology, nodes: int) -> tuple[tuple[Dimension, ...], int, int]:
    """Give dimensions, routers that hold the nodes, and nodes of a router."""
    assert isinstance(machine, GridConfig)  # such policies need dimensions
    return machine.grid, -(-nodes // machine.nodes_per_router), machine.nodes_per_router


def _cuboid(machine: Topology, policy: Cuboid, nodes: int) -> int:
    lines, routers, each = _grid(machine, nodes)
    if policy.shape is None:
        if not exact_boxes(routers, lines):
            problem = f"no cuboid of exactly {routers} routers fits in {_shape(lines)}"
            raise ConfigError(problem, "change the job's size, give a shape, or take convex-block", ("allocation",))
        return routers * each
    _check_sides(policy.shape, lines, "shape")
    cells = math.prod(policy.shape)
    if cells < routers:
        problem = f"the cuboid has {cells} routers, and the job's {nodes} nodes need {routers}"
        raise ConfigError(problem, "make it larger", ("allocation", "shape"), list(policy.shape))
    return cells * each


def _convex_block(machine: Topology, policy: ConvexBlock, nodes: int) -> int:
    lines, routers, each = _grid(machine, nodes)
    return math.prod(convex_boxes(routers, lines)[0]) * each if routers <= machine.routers else nodes


def _building_blocks(machine: Topology, policy: BuildingBlocks, nodes: int) -> int:
    lines, routers, each = _grid(machine, nodes)
    _check_sides(policy.block, lines, "block")
    if any(line.length % side for side, line in zip(policy.block, lines, strict=True)):
        problem = f"the block does not divide {_shape(lines)}"
        raise ConfigError(problem, "let each side divide its dimension", ("allocation", "block"), list(policy.block))
    boxes = convex_boxes(routers, lines, policy.block)
    return math.prod(boxes[0]) * each if boxes else nodes


def _check_sides(sides: tuple[int, ...], lines: tuple[Dimension, ...], key: str) -> None:
    path = ("allocation", key)
    if len(sides) != len(lines):
        problem = f"{len(sides)} sides, and the machine has {len(lines)} dimensions"
        raise ConfigError(problem, "give one a dimension", path, list(sides))
    if any(side > line.length for side, line in zip(sides, lines, strict=True)):
        raise ConfigError(f"it does not fit in {_shape(lines)}", "shorten it", path, list(sides))


def _shape(lines: tuple[Dimension, ...]) -> str:
    return " x ".join(str(line.length) for line in lines)


def _one_group(machine: Topology, policy: OneGroup, nodes: int) -> int:
    _check_part(nodes, machine.group_nodes, "group", policy.kind)
    return machine.group_nodes


def _check_part(nodes: int, most: int, part: str, value: str) -> None:
    if nodes > most:
        problem = f"the job needs {nodes} nodes, and a {part} has {most}"
        raise ConfigError(problem, _SMALLER, ("allocation",), value)


def _whole_groups(machine: Topology, policy: WholeGroups | TreePartition, nodes: int) -> int:
    return -(-nodes // machine.group_nodes) * machine.group_nodes


def _tree_partition(machine: Topology, policy: TreePartition, nodes: int) -> int:
    assert isinstance(machine, FatTreeConfig)  # the policy needs levels
    leaf = machine.half
    if policy.rule == "one-leaf":
        _check_part(nodes, leaf, "leaf", policy.rule)
    if policy.rule == "whole-leaves":
        _check_part(nodes, machine.group_nodes, "pod", policy.rule)
        return -(-nodes // leaf) * leaf
    return _whole_groups(machine, policy, nodes) if policy.rule == "whole-pods" else nodes


_HELD: dict[type, Callable[[Topology, Any, int], int]] = {
    Cuboid: _cuboid,
    ConvexBlock: _convex_block,
    BuildingBlocks: _building_blocks,
    OneGroup: _one_group,
    WholeGroups: _whole_groups,
    TreePartition: _tree_partition,
}
