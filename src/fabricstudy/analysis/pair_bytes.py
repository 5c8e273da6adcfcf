"""Bytes between nodes, the same on every machine, and a lower bound of their time under any routing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fabricstudy.core.arrays import Bools, Floats, Integers, Ints
from fabricstudy.core.model import ConfigError
from fabricstudy.core.quantities import NS_PER_S
from fabricstudy.machine.distances import hop_distances
from fabricstudy.machine.graph import Machine
from fabricstudy.structure.bound import cuts_ns, hops_ns
from fabricstudy.workload.job import Job
from fabricstudy.workload.messages import WorkloadError
from fabricstudy.workload.streams import Purpose, stream

MAX_MESSAGES = 50_000_000
"""Messages of a job, in 4 GB of memory: an all-to-all of 7,000 nodes."""


class PairBytes:
    """Bytes between nodes below `nodes`, from arrays [messages].

    Examples
    --------
    >>> traffic = PairBytes(np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([1.0, 2.0, 3.0]), nodes=4)
    >>> traffic.busiest_node_bytes, [part.tolist() for part in traffic.between(np.array([0, 0, 1, 1]))]
    (5.0, [[0], [1], [5.0]])
    """

    def __init__(self, source: Ints, destination: Ints, size_bytes: Floats, nodes: int) -> None:
        from scipy.sparse import coo_array, csr_array

        self._of_nodes = csr_array(coo_array((size_bytes, (source, destination)), shape=(nodes, nodes)))
        self._of_nodes.setdiag(0.0)
        self.busiest_node_bytes = max(float(self._of_nodes.sum(axis=way).max()) for way in (0, 1))
        self._between: dict[bytes, tuple[Ints, Ints, Floats]] = {}

    @classmethod
    def of_jobs(cls, jobs: Sequence[Job], nodes: int, cores_per_node: int) -> PairBytes:
        """Return the traffic of jobs on the first nodes, with linear mappings and without background jobs.

        Raises WorkloadError if a pattern cannot have so many ranks, or has too many messages.
        """
        none = np.empty(0, dtype=np.int64)
        parts, first = [(none, none, np.empty(0))], 0
        for index, job in enumerate(jobs):
            ranks, pattern = job.rank_count(nodes, cores_per_node), job.pattern
            if not job.background and not pattern.is_idle:
                try:
                    pattern.check_ranks(ranks)
                except ConfigError as error:
                    raise WorkloadError(f"job {index}: {error}") from None
                if (messages := pattern.traffic_messages(ranks)) > MAX_MESSAGES:
                    problem = f"{messages:.3g} messages of {ranks:,} ranks, and at most {MAX_MESSAGES:.3g} are added up"
                    remedy = "take jobs with fewer partners, such as a stencil"
                    raise WorkloadError(f"job {index}: {problem}; {remedy}", "out-of-range")
                sends = pattern.sends(ranks, stream(0, index, Purpose.PATTERN))
                size = sends.size_bytes
                if size is None:
                    size = np.full(len(sends.source), int(getattr(pattern, "message_bytes", 0)))
                source, destination = (
                    first + end.astype(np.int64) * job.node_count(nodes) // ranks
                    for end in (sends.source, sends.destination)
                )
                parts.append((source, destination, size.astype(np.float64)))
            first += job.node_count(nodes)
        source, destination, size_bytes = map(np.concatenate, zip(*parts, strict=True))
        return cls(source, destination, size_bytes, nodes)

    def between(self, router_of_node: Integers) -> tuple[Ints, Ints, Floats]:
        """Return the bytes between distinct routers: source, destination and bytes."""
        from scipy.sparse import coo_array, csr_array

        routers, index = np.unique(router_of_node[: self._of_nodes.shape[0]], return_inverse=True)
        # Machines with the same number of nodes on each router share the result.
        key = index.tobytes()
        if key not in self._between:
            shape = len(index), len(routers)
            on_router = csr_array((np.ones(len(index)), (np.arange(len(index)), index)), shape=shape)
            of_routers = coo_array(on_router.T @ (self._of_nodes @ on_router))
            apart = (of_routers.row != of_routers.col) & (of_routers.data > 0)
            self._between[key] = (of_routers.row[apart], of_routers.col[apart], of_routers.data[apart])
        source, destination, size_bytes = self._between[key]
        return routers[source].astype(np.int64), routers[destination].astype(np.int64), size_bytes

    def bound_ns(self, machine: Machine, cut_side: Bools) -> float:
        """Return a lower bound of the time of the traffic on a machine, for any routing; `cut_side` is a good cut.

        It is the highest of the time on the links of the busiest node, on the cuts around each router, each group and
        one half, and of bytes times hops over the capacity of all cables.
        """
        source, destination, size_bytes = self.between(machine.node_router)
        return max(
            self.busiest_node_bytes / machine.host.bandwidth_Bps * NS_PER_S,
            hops_ns(machine, size_bytes, hop_distances(machine).between(source, destination)),
            cuts_ns(machine, source, destination, size_bytes, cut_side),
        )
