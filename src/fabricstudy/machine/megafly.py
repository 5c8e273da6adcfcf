"""Megafly, or Dragonfly+: fully connected groups of leaves and spines.

Routers of a group have consecutive numbers, its leaves first. Each pair of groups is joined by `links_per_group_pair`
global cables. Group i numbers the other groups 0 .. g-2, in order; the c-th cable to number k uses global port
c (g-1) + k. Each spine has h consecutive ports; with as many cables per group pair as spines, each spine has one to
each group, as in Dragonfly+.

References
----------
Shpiner, Haramaty, Eliad, Zdornov, Gafni, Zahavi: Dragonfly+: low cost topology for scaling datacenters.
HiPINEB 2017, doi:10.1109/HiPINEB.2017.11.
Flajslik, Borch, Parker: Megafly: a topology for exascale systems. ISC High Performance 2018,
doi:10.1007/978-3-319-92040-5_15.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from pydantic import Field

from fabricstudy.core.model import Whole

from .arrangement import global_cables
from .base import LATENCY_DESCRIPTION, ClassBandwidths, ClassLatencies, Topology, assemble_groups, link_classes
from .graph import Machine
from .requirements import MachineRequirements, halvings


class MegaflyConfig(Topology, kind="megafly"):
    """Megafly, or Dragonfly+: fully connected groups of leaves and spines (Shpiner et al. 2017, Flajslik et al. 2018).

    Each leaf of a group is joined to each spine of the group; nodes attach to leaves, global cables to spines.
    """

    traits = frozenset({"groups"})

    groups: Whole = Field(ge=1, le=100_000, description="groups (g)")
    leaves_per_group: Whole = Field(ge=1, le=10_000, description="leaves per group")
    spines_per_group: Whole = Field(ge=1, le=10_000, description="spines per group")
    nodes_per_leaf: Whole = Field(ge=1, le=10_000, description="nodes per leaf (p)")
    links_per_group_pair: Whole = Field(1, ge=1, le=10_000, description="parallel cables between two groups")
    links_per_local_pair: Whole = Field(
        1, ge=1, le=10_000, description="parallel cables between a leaf and a spine of a group"
    )
    bandwidth: ClassBandwidths = Field(description="bandwidth of a cable in one direction; one value or one per class")
    latency: ClassLatencies = Field(default_factory=ClassLatencies, description=LATENCY_DESCRIPTION)

    @classmethod
    def configurations(cls, wanted: MachineRequirements) -> Iterator[dict[str, Any]]:
        # As many spines as leaves, two or more, since one of each only lengthens paths; all free ports are global, or a
        # half, a quarter or an eighth of them.
        for leaves, local in product(range(2, wanted.radix), (1, 2, 4)):
            free = wanted.radix - leaves * local
            for groups in range(2, min(wanted.max_nodes, wanted.most_routers // 2) // leaves + 1):
                for nodes in wanted.shares(groups * leaves, free):
                    for links in halvings(free * leaves // (groups - 1)):
                        yield {
                            "groups": groups, "leaves_per_group": leaves, "spines_per_group": leaves,
                            "nodes_per_leaf": nodes, "links_per_group_pair": links,
                            **({"links_per_local_pair": local} if local > 1 else {}),
                        }  # fmt: skip

    @property
    def routers_per_group(self) -> int:
        """Leaves and spines per group."""
        return self.leaves_per_group + self.spines_per_group

    @property
    def routers(self) -> int:
        return self.groups * self.routers_per_group

    @property
    def nodes(self) -> int:
        return self.groups * self.group_nodes

    @property
    def group_nodes(self) -> int:
        return self.leaves_per_group * self.nodes_per_leaf

    @property
    def cables(self) -> int:
        local = self.groups * self.leaves_per_group * self.spines_per_group * self.links_per_local_pair
        return local + self.groups * (self.groups - 1) // 2 * self.links_per_group_pair

    @property
    def typical_hops(self) -> float:
        """Mean hops between leaves, equal ones included: 2 within a group, 3 between groups."""
        return 3 - 1 / self.groups - 2 / (self.groups * self.leaves_per_group)

    def build(self) -> Machine:
        """Build a Megafly with the link classes "local" and "global", local rows first."""
        first = np.arange(self.groups)[:, None] * self.routers_per_group
        leaves = first + np.arange(self.leaves_per_group)
        spines = first + self.leaves_per_group + np.arange(self.spines_per_group)
        tail, head = np.repeat(leaves, self.spines_per_group, axis=1), np.tile(spines, self.leaves_per_group)
        local = np.repeat(np.stack([tail.ravel(), head.ravel()], axis=1), self.links_per_local_pair, axis=0)
        node_router = np.repeat(leaves, self.nodes_per_leaf).astype(np.int32)
        # Spines are joined as the routers of a dragonfly of the absolute arrangement.
        spine_of_all = global_cables("absolute", self.groups, self.spines_per_group, self.links_per_group_pair)
        cables = (local, spines.reshape(-1)[spine_of_all])
        links = link_classes(self.bandwidth, self.latency)
        return assemble_groups(self, links, cables, self.routers_per_group, node_router=node_router)
