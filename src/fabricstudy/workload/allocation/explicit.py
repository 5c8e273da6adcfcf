"""The nodes that the study lists."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from fabricstudy.kinds import register
from fabricstudy.model import ConfigError, Whole

from ..messages import WorkloadError
from .base import Allocation
from .request import Grant, Request


@register
class ExplicitNodes(Allocation):
    """The nodes listed, in that order."""

    kind: Literal["explicit"] = "explicit"
    nodes: tuple[Annotated[Whole, Field(ge=0)], ...] = Field(
        min_length=1, description="node numbers, from 0; rank order follows the list"
    )

    @model_validator(mode="after")
    def _no_node_twice(self) -> ExplicitNodes:
        if len(set(self.nodes)) != len(self.nodes):
            twice = next(node for index, node in enumerate(self.nodes) if node in self.nodes[:index])
            raise ConfigError("a node is listed twice", "list each node once", ("nodes",), twice, code="repeated-entry")
        return self

    def allocate(self, request: Request) -> Grant:
        """Take the nodes listed, in that order.

        Raises
        ------
        WorkloadError
            If the machine has no such node, or an earlier job holds it.
        """
        nodes = np.array(self.nodes, dtype=np.int64)
        if nodes.max() >= request.machine.nodes:
            last = request.machine.nodes - 1
            raise WorkloadError(f"there is no node {nodes.max()}; the machine's last node is {last}")
        taken = nodes[~request.free[nodes]]
        if len(taken):
            raise WorkloadError(f"node {taken[0]} belongs to an earlier job; list free nodes")
        return Grant(nodes)
