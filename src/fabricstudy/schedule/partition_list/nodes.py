"""Nodes without a topology."""

from typing import Literal

from pydantic import Field

from fabricstudy.machine.base import Topology

from ..partitions import NodePool
from .base import PartitionList


class NodeList(PartitionList, kind="nodes"):
    """No partitions: a job runs on any free nodes, those with the lowest numbers, as on most clusters.

    A baseline for the cost of partitions, and for simulators without a topology.
    """

    reserve: Literal["set", "count"] = Field(
        "set",
        description="reservation of `easy` for a waiting job: the nodes of the lowest numbers that are free then, or "
        "only their number; `conservative` reserves a number",
    )

    def partitions(self, machine: Topology) -> NodePool:
        return NodePool(machine.nodes, self.reserve == "count")
