"""Dragonfly."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ..base import ConfigError, Whole
from .base import ClassBandwidths, ClassLatencies, NodesPerRouter, Topology


class DragonflyConfig(Topology):
    """Dragonfly: fully connected groups of fully connected routers (Kim et al., ISCA 2008)."""

    traits: ClassVar[frozenset[str]] = frozenset({"groups"})

    kind: Literal["dragonfly"] = "dragonfly"
    groups: Whole = Field(ge=2, le=100_000, description="groups (g)")
    routers_per_group: Whole = Field(ge=1, le=100_000, description="routers in a group (a)")
    nodes_per_router: NodesPerRouter
    arrangement: Literal["absolute", "relative", "circulant"] = Field(
        "absolute", description="which port of a group leads to which group; circulant needs an odd number of groups"
    )
    links_per_group_pair: Whole = Field(1, ge=1, le=10_000, description="parallel cables between two groups")
    bandwidth: ClassBandwidths = Field(description="bandwidth of a cable in one direction; one value or one a class")
    latency: ClassLatencies = Field(
        default_factory=ClassLatencies, description="latency of a cable; one value or one a class"
    )

    @property
    def routers(self) -> int:
        """Number of routers."""
        return self.groups * self.routers_per_group

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.routers * self.nodes_per_router

    @property
    def group_nodes(self) -> int:
        """Number of nodes of a group."""
        return self.routers_per_group * self.nodes_per_router

    @property
    def cables(self) -> int:
        """Number of cables between routers, local and global."""
        local = self.groups * self.routers_per_group * (self.routers_per_group - 1) // 2
        return local + self.groups * (self.groups - 1) // 2 * self.links_per_group_pair

    @property
    def global_ports_per_router(self) -> int:
        """Global ports a router needs at most (h in the literature)."""
        return -(-self.links_per_group_pair * (self.groups - 1) // self.routers_per_group)

    def _check(self) -> None:
        if self.arrangement == "circulant" and (self.groups % 2 == 0 or self.global_ports_per_router % 2):
            raise ConfigError(
                "the circulant arrangement pairs the global ports of a router, so it needs an odd number of groups "
                f"and an even number of global ports per router (here {self.groups} groups and "
                f"{self.global_ports_per_router} ports)",
                "change groups or routers_per_group, or take 'relative'",
                ("arrangement",),
                self.arrangement,
            )
