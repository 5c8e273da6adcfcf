"""The base class of allocation policies, what a job requests from one, and what it is granted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fabricstudy.core.arrays import Bools, Int32s, Integers
from fabricstudy.core.kinds import Kind
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

NO_JOB = -1


@dataclass(frozen=True, eq=False)
class Request:
    """A job's request for nodes.

    `holder` (int32 [nodes]) is the position of the job that holds each node, or `NO_JOB`; `wanted` the number of nodes
    needed, at least 1. `rng` is the stream of this job; `common_rng` yields the same numbers for each job of a point.
    """

    machine: Machine
    holder: Int32s
    wanted: int
    rng: np.random.Generator
    common_rng: np.random.Generator

    @property
    def free(self) -> Bools:
        """Mask of the free nodes, bool [nodes]; at least `wanted` are free."""
        return np.equal(self.holder, NO_JOB)


@dataclass(frozen=True, eq=False)
class Grant:
    """Nodes of a job in the order in which ranks fill them, and all nodes it reserves (default: the same)."""

    nodes: Integers
    reserved: Integers | None = None

    @property
    def all_reserved(self) -> Integers:
        """The nodes that no other job can have."""
        return self.nodes if self.reserved is None else self.reserved


class Allocation(Kind, family="allocation"):
    """An allocation policy."""

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

    @property
    def predicted_cpu_s(self) -> float:
        """Predicted processor time for all jobs of a point."""
        return 0.0

    def remark(self, nodes: int, machine_nodes: int) -> str:
        """Return the warning of `plan` if all jobs with this allocation have this many nodes in total; "" for none."""
        return ""

    def allocate(self, request: Request) -> Grant:
        """Allocate nodes; at least as many are free as the job needs.

        Raises WorkloadError if the policy's rule cannot be met.
        """
        raise NotImplementedError
