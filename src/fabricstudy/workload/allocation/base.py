"""Which nodes a job gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from fabricstudy.kinds import Family, Kind
from fabricstudy.machine.base import Topology

if TYPE_CHECKING:
    from .request import Grant, Request


class Allocation(Kind):
    """What every allocation policy has."""

    FAMILY: ClassVar[Family] = Family("allocation", "fabricstudy.workload.allocation")

    # What a machine must have for it: see `traits` of the machines.
    needs: ClassVar[str | None] = None

    def reserved_nodes(self, machine: Topology, nodes: int) -> int:
        """Nodes that no other job can have once a job of `nodes` nodes is placed, at the least.

        Raises
        ------
        ConfigError
            With the path below the job, if the policy cannot place it on the empty machine.
        """
        return nodes

    def allocate(self, request: Request) -> Grant:
        """Give nodes, of which at least as many are free as the job needs.

        Raises
        ------
        WorkloadError
            If the policy cannot keep its rule.
        """
        raise NotImplementedError
