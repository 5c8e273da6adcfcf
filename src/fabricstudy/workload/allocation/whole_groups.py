"""As many entire groups as the job needs."""

import numpy as np

from fabricstudy.machine.base import Topology

from ..messages import WorkloadError
from .base import Allocation, Grant, Request
from .groups import reserved_groups, sizes_and_taken


class WholeGroups(Allocation, kind="whole-groups"):
    """As many entire groups, or pods of a fat tree, as the job needs; the job reserves all of them.

    On dragonflies and fat trees their minimal routes share no links with those of other such jobs; on a Slim Fly only
    the routes within one group are isolated.
    """

    needs = "groups"

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        return -(-nodes // machine.group_nodes) * machine.group_nodes

    def allocate(self, request: Request) -> Grant:
        """Allocate and reserve the first groups without jobs that together are large enough."""
        sizes, used = sizes_and_taken(request)
        free = np.flatnonzero((used == 0) & (sizes > 0))
        groups = int(np.searchsorted(np.cumsum(sizes[free]), request.wanted)) + 1
        if groups > len(free):
            problem = f"{len(free)} groups are free, but {request.wanted} nodes need more"
            raise WorkloadError(f"{problem}; make the jobs smaller")
        return reserved_groups(request, free[:groups])
