"""The cores of an allocation."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fabricstudy.core.arrays import Int32s, Ints
from fabricstudy.machine.graph import Machine


@dataclass(frozen=True, eq=False)
class Slots:
    """The nodes of a job in the order of its allocation, int32 [nodes], and the cores it uses of each.

    With several ranks per core, a core here is the place of one of them.
    """

    machine: Machine
    nodes: Int32s
    ranks_per_node: int

    @property
    def ranks(self) -> int:
        """Number of cores the job uses, and of its ranks."""
        return len(self.nodes) * self.ranks_per_node

    @property
    def node_of_core(self) -> Int32s:
        """Node of each core, int32 [ranks]; the cores of a node are consecutive."""
        return np.repeat(self.nodes, self.ranks_per_node)

    @cached_property
    def router_of_core(self) -> Ints:
        """Router of each core, int64 [ranks]."""
        return self.machine.node_router[self.node_of_core].astype(np.int64)

    @property
    def place_of_core(self) -> Ints:
        """Coordinates of each core's router, int64 [ranks, dimensions]; off a grid the router's number.

        Routers with consecutive numbers are near each other in every topology: in a group, under a switch.
        """
        place = self.machine.coordinates
        if place is None or not self.machine.dimensions:
            return self.router_of_core[:, None]
        return place[self.router_of_core].astype(np.int64)
