"""What a job requests from an allocation policy, and what it is granted."""

from dataclasses import dataclass

import numpy as np

from fabricstudy.core.arrays import Bools, Int32s, Integers
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
        """Bools of the free nodes, bool [nodes]; at least `wanted` are free."""
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
