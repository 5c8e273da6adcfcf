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
from .grid import dimension_order_steps, link_tables


class DimensionOrderRoutes(ObliviousMemorylessRoutes):
    """Routes of dimension order on a grid."""

    def __init__(self, machine: Machine, tie: str) -> None:
        super().__init__(machine)
        if machine.coordinates is None or not machine.dimensions:
            raise ValueError(f"dimension order needs a machine with dimensions, not {machine.kind}")
        self._coordinates = machine.coordinates.T.astype(np.int64)
        self._links = link_tables(machine)
        self._steps = [dimension_order_steps(dimension, tie) for dimension in machine.dimensions]
        self.single_path = all(np.all(steps.share == 1) for ways in self._steps for steps in ways)

    def next_hops(self, at: Ints, goal: Ints) -> NextHops:
        """Return the steps in the first unfinished dimension."""
        hops: list[tuple[Ints, ...]] = []
        waiting = np.arange(len(at))
        for coordinate, links, ways in zip(self._coordinates, self._links, self._steps, strict=True):
            here, there = coordinate[at[waiting]], coordinate[goal[waiting]]
            moves = here != there
            packet, here, there = waiting[moves], here[moves], there[moves]
            waiting = waiting[~moves]
            for steps in ways:
                to = steps.to[here, there]
                taken = to >= 0
                pair = here[taken], there[taken]
                link = links[at[packet[taken]], to[taken]].astype(np.int64)
                hops.append((packet[taken], link, steps.share[pair], steps.channel[pair]))
        return NextHops(*(np.concatenate(column) for column in zip(*hops, strict=True)))


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
