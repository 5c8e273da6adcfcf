"""Machines of groups: arrangements of their global cables, and cables between and within groups.

An arrangement pairs the virtual global ports k = 0 .. g-2 of each of g groups; those of group i lead as follows:

* absolute: k < i goes to port i-1 of group k, the others to port i of group k+1;
* relative: k goes to port g-2-k of group (i+k+1) mod g;
* circulant: even k goes to port k+1 of group (i + k/2 + 1) mod g,
  odd k to port k-1 of group (i - (k-1)/2 - 1) mod g.

In a dragonfly of h global ports a router, the c-th of several cables between a group pair uses port numbers
c (g-1) + k at both ends, and port n is at router n div h of its group.

References
----------
Camarero, Vallejo, Beivide: Topological characterization of Hamming and dragonfly networks and its implications
on routing. ACM TACO 11(4), 2014.
Hastings et al.: Comparing global link arrangements for dragonfly networks. CLUSTER 2015.
Kaplan et al.: global link arrangements and network management on dragonfly. CCGrid 2017.
"""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Ints
from fabricstudy.core.model import ConfigError

from .base import NodesPerRouter, Topology


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


class GroupTopology(Topology):
    """Base class of machines of groups; a subclass defines `group_shape`, `cables` and `build`."""

    traits = frozenset({"groups"})

    nodes_per_router: NodesPerRouter
    arrangement: Arrangement = Field(
        "absolute", description="assignment of global ports to groups; circulant needs an odd number of groups"
    )

    @property
    def group_shape(self) -> tuple[int, int]:
        """Number of groups, and of routers per group."""
        raise NotImplementedError

    @property
    def routers(self) -> int:
        groups, group_routers = self.group_shape
        return groups * group_routers

    @property
    def nodes(self) -> int:
        return self.routers * self.nodes_per_router

    @property
    def group_nodes(self) -> int:
        return self.group_shape[1] * self.nodes_per_router

    def _check(self) -> None:
        groups, _ = self.group_shape
        if self.arrangement == "circulant" and groups % 2 == 0:
            problem = f"the circulant arrangement needs an odd number of groups (here {groups})"
            remedy = "change the number of groups, or use 'relative'"
            raise ConfigError(problem, remedy, ("arrangement",), self.arrangement, "invalid-machine")
