"""Dimension order: one dimension after the other (Dally, Seitz: IEEE Trans. Computers C-36(5), 1987).

Within a dimension, from coordinate a to b:

* ring: the shorter direction; at a tie, `tie` selects: *split* half of the packets each way, *positive* all
  upwards, *alternate* those from even a upwards and those from odd a downwards;
* line: one step towards b;
* express links (gap g, spans 1 + m g): the link from a to b if there is one, else the longest that does not pass b.

Parallel cables are one link. A ring needs two virtual channels for deadlock freedom: 0 before the wrap-around link,
1 after it; other dimensions need one.
"""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Ints
from fabricstudy.machine.graph import Machine

from .base import ChannelScheme, NextHops, ObliviousMemorylessRoutes, Routes, Routing
from .grid import GridRoutes, dimension_order_steps


class DimensionOrderRoutes(GridRoutes, ObliviousMemorylessRoutes):
    """Routes of dimension order on a grid."""

    def __init__(self, machine: Machine, tie: str) -> None:
        super().__init__(machine, lambda dimension: dimension_order_steps(dimension, tie))
        self.single_path = all(np.all(steps.share == 1) for ways in self._steps for steps in ways)

    def next_hops(self, at: Ints, goal: Ints) -> NextHops:
        """Return the steps in the first unfinished dimension."""
        return NextHops(*self.hops(at, goal, first_only=True))


class DimensionOrder(Routing, kind="dimension-order"):
    """One dimension after the other, never past the destination (Dally and Seitz 1987).

    Rings use the shorter direction; express links are used longest first while they do not pass the destination.
    """

    needs = "dimensions"

    tie: Literal["split", "positive", "alternate"] = Field(
        "split", description="at a tie on a ring: both directions equally, always up, or up from even coordinates only"
    )

    def routes(self, machine: Machine) -> Routes:
        return DimensionOrderRoutes(machine, self.tie)

    def channel_scheme(self, machine: Machine) -> ChannelScheme:
        return "dateline" if any(dimension.wrap for dimension in machine.dimensions) else "one"
