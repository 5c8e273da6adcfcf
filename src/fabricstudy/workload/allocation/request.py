"""What a job asks for, and what it gets."""

from dataclasses import dataclass

import numpy as np

from fabricstudy.machine.graph import Machine

from ..messages import Indices, IntArray, Mask

NO_JOB = -1


@dataclass(frozen=True, eq=False)
class Request:
    """A job's wish for nodes."""

    machine: Machine
    """The machine."""
    holder: IntArray
    """Position of the job that holds each node, or `NO_JOB`; int32 [nodes]."""
    wanted: int
    """Nodes the job needs, at least 1."""
    rng: np.random.Generator
    common_rng: np.random.Generator
    """Streams of this job, and of all jobs together: the latter gives the same numbers to each."""

    @property
    def free(self) -> Mask:
        """Whether each node is free, bool [nodes]; at least `wanted` are."""
        return np.equal(self.holder, NO_JOB)


@dataclass(frozen=True, eq=False)
class Grant:
    """Nodes of a job in the order in which ranks fill them, and all nodes it keeps from other jobs.

    The latter are left out where they are the same.
    """

    nodes: Indices
    reserved: Indices | None = None

    @property
    def all_reserved(self) -> Indices:
        """The nodes that no other job can have."""
        return self.nodes if self.reserved is None else self.reserved
