"""Cray XC (Cascade): a dragonfly whose groups are grids of Aries routers, fully connected along rows and columns.

A row is a chassis of blades with a router each (*green* links of the backplane), a column has the routers of a slot in
all chassis of a group (*black* links). Router `(group * chassis + row) * blades + slot` has `nodes_per_router` nodes.

Each two groups are joined by optical (*blue*) cables. A cable has four links: two between the even, two between the odd
routers of a pair of adjacent blades at each end. A pair of blades has five sockets, so a router has at most ten blue
links. With i the virtual port of a group pair under the arrangement (see `arrangement`) and L cables per group pair,
cable c is number n = i L + c of its group, in the chassis n mod C and there at the pair of blades floor(n / C) mod B/2
(C chassis of B blades). This, with the arrangement *absolute*, is the cabling of Edison (15 groups, L = 6) and Theta
(9 groups, L = 12), as their link lists have it (directory scripts/gen-cray-topo of CODES).

References
----------
Faanes et al.: Cray Cascade: a scalable HPC system based on a dragonfly network. SC 2012, doi:10.1109/SC.2012.39.
Alverson, Froese, Kaplan, Roweth: Cray XC series network. White paper WP-Aries01-1112, Cray 2012.
"""

from math import comb

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Ints
from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.core.quantities import Bandwidth, Latency

from .arrangement import GroupTopology, clique_cables, group_pairs
from .base import LATENCY_DESCRIPTION, EachClass, NodesPerRouter, assemble_groups, default_latency, link_classes
from .dimension import Dimension
from .graph import Machine
from .grid import coordinates

SOCKETS = 5
"""Optical cables of a pair of blades."""

CABLE_LINKS = 2
"""Links between two routers that an optical cable joins."""


class RowBandwidths(EachClass):
    """Bandwidth per direction of one link of each class of a Cray XC."""

    row_Bps: Bandwidth = Field(alias="row", description="between routers of a chassis")
    column_Bps: Bandwidth = Field(alias="column", description="between chassis of a group")
    global_Bps: Bandwidth = Field(alias="global", description="between groups")
    host_Bps: Bandwidth = Field(alias="host", description="between a node and its router")


class RowLatencies(EachClass):
    """Propagation delay of one link of each class of a Cray XC."""

    row_ns: Latency = default_latency("row", "between routers of a chassis")
    column_ns: Latency = default_latency("column", "between chassis of a group")
    global_ns: Latency = default_latency("global", "between groups")
    host_ns: Latency = default_latency("host", "between a node and its router")


class AriesConfig(GroupTopology, kind="aries"):
    """Cray XC (Cascade): a dragonfly of groups with fully connected rows and columns (Faanes et al., SC 2012)."""

    groups: Whole = Field(ge=1, le=10_000, description="groups; 241 is the largest XC")
    chassis_per_group: Whole = Field(6, ge=1, le=1000, description="chassis, or rows, per group")
    blades_per_chassis: Whole = Field(
        16, ge=2, le=1000, description="blades, with a router each, per chassis; an even number"
    )
    nodes_per_router: NodesPerRouter = 4
    links_per_column_pair: Whole = Field(
        3, ge=1, le=100, description="parallel links between two routers of a column; a row has one"
    )
    cables_per_group_pair: Whole = Field(
        1, ge=1, le=10_000, description="optical cables, of four links each, between two groups"
    )
    bandwidth: RowBandwidths = Field(description="bandwidth of a link in one direction; one value or one per class")
    latency: RowLatencies = Field(default_factory=RowLatencies, description=LATENCY_DESCRIPTION)

    @property
    def routers_per_group(self) -> int:
        return self.chassis_per_group * self.blades_per_chassis

    @property
    def group_shape(self) -> tuple[int, int]:
        return self.groups, self.routers_per_group

    @property
    def cables(self) -> int:
        chassis, blades = self.chassis_per_group, self.blades_per_chassis
        columns = self.links_per_column_pair * (chassis - 1)
        local = self.groups * chassis * blades * (blades - 1 + columns) // 2
        return local + 2 * CABLE_LINKS * comb(self.groups, 2) * self.cables_per_group_pair

    @property
    def typical_hops(self) -> float:
        """Approximate mean hops between routers, equal ones included, by the best of the links between two groups.

        The two routers of each link are taken as random. Parallel links and the cliques of a group lead to few further
        routers, so the estimate for random graphs is too low.
        """
        chassis, blades = self.chassis_per_group, self.blades_per_chassis
        local = np.array([1, chassis + blades - 2, (chassis - 1) * (blades - 1)]) / (chassis * blades)
        both = np.convolve(local, local)  # probabilities of 0 to 4 hops from a router to a link and from it to another
        farther = 1 - np.cumsum(both)[:-1]
        within, between = local @ np.arange(3), 1 + np.sum(farther ** (CABLE_LINKS * self.cables_per_group_pair))
        return float((within + (self.groups - 1) * between) / self.groups)

    def _check(self) -> None:
        if self.blades_per_chassis % 2:
            problem = "an optical cable leads to a pair of blades, so a chassis needs an even number of them"
            raise ConfigError(
                problem, "use an even number", ("blades_per_chassis",), self.blades_per_chassis, "invalid-machine"
            )
        sockets = SOCKETS * self.routers_per_group // 2
        wanted = self.cables_per_group_pair * (self.groups - 1)
        if wanted > sockets:
            problem = f"a group has {wanted} optical cables and sockets for {sockets}, {SOCKETS} per pair of blades"
            remedy = "use fewer groups or fewer cables"
            raise ConfigError(
                problem, remedy, ("cables_per_group_pair",), self.cables_per_group_pair, "invalid-machine"
            )
        super()._check()

    def build(self) -> Machine:
        """Build the machine with the link classes "row", "column" and "global", in this order.

        A group alone is a HyperX grid with the coordinates slot and row.
        """
        chassis, blades = self.chassis_per_group, self.blades_per_chassis
        rows = clique_cables(self.groups * chassis, blades)
        slots = np.arange(self.routers).reshape(self.groups, chassis, blades).transpose(0, 2, 1).reshape(-1)
        columns = np.repeat(slots[clique_cables(self.groups * blades, chassis)], self.links_per_column_pair, axis=0)
        cables = (rows, columns, self.global_links())
        grid = {}
        if self.groups == 1 and chassis > 1:
            dimensions = Dimension(blades, gap=1), Dimension(chassis, gap=1)
            grid = {"coordinates": coordinates((blades, chassis)), "dimensions": dimensions}
        return assemble_groups(self, link_classes(self.bandwidth, self.latency), cables, self.routers_per_group, **grid)

    def global_links(self) -> Ints:
        """Return the router pairs of global links, lower group first, [links, 2]."""
        low, low_port, high, high_port = group_pairs(self.arrangement, self.groups)
        copy, router = np.arange(self.cables_per_group_pair)[:, None], np.arange(2).repeat(CABLE_LINKS)[:, None, None]

        def routers(group: Ints, port: Ints) -> Ints:
            position, row = np.divmod(port * self.cables_per_group_pair + copy, self.chassis_per_group)
            slot = 2 * (position % (self.blades_per_chassis // 2)) + router
            return ((group * self.chassis_per_group + row) * self.blades_per_chassis + slot).reshape(-1)

        return np.stack([routers(low, low_port), routers(high, high_port)], axis=1)
