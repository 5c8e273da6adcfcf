"""The nodes listed in the study."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from fabricstudy.core.model import ConfigError, Whole, model_check
from fabricstudy.machine.base import Topology

from ..messages import WorkloadError
from .base import Allocation, Grant, Request


class ExplicitNodes(Allocation, kind="explicit"):
    """The nodes listed, in that order."""

    nodes: tuple[Annotated[Whole, Field(ge=0)], ...] = Field(
        min_length=1, description="node numbers, from 0; ranks fill the nodes in this order"
    )

    @model_check
    def _no_duplicates(self) -> None:
        if len(set(self.nodes)) != len(self.nodes):
            duplicate = next(node for index, node in enumerate(self.nodes) if node in self.nodes[:index])
            raise ConfigError("duplicate node", "list each node once", ("nodes",), duplicate, code="duplicate")

    def node_count(self) -> int:
        return len(self.nodes)

    def planned_nodes(self, machine: Topology, holder: Mapping[int, int] | None, nodes: int) -> Sequence[int]:
        outside = [node for node in self.nodes if node >= machine.nodes]
        if outside:
            problem = f"no such node on a machine of {machine.nodes} nodes"
            raise ConfigError(problem, f"use 0 to {machine.nodes - 1}", ("nodes",), outside[0], "unknown-name")
        if holder is None:
            problem = "an earlier job may occupy these nodes"
            raise ConfigError(problem, "list jobs with explicit nodes first", code="duplicate")
        occupied = [node for node in self.nodes if node in holder]
        if occupied:
            problem = f"job {holder[occupied[0]]} already holds this node"
            raise ConfigError(problem, "assign each node to one job", ("nodes",), occupied[0], "duplicate")
        return self.nodes

    def allocate(self, request: Request) -> Grant:
        nodes = np.array(self.nodes, dtype=np.int64)
        if nodes.max() >= request.machine.nodes:
            last = request.machine.nodes - 1
            raise WorkloadError(f"there is no node {nodes.max()}; the machine's last node is {last}")
        occupied = nodes[~request.free[nodes]]
        if len(occupied):
            raise WorkloadError(f"node {occupied[0]} belongs to an earlier job; list free nodes")
        return Grant(nodes)
