"""The cores of an allocation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fabricstudy.machine.graph import Machine

from ..messages import IntArray


@dataclass(frozen=True, eq=False)
class Slots:
    """The nodes of a job in the order of its allocation, int32 [nodes], and the cores it uses of each."""

    machine: Machine
    nodes: IntArray
    ranks_per_node: int

    @property
    def ranks(self) -> int:
        """Cores the job uses, so its ranks."""
        return len(self.nodes) * self.ranks_per_node

    @property
    def node_of_core(self) -> IntArray:
        """Node of each core, int32 [ranks]: the cores of a node stand together."""
        return np.repeat(self.nodes, self.ranks_per_node)
