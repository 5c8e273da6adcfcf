"""A ring of an even number of routers, each joined to the one half-way round: the Möbius ladder."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from fabricstudy.core.model import Whole
from fabricstudy.machine.base import LinkBandwidths, LinkLatencies, Topology, link_classes
from fabricstudy.machine.graph import Machine

from .rungs import ends_of_rungs


class MoebiusLadder(Topology, kind="moebius-ladder"):
    """Möbius ladder: a ring whose opposite routers are joined; a node on each router."""

    rungs: Whole = Field(ge=3, le=10_000, description="half as many as routers")
    bandwidth: LinkBandwidths = Field(description="bandwidth of a cable in one direction; one value or one a class")
    latency: LinkLatencies = Field(
        default_factory=LinkLatencies, description="latency of a cable; one value or one a class"
    )

    @property
    def routers(self) -> int:
        """Number of routers."""
        return 2 * self.rungs

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.routers

    @property
    def cables(self) -> int:
        """Number of cables: those of the ring, and the rungs."""
        return 3 * self.rungs

    def build(self) -> Machine:
        """Build it: one class of cables, those of the ring first."""
        every = np.arange(self.routers, dtype=np.int32)
        low, high = ends_of_rungs(self.rungs)
        classes, host = link_classes(self.bandwidth, self.latency)
        return Machine(
            kind="moebius-ladder",
            node_router=every,
            cable_tail=np.concatenate([every, low]),
            cable_head=np.concatenate([np.roll(every, -1), high]),
            cable_class=np.zeros(self.cables, dtype=np.int32),
            cable_count=np.ones(self.cables, dtype=np.int32),
            classes=classes,
            host=host,
            routers=self.routers,
            cores_per_node=self.cores_per_node,
        )
