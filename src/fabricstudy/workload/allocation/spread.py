"""Routers round robin over the groups."""

import numpy as np

from fabricstudy.core.arrays import number_within

from .base import Allocation, Grant, Request


class SpreadAllocation(Allocation, kind="spread"):
    """Free nodes of all groups in turn, lowest router numbers first."""

    def allocate(self, request: Request) -> Grant:
        """Allocate the free nodes of the first router of each group, then those of the second of each, and so on.

        A router's nodes stay together, as in the simple spread allocator of SST's scheduler. A machine without
        groups is filled with one node of each router first, then the second of each.
        """
        router, group = request.machine.node_router, request.machine.group
        if group is None:
            order = np.lexsort((router, number_within(router)))
        else:
            order = np.lexsort((group[router], number_within(group)[router]))
        return Grant(order[request.free[order]][: request.wanted])
