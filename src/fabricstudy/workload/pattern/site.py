"""Where a job lies."""

from __future__ import annotations

from dataclasses import dataclass

from fabricstudy.machine import Machine
from fabricstudy.workload.placed import IntArray, Mask


@dataclass(frozen=True, eq=False)
class Site:
    """A machine, the node of each rank (int32 [ranks]), and one side of the best cut (bool [routers])."""

    machine: Machine
    node_of_rank: IntArray
    half: Mask

    @property
    def router_of_rank(self) -> IntArray:
        """Router of each rank, int32 [ranks]."""
        return self.machine.node_router[self.node_of_rank]
