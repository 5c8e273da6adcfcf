"""Dimension order: finish the first dimension, then the next (Dally, Seitz: IEEE Trans. Computers C-36(5), 1987).

Within a dimension, from coordinate a to b:

* ring: the shorter way round; half-way, `tie` decides: *split* sends half of the packets each way, *positive* all
  upwards, *alternate* those from even a upwards and those from odd a downwards;
* line: one step towards b;
* express links (gap g, lengths 1 + m g): the link from a to b if there is one, else the longest that stays before b.

Parallel cables are one link. A ring needs two virtual channels: 0 while the wrap link is ahead, 1 behind it;
otherwise there is one. Then no cycle of packets can wait for each other.
"""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.machine.graph import Machine

from .base import Ints, NextHops, ObliviousMemorylessRoutes, Routes, Routing
from .grid import dimension_order_steps, link_tables


class DimensionOrderRoutes(ObliviousMemorylessRoutes):
    """Routes of dimension order on a grid."""

    kind = "dimension-order"

    def __init__(self, machine: Machine, tie: str) -> None:
        super().__init__(machine)
        if machine.coordinates is None or not machine.dimensions:
            raise ValueError(f"dimension order needs a machine with dimensions, not {machine.kind}")
        self._coordinates = machine.coordinates.T.astype(np.int64)
        self._links = link_tables(machine)
        self._steps = [dimension_order_steps(dimension, tie) for dimension in machine.dimensions]
        self.single_path = all(np.all(steps.share == 1) for ways in self._steps for steps in ways)

    def next_hops(self, at: Ints, goal: Ints) -> NextHops:
        """Step in the first unfinished dimension."""
        hops: list[tuple[Ints, ...]] = []
        waiting = np.arange(len(at))
        for place, links, ways in zip(self._coordinates, self._links, self._steps, strict=True):
            here, there = place[at[waiting]], place[goal[waiting]]
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


@register
class DimensionOrder(Routing):
    """One dimension after the other, the first one first; never past the destination (Dally and Seitz 1987).

    On a ring the shorter way round. Express links are taken while they do not pass the destination, longest first.
    """

    needs: ClassVar[str | None] = "dimensions"

    kind: Literal["dimension-order"] = "dimension-order"
    tie: Literal["split", "positive", "alternate"] = Field(
        "split", description="half-way round a ring: both ways equally, always up, or up from even coordinates only"
    )

    def routes(self, machine: Machine) -> Routes:
        return DimensionOrderRoutes(machine, self.tie)
