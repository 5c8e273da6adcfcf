"""Dragonfly: fully connected groups of fully connected routers.

Router `group * a + index` is number `index` of its group; nodes are numbered by router. Each two routers of a group are
joined by `links_per_local_pair` cables, each group pair by `links_per_group_pair` global ones; where these end is the
*arrangement* (see `arrangement`).

References
----------
Kim, Dally, Scott, Abts: Technology-driven, highly-scalable dragonfly topology. ISCA 2008,
doi:10.1109/ISCA.2008.19.
"""

from collections.abc import Iterator
from itertools import product
from math import comb
from typing import Any

import numpy as np
from pydantic import Field

from fabricstudy.core.model import ConfigError, Whole

from .arrangement import GroupTopology, clique_cables, global_cables
from .base import LATENCY_DESCRIPTION, ClassBandwidths, ClassLatencies, assemble_groups, link_classes
from .graph import Machine
from .requirements import MachineRequirements, halvings


class DragonflyConfig(GroupTopology, kind="dragonfly"):
    """Dragonfly: fully connected groups of fully connected routers (Kim et al., ISCA 2008)."""

    groups: Whole = Field(ge=1, le=100_000, description="groups (g)")
    routers_per_group: Whole = Field(ge=1, le=100_000, description="routers per group (a)")
    links_per_group_pair: Whole = Field(1, ge=1, le=10_000, description="parallel cables between two groups")
    links_per_local_pair: Whole = Field(
        1, ge=1, le=10_000, description="parallel cables between two routers of a group"
    )
    bandwidth: ClassBandwidths = Field(description="bandwidth of a cable in one direction; one value or one per class")
    latency: ClassLatencies = Field(default_factory=ClassLatencies, description=LATENCY_DESCRIPTION)

    @classmethod
    def configurations(cls, wanted: MachineRequirements) -> Iterator[dict[str, Any]]:
        # All free ports are global, or a half, a quarter or an eighth of them. Groups of one router form a complete
        # graph, a HyperX of one dimension.
        for in_group, local in product(range(2, wanted.radix), (1, 2)):
            free = wanted.radix - (in_group - 1) * local
            for groups in range(2, min(wanted.max_nodes, wanted.most_routers) // in_group + 1):
                for nodes in wanted.shares(groups * in_group, free - 1):
                    for links in halvings((free - nodes) * in_group // (groups - 1)):
                        yield {
                            "groups": groups, "routers_per_group": in_group, "nodes_per_router": nodes,
                            "links_per_group_pair": links,
                            **({"links_per_local_pair": local} if local > 1 else {}),
                        }  # fmt: skip

    @property
    def group_shape(self) -> tuple[int, int]:
        return self.groups, self.routers_per_group

    @property
    def cables(self) -> int:
        local = self.groups * comb(self.routers_per_group, 2) * self.links_per_local_pair
        return local + comb(self.groups, 2) * self.links_per_group_pair

    @property
    def global_ports_per_router(self) -> int:
        """Maximum number of global ports of a router (h in the literature)."""
        return -(-self.links_per_group_pair * (self.groups - 1) // self.routers_per_group)

    def _check(self) -> None:
        if self.arrangement == "circulant" and (self.groups % 2 == 0 or self.global_ports_per_router % 2):
            problem = (
                "the circulant arrangement pairs the global ports of a router, so it needs an odd number of groups "
                f"and an even number of global ports per router (here {self.groups} groups and "
                f"{self.global_ports_per_router} ports)"
            )
            remedy = "change groups or routers_per_group, or use 'relative'"
            raise ConfigError(problem, remedy, ("arrangement",), self.arrangement, "invalid-machine")

    def build(self) -> Machine:
        """Build a dragonfly with the link classes "local" and "global", local rows first."""
        local = np.repeat(clique_cables(self.groups, self.routers_per_group), self.links_per_local_pair, axis=0)
        across = global_cables(self.arrangement, self.groups, self.routers_per_group, self.links_per_group_pair)
        links = link_classes(self.bandwidth, self.latency)
        return assemble_groups(self, links, (local, across), self.routers_per_group)
