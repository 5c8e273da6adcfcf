"""Nodes without a topology."""

from typing import Literal

from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.machine.base import Topology

from ..partitions import NodePool
from .base import PartitionList


@register
class Nodes(PartitionList):
    """No partitions: a job takes any free nodes, those with the lowest numbers. So do the schedulers of most clusters.

    It shows what partitions cost, and compares with simulators that know no topology.
    """

    kind: Literal["nodes"] = "nodes"
    reserve: Literal["set", "count"] = Field(
        "set",
        description="what `easy` promises a job that has to wait: the nodes of the lowest numbers that are free then, "
        "or only how many; `conservative` promises how many",
    )

    def check(self, machine: Topology) -> None:
        """Accept every machine."""

    def partitions(self, machine: Topology) -> NodePool:
        return NodePool(machine.nodes, self.reserve == "count")
