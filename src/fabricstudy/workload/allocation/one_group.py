"""A single group that no other job uses."""

import numpy as np

from fabricstudy.machine.base import Topology

from ..messages import WorkloadError
from .base import Allocation, Grant, Request
from .groups import check_fits, reserved_groups, sizes_and_taken


class OneGroup(Allocation, kind="one-group"):
    """A group (of a dragonfly or Slim Fly; pod of a fat tree) that no other job uses; the job reserves all of it.

    Minimal routes do not leave it, so such jobs share no links.
    """

    needs = "groups"

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        check_fits(nodes, machine.group_nodes, "group", self.kind)
        return machine.group_nodes

    def allocate(self, request: Request) -> Grant:
        """Allocate the first group without jobs that is large enough."""
        sizes, used = sizes_and_taken(request)
        fitting = np.flatnonzero((used == 0) & (sizes >= request.wanted))
        if not len(fitting):
            raise WorkloadError(f"no free group has {request.wanted} nodes; make the job smaller, or use whole-groups")
        return reserved_groups(request, fitting[:1])
