"""The first free nodes in order of node number."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from fabricstudy.core.kinds import register
from fabricstudy.machine.base import Topology

from .base import Allocation, Grant, Request


@register
class Cluster(Allocation):
    """The first free nodes in order of node number."""

    kind: Literal["cluster"] = "cluster"

    def planned_nodes(self, machine: Topology, holder: Mapping[int, int] | None, nodes: int) -> Sequence[int] | None:
        if holder is None:
            return None
        return list(itertools.islice((node for node in range(machine.nodes) if node not in holder), nodes))

    def allocate(self, request: Request) -> Grant:
        return Grant(np.flatnonzero(request.free)[: request.wanted])
