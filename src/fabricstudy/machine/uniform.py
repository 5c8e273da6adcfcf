"""Machines whose routers are all alike: equally many nodes on each, and single cables of one class between them."""

import numpy as np
import numpy.typing as npt
from pydantic import Field

from .base import LATENCY, LinkBandwidths, LinkLatencies, NodesPerRouter, Topology, link_classes
from .graph import Machine

Ints = npt.NDArray[np.int64]


class UniformTopology(Topology):
    """What such a machine has; a subclass says how many routers there are, and which are joined."""

    nodes_per_router: NodesPerRouter
    bandwidth: LinkBandwidths = Field(description="bandwidth of a cable in one direction; one value or one a class")
    latency: LinkLatencies = Field(default_factory=LinkLatencies, description=LATENCY)

    def pairs(self) -> tuple[Ints, Ints]:
        """Return the routers at both ends of each cable."""
        raise NotImplementedError

    @property
    def nodes(self) -> int:
        return self.routers * self.nodes_per_router

    def build(self) -> Machine:
        """Build the machine: one class, "links"."""
        ends = self.pairs()
        return self.assemble(
            ends, np.zeros_like(ends[0]), np.ones_like(ends[0]), link_classes(self.bandwidth, self.latency)
        )
