"""IBM PERCS (Power 775): supernodes of drawers of hub chips, fully connected on two levels.

Hub `(supernode * drawers + drawer) * hubs + position` has `nodes_per_router` nodes (a quad-chip module of 32 cores),
and links to all hubs of its supernode: L-local links within the drawer, L-remote links to the other drawers. As
published, a supernode has 4 drawers of 8 hubs, so a hub has 7 L-local, 24 L-remote and up to 16 D links, which lead to
other supernodes; a supernode has 32 hubs and 1,024 cores, and a machine up to 512 supernodes.

Each two supernodes are joined by `links_per_supernode_pair` D links, which hubs have as the routers of a `dragonfly`
have its global cables. The arrangement of D links is not published.

References
----------
Arimilli et al.: The PERCS high-performance interconnect. HOTI 2010, doi:10.1109/HOTI.2010.16.
"""

from math import comb

import numpy as np
from pydantic import Field

from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.core.quantities import Bandwidth, Latency

from .arrangement import GroupTopology, clique_cables, global_cables
from .base import LATENCY_DESCRIPTION, EachClass, NodesPerRouter, assemble_groups, default_latency, link_classes
from .graph import Machine

D_PORTS = 16
"""D links of a hub."""


class PercsBandwidths(EachClass):
    """Bandwidth per direction of one link of each class of a PERCS machine."""

    local_Bps: Bandwidth = Field(alias="local", description="L-local: between hubs of a drawer")
    remote_Bps: Bandwidth = Field(alias="remote", description="L-remote: between drawers of a supernode")
    global_Bps: Bandwidth = Field(alias="global", description="D: between supernodes")
    host_Bps: Bandwidth = Field(alias="host", description="between a node and its hub")


class PercsLatencies(EachClass):
    """Propagation delay of one link of each class of a PERCS machine."""

    local_ns: Latency = default_latency("local", "between hubs of a drawer")
    remote_ns: Latency = default_latency("remote", "between drawers of a supernode")
    global_ns: Latency = default_latency("global", "between supernodes")
    host_ns: Latency = default_latency("host", "between a node and its hub")


class PercsConfig(GroupTopology, kind="percs"):
    """IBM PERCS (Power 775): fully connected supernodes of fully connected hubs (Arimilli et al., HOTI 2010)."""

    supernodes: Whole = Field(ge=1, le=10_000, description="supernodes; 512 is the largest PERCS")
    drawers_per_supernode: Whole = Field(4, ge=1, le=100, description="drawers per supernode")
    hubs_per_drawer: Whole = Field(8, ge=1, le=100, description="hub chips, which are the routers, per drawer")
    nodes_per_router: NodesPerRouter = 1
    links_per_supernode_pair: Whole = Field(
        1, ge=1, le=10_000, description="parallel D links between two supernodes; at most 16 per hub"
    )
    bandwidth: PercsBandwidths = Field(description="bandwidth of a link in one direction; one value or one per class")
    latency: PercsLatencies = Field(default_factory=PercsLatencies, description=LATENCY_DESCRIPTION)

    @property
    def hubs_per_supernode(self) -> int:
        """Routers of a group."""
        return self.drawers_per_supernode * self.hubs_per_drawer

    @property
    def group_shape(self) -> tuple[int, int]:
        return self.supernodes, self.hubs_per_supernode

    @property
    def cables(self) -> int:
        local = self.supernodes * comb(self.hubs_per_supernode, 2)
        return local + comb(self.supernodes, 2) * self.links_per_supernode_pair

    @property
    def d_links_per_hub(self) -> int:
        """Maximum number of D links of a hub."""
        return -(-self.links_per_supernode_pair * (self.supernodes - 1) // self.hubs_per_supernode)

    def _check(self) -> None:
        if self.d_links_per_hub > D_PORTS:
            problem = f"a hub has {self.d_links_per_hub} D links and ports for {D_PORTS}"
            remedy, links = "use fewer supernodes or fewer links", self.links_per_supernode_pair
            raise ConfigError(problem, remedy, ("links_per_supernode_pair",), links, "invalid-machine")
        super()._check()

    def build(self) -> Machine:
        """Build the machine with the link classes "local", "remote" and "global", in this order."""
        hubs = clique_cables(self.supernodes, self.hubs_per_supernode)
        drawer = hubs // self.hubs_per_drawer
        within = np.equal(*drawer.T)
        across = global_cables(
            self.arrangement, self.supernodes, self.hubs_per_supernode, self.links_per_supernode_pair
        )
        cables = (hubs[within], hubs[~within], across)
        return assemble_groups(self, link_classes(self.bandwidth, self.latency), cables, self.hubs_per_supernode)
