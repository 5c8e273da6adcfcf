"""Machines of groups that an arrangement of global cables joins."""

from pydantic import Field

from fabricstudy.core.model import ConfigError

from .arrangement import Arrangement
from .base import NodesPerRouter, Topology


class GroupTopology(Topology):
    """Base class of such machines; a subclass defines `group_shape`, `cables` and `build`."""

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
