"""Which nodes a job gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from fabricstudy.core.kinds import Family, Kind
from fabricstudy.machine.base import Topology

if TYPE_CHECKING:
    from .request import Grant, Request


class Allocation(Kind):
    """What every allocation policy has."""

    FAMILY: ClassVar[Family] = Family("allocation")

    # What a machine must have for it: see `traits` of the machines.
    needs: ClassVar[str | None] = None

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        """Nodes that no other job can have once a job of `nodes` nodes is placed, at the least.

        Raises ConfigError, with the path below the allocation, if the policy cannot place the job on the empty machine.
        """
        return nodes

    def node_count(self) -> int | None:
        """Return the job's nodes if the policy says how many they are; otherwise the job does."""
        return None

    def planned_nodes(self, machine: Topology, holder: Mapping[int, int] | None, nodes: int) -> Sequence[int] | None:
        """Return the nodes of a job of `nodes` nodes if they are known when a study is planned, else None.

        `holder` gives the job of each node that is taken; it is None if the nodes of an earlier job are not known.

        Raises ConfigError, with the path below the allocation, if the job cannot have them.
        """
        return None

    def allocate(self, request: Request) -> Grant:
        """Return nodes, of which at least as many are free as the job needs.

        Raises WorkloadError if the policy cannot keep its rule.
        """
        raise NotImplementedError
