"""Machines with the same number of nodes on each router, and single cables of one class."""

from pydantic import Field

from fabricstudy.core.arrays import Ints

from .base import LATENCY_DESCRIPTION, LinkBandwidths, LinkLatencies, NodesPerRouter, Topology, link_classes
from .graph import Machine


class UniformTopology(Topology):
    """Base class of such machines; a subclass defines `routers` and `pairs`."""

    nodes_per_router: NodesPerRouter
    bandwidth: LinkBandwidths = Field(description="bandwidth of a cable in one direction; one value or one per class")
    latency: LinkLatencies = Field(default_factory=LinkLatencies, description=LATENCY_DESCRIPTION)

    def pairs(self) -> tuple[Ints, Ints]:
        """Return the routers at both ends of each cable."""
        raise NotImplementedError

    @property
    def nodes(self) -> int:
        return self.routers * self.nodes_per_router

    def build(self) -> Machine:
        """Build the machine with the link class "links"."""
        return self.assemble(self.pairs(), 0, 1, link_classes(self.bandwidth, self.latency))
