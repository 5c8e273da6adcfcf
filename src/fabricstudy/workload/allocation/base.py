"""The base class of allocation policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from fabricstudy.core.kinds import Family, Kind
from fabricstudy.machine.base import Topology

if TYPE_CHECKING:
    from .request import Grant, Request


class Allocation(Kind):
    """An allocation policy."""

    FAMILY: ClassVar[Family] = Family("allocation")

    # The trait that a machine must have; see `traits` of the machines.
    needs: ClassVar[str | None] = None

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        """Return a lower bound of the nodes reserved by a job of `nodes` nodes.

        Raises ConfigError, with the path below the allocation, if the policy cannot place the job on the empty machine.
        """
        return nodes

    def node_count(self) -> int | None:
        """Return the job's nodes if the policy defines their number, else None."""
        return None

    def planned_nodes(self, machine: Topology, holder: Mapping[int, int] | None, nodes: int) -> Sequence[int] | None:
        """Return the nodes of a job of `nodes` nodes if they are known when a study is planned, else None.

        `holder` maps each occupied node to its job; it is None if the nodes of an earlier job are unknown.

        Raises ConfigError, with the path below the allocation, if the job cannot have them.
        """
        return None

    def allocate(self, request: Request) -> Grant:
        """Allocate nodes; at least as many are free as the job needs.

        Raises WorkloadError if the policy's rule cannot be met.
        """
        raise NotImplementedError
