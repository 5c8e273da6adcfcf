"""The placement of a job on its machine."""

from dataclasses import dataclass
from functools import cached_property

from fabricstudy.core.arrays import Bools, Int32s, Integers
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.hops import hop_distances


@dataclass(frozen=True, eq=False)
class JobPlacement:
    """A machine, the node of each rank (int32 [ranks]), and one side of the best cut (bool [routers])."""

    machine: Machine
    node_of_rank: Int32s
    cut_side: Bools

    @property
    def router_of_rank(self) -> Int32s:
        """Router of each rank, int32 [ranks]."""
        return self.machine.node_router[self.node_of_rank]

    @cached_property
    def distances(self) -> Integers:
        """Hops between routers, integers [routers, routers]."""
        return hop_distances(self.machine).matrix()
