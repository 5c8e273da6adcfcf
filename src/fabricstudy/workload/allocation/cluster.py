"""The first free nodes in order of node number."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from fabricstudy.machine.base import Topology

from .base import Allocation, Grant, Request


class Cluster(Allocation, kind="cluster"):
    """The first free nodes in order of node number."""

    def planned_nodes(self, machine: Topology, holder: Mapping[int, int] | None, nodes: int) -> Sequence[int] | None:
        if holder is None:
            return None
        return list(itertools.islice((node for node in range(machine.nodes) if node not in holder), nodes))

    def allocate(self, request: Request) -> Grant:
        return Grant(np.flatnonzero(request.free)[: request.wanted])
