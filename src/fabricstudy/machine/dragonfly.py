"""Dragonfly: fully connected groups of fully connected routers.

Router `group * a + index` is number `index` of its group; nodes are numbered by router. Each group
pair is joined by `links_per_group_pair` global cables; where they end is the *arrangement*, stated on virtual
global ports k = 0 .. g-2 of group i (g groups, k div h is the router within the group, h global ports a router):

* absolute: k < i goes to port i-1 of group k, the others to port i of group k+1;
* relative: k goes to port g-2-k of group (i+k+1) mod g;
* circulant: even k goes to port k+1 of group (i + k/2 + 1) mod g,
  odd k to port k-1 of group (i - (k-1)/2 - 1) mod g.

The c-th of several cables between a group pair uses port numbers c (g-1) + k at both ends.

References
----------
Kim, Dally, Scott, Abts: Technology-driven, highly-scalable dragonfly topology. ISCA 2008,
doi:10.1109/ISCA.2008.19.
Camarero, Vallejo, Beivide: Topological characterization of Hamming and dragonfly networks and its implications
on routing. ACM TACO 11(4), 2014.
Hastings et al.: Comparing global link arrangements for dragonfly networks. CLUSTER 2015.
Kaplan et al.: global link arrangements and network management on dragonfly. CCGrid 2017.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError, Whole

from .base import LATENCY, ClassBandwidths, ClassLatencies, NodesPerRouter, Topology, assemble_groups, link_classes
from .graph import Machine
from .requirements import MachineRequirements, halvings

Ints = npt.NDArray[np.int64]


def absolute(group: Ints, port: Ints, groups: int) -> tuple[Ints, Ints]:
    """Return group and port at the other end: ports in the order of group numbers."""
    below = port < group
    return np.where(below, port, port + 1), np.where(below, group - 1, group)


def relative(group: Ints, port: Ints, groups: int) -> tuple[Ints, Ints]:
    """Return group and port at the other end: ports in the order of the distance to the group."""
    return (group + port + 1) % groups, groups - 2 - port


def circulant(group: Ints, port: Ints, groups: int) -> tuple[Ints, Ints]:
    """Return group and port at the other end: neighbouring ports span the same distance up and down."""
    step = port // 2 + 1
    even = port % 2 == 0
    return np.where(even, group + step, group - step) % groups, np.where(even, port + 1, port - 1)


ARRANGEMENTS = {"absolute": absolute, "relative": relative, "circulant": circulant}

Arrangement = Literal["absolute", "relative", "circulant"]


def group_pairs(arrangement: Arrangement, groups: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return lower group and its port, higher group and its port, of each group pair; int64 [pairs] each."""
    group, port = np.divmod(np.arange(groups * (groups - 1)), max(groups - 1, 1))
    peer_group, peer_port = ARRANGEMENTS[arrangement](group, port, groups)
    once = group < peer_group
    return group[once], port[once], peer_group[once], peer_port[once]


def clique_cables(cliques: int, routers: int) -> Ints:
    """Return the router pairs of fully connected sets of `routers` consecutive routers, [cables, 2]."""
    pairs = np.stack(np.triu_indices(routers, k=1), axis=1)
    cables: Ints = (np.arange(cliques)[:, None, None] * routers + pairs).reshape(-1, 2)
    return cables


def global_cables(arrangement: Arrangement, groups: int, routers_per_group: int, links: int) -> Ints:
    """Return the router pairs of global cables, `links` per group pair and lower group first, [cables, 2].

    Routers have consecutive ports, equal numbers of them up to the last router that has any.
    """
    low, low_port, high, high_port = group_pairs(arrangement, groups)
    ports_per_router = -(-links * (groups - 1) // routers_per_group)
    copy = np.arange(links)[:, None] * (groups - 1)

    def router(group: Ints, port: Ints) -> Ints:
        return (group * routers_per_group + (copy + port) // ports_per_router).reshape(-1)

    return np.stack([router(low, low_port), router(high, high_port)], axis=1)


@register
class DragonflyConfig(Topology):
    """Dragonfly: fully connected groups of fully connected routers (Kim et al., ISCA 2008)."""

    traits: ClassVar[frozenset[str]] = frozenset({"groups"})

    kind: Literal["dragonfly"] = "dragonfly"
    groups: Whole = Field(ge=2, le=100_000, description="groups (g)")
    routers_per_group: Whole = Field(ge=1, le=100_000, description="routers per group (a)")
    nodes_per_router: NodesPerRouter
    arrangement: Arrangement = Field(
        "absolute", description="assignment of global ports to groups; circulant needs an odd number of groups"
    )
    links_per_group_pair: Whole = Field(1, ge=1, le=10_000, description="parallel cables between two groups")
    bandwidth: ClassBandwidths = Field(description="bandwidth of a cable in one direction; one value or one per class")
    latency: ClassLatencies = Field(default_factory=ClassLatencies, description=LATENCY)

    @classmethod
    def configurations(cls, wanted: MachineRequirements) -> Iterator[dict[str, Any]]:
        # All free ports are global, or a half, a quarter or an eighth of them.
        for in_group in range(1, wanted.radix):
            for groups in range(2, min(wanted.max_nodes, wanted.most_routers) // in_group + 1):
                for nodes in wanted.shares(groups * in_group, wanted.radix - in_group):
                    global_ports = wanted.radix - (in_group - 1) - nodes
                    for links in halvings(global_ports * in_group // (groups - 1)):
                        yield {
                            "groups": groups, "routers_per_group": in_group, "nodes_per_router": nodes,
                            "links_per_group_pair": links,
                        }  # fmt: skip

    @property
    def routers(self) -> int:
        return self.groups * self.routers_per_group

    @property
    def nodes(self) -> int:
        return self.routers * self.nodes_per_router

    @property
    def group_nodes(self) -> int:
        return self.routers_per_group * self.nodes_per_router

    @property
    def cables(self) -> int:
        local = self.groups * self.routers_per_group * (self.routers_per_group - 1) // 2
        return local + self.groups * (self.groups - 1) // 2 * self.links_per_group_pair

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
        local = clique_cables(self.groups, self.routers_per_group)
        across = global_cables(self.arrangement, self.groups, self.routers_per_group, self.links_per_group_pair)
        links = link_classes(self.bandwidth, self.latency)
        return assemble_groups(self, links, (local, across), self.routers_per_group)
