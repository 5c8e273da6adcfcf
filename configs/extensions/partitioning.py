"""Allocations that keep jobs apart on low-diameter networks, and one that does not (Jain et al., IPDPS 2017)."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Bools, Integers
from fabricstudy.core.model import ConfigError, Number
from fabricstudy.machine.base import Topology
from fabricstudy.machine.fat_tree import FatTreeConfig
from fabricstudy.workload.allocation.base import NO_JOB, Allocation, Grant, Request
from fabricstudy.workload.allocation.boxes import Box, BoxSide, convex_boxes, dimensions_of, shape_of
from fabricstudy.workload.allocation.groups import WholeGroups, check_fits, group_of_node
from fabricstudy.workload.messages import WorkloadError


class BuildingBlocks(Box, kind="building-blocks"):
    """A convex cuboid of blocks of one shape, into which the grid is divided (Jain et al., IPDPS 2017)."""

    block: tuple[BoxSide, ...] = Field(
        min_length=1, description="routers of a block along each dimension, a divisor of the dimension's length"
    )

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        self.check_sides(machine, "block")
        lines = dimensions_of(machine)
        if any(line.length % side for side, line in zip(self.block, lines, strict=True)):
            problem = f"the block does not divide {shape_of(machine)}"
            remedy = "use a divisor of each dimension's length"
            raise ConfigError(problem, remedy, ("block",), list(self.block), "does-not-fit")
        boxes = convex_boxes(self.routers_needed(machine, nodes), lines, self.block)
        return self.nodes_of_box(machine, boxes[0]) if boxes else nodes

    def allocate(self, request: Request) -> Grant:
        """Allocate the smallest free convex cuboid of blocks that holds the job, the preferred ones first."""
        routers = self.routers_needed(request.machine, request.wanted)
        boxes = convex_boxes(routers, request.machine.dimensions, self.block, self.prefer)
        return self.first_free(request, boxes, f"cuboid of blocks with {routers} routers or more", self.block)


class SwappedCluster(Allocation, kind="swapped-cluster"):
    """The first free nodes in an order in which pairs of nodes are swapped (Jain et al., IPDPS 2017).

    All jobs of a point see the same order, so that jobs that fill the machine exchange nodes.
    """

    swaps: Number = Field(
        0.05,
        ge=0,
        le=10,
        description="pairs of nodes swapped, one after another and the same for all jobs, as a share of the machine's "
        "nodes; 0.05 displaces 9.5 % of the nodes",
    )

    def allocate(self, request: Request) -> Grant:
        order = swapped(request.machine.nodes, self.swaps, request.common_rng)
        return Grant(order[request.free[order]][: request.wanted])


def swapped(nodes: int, share: float, rng: np.random.Generator) -> Integers:
    """Return the node numbers after ``share * nodes`` swaps of random pairs, one after another.

    Examples
    --------
    >>> order = swapped(10_000, 0.05, np.random.default_rng(1))
    >>> int(np.count_nonzero(order != np.arange(10_000)))
    958
    """
    order = np.arange(nodes)
    for pair in rng.integers(nodes, size=(round(share * nodes), 2)):
        order[pair] = order[pair[::-1]]
    return order


class TreePartition(Allocation, kind="tree-partition"):
    """Nodes of a fat tree by the rules under which jobs share no links (Jain et al., IPDPS 2017).

    one-leaf (i): nodes of one leaf. whole-leaves (ii): entire leaves of one pod, which the job reserves. shared-pods
    (iii): nodes of any pods in which every other job satisfies (i) or (ii); later jobs do so if they use this policy.
    whole-pods (iv): entire pods, which the job reserves. auto: the first of i, ii, iii that the job fits.
    """

    needs = "pods"
    rule: Literal["auto", "one-leaf", "whole-leaves", "shared-pods", "whole-pods"] = Field(
        "auto", description="the rule to apply"
    )

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        assert isinstance(machine, FatTreeConfig)  # the policy needs pods
        leaf = machine.half_radix
        if self.rule == "one-leaf":
            check_fits(nodes, leaf, "leaf", self.rule)
        if self.rule == "whole-leaves":
            check_fits(nodes, machine.group_nodes, "pod", self.rule)
            return -(-nodes // leaf) * leaf
        return WholeGroups().reserved_nodes(machine, nodes) if self.rule == "whole-pods" else nodes

    def allocate(self, request: Request) -> Grant:
        rules = ("one-leaf", "whole-leaves", "shared-pods") if self.rule == "auto" else (self.rule,)
        for rule in rules:
            grant = _RULES[rule](request)
            if grant is not None:
                return grant
        raise WorkloadError(
            f"no {request.wanted} free nodes satisfy the rule {self.rule} of tree-partition; place large jobs first"
        )


def _one_leaf(request: Request) -> Grant | None:
    """(i) Nodes of the leaf with the fewest free nodes that are enough; other jobs may have its other nodes."""
    leaf = request.machine.node_router
    best = _best_fit(np.bincount(leaf[request.free], minlength=request.machine.routers), request.wanted)
    return None if best is None else Grant(_first_free(request, leaf == best))


def _whole_leaves(request: Request) -> Grant | None:
    """(ii) The first empty leaves of the pod with the fewest empty leaves that are enough; the job reserves them."""
    machine, leaf, pod = request.machine, request.machine.node_router, group_of_node(request)
    used = np.bincount(leaf[~request.free], minlength=machine.routers)
    on_empty_leaf = (used == 0)[leaf]
    best = _best_fit(np.bincount(pod[on_empty_leaf]), request.wanted)
    if best is None:
        return None
    nodes = np.flatnonzero(on_empty_leaf & (pod == best))
    last = leaf[nodes[request.wanted - 1]]
    return Grant(nodes[: request.wanted], nodes[leaf[nodes] <= last])


def _shared_pods(request: Request) -> Grant | None:
    """(iii) All free nodes of pods in which every job satisfies (i) or (ii), those with the most free nodes first.

    A job satisfies them if all its nodes are on one leaf, or on leaves of one pod that no other job uses. Nodes left
    free may later be allocated to jobs that satisfy (i) or (ii).
    """
    leaf, pod = request.machine.node_router, group_of_node(request)
    open_pods = np.ones(int(pod.max()) + 1, dtype=np.bool_)
    for job in np.unique(request.holder[request.holder != NO_JOB]):
        nodes = request.holder == job
        leaves, pods = np.unique(leaf[nodes]), np.unique(pod[nodes])
        exclusive = np.array_equal(np.isin(leaf, leaves), nodes) and len(pods) == 1
        if len(leaves) > 1 and not exclusive:
            open_pods[pods] = False
    free = np.bincount(pod[request.free], minlength=len(open_pods)) * open_pods
    order = np.argsort(-free, kind="stable")
    count = int(np.searchsorted(np.cumsum(free[order]), request.wanted)) + 1
    return None if count > len(order) else Grant(_first_free(request, np.isin(pod, order[:count])))


def _best_fit(free: Integers, wanted: int) -> int | None:
    """Index of the first element with the fewest free nodes that are enough, or None."""
    enough = np.flatnonzero(free >= wanted)
    return int(enough[np.argmin(free[enough])]) if len(enough) else None


def _first_free(request: Request, where: Bools) -> Integers:
    return np.flatnonzero(request.free & where)[: request.wanted]


_RULES: dict[str, Callable[[Request], Grant | None]] = {
    "one-leaf": _one_leaf,
    "whole-leaves": _whole_leaves,
    "shared-pods": _shared_pods,
    "whole-pods": WholeGroups().allocate,
}
