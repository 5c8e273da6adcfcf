"""A job: ranks with a pattern, an allocation, a mapping and their computation."""

from typing import Annotated, Any, Literal, Protocol

import numpy as np
from pydantic import Field

from fabricstudy.core.model import (
    ConfigError,
    Flag,
    Model,
    Name,
    NoPhysics,
    Number,
    QuantityOrMapping,
    Whole,
    model_check,
)
from fabricstudy.core.quantities import Computation, Start
from fabricstudy.workload.allocation.base import Allocation
from fabricstudy.workload.mapping.base import Mapping
from fabricstudy.workload.pattern.base import Pattern

from .allocation.cluster import Cluster
from .mapping.linear import LinearMapping
from .messages import Computing, Messages, WorkloadError


class Compute(QuantityOrMapping):
    """Computation of each rank of a job; a plain time is shorthand for `time`.

    A rank computes before each phase or iteration in which it sends or receives a message. Of the time t and the share
    f of `overlap`, (1 - f) t pass before the rank posts the messages of the phase; f t overlap with them. The rank
    completes the phase when its messages have arrived and f t have passed since it posted them. So a phase of duration
    m without computation lasts (1 - f) t + max(f t, m), if all ranks are equal.

    With `spread` s above 0 each time is drawn independently from the gamma distribution of mean `time` and standard
    deviation s times the mean: exponential at 1, close to normal for small s.
    """

    time_ns: Computation = Field(alias="time", description="mean computation time of a rank")
    before: Literal["iteration", "phase"] = Field(
        "iteration", description="compute before the first phase of each iteration of the pattern, or before each phase"
    )
    spread: Number = Field(
        0, ge=0, le=10, description="standard deviation over mean of the times, drawn by seed from a gamma distribution"
    )
    overlap: Number = Field(
        0, ge=0, le=1, description="share that overlaps with the messages of the phase; the rest precedes them"
    )

    @classmethod
    def from_shorthand(cls, value: Any) -> Any:
        return {"time": value} if isinstance(value, str | int | float) else value


def computing(compute: Compute, messages: Messages, iterations: int, rng: np.random.Generator) -> Computing:
    """Return the computation of the ranks of a job, for the messages of all iterations.

    With a spread, one number is drawn per row of the result, phase after phase, ranks ascending.

    Raises WorkloadError if the iterations differ in their number of phases.
    """
    # Each pair of phase and rank with a message once, sorted.
    ends = np.concatenate([messages.source, messages.destination])
    ranks = int(ends.max(initial=0)) + 1
    key = np.unique(np.tile(messages.phase, 2).astype(np.int64) * ranks + ends)
    phase, rank = (key // ranks).astype(np.int32), (key % ranks).astype(np.int32)
    if compute.before == "iteration":
        phases = int(phase.max(initial=-1)) + 1
        if phases % iterations:
            problem = f"{phases} phases cannot be divided into {iterations} equal iterations to compute before"
            raise WorkloadError(f"{problem}; set before: phase")
        iteration = phase.astype(np.int64) // max(1, phases // iterations)
        first = np.sort(np.unique(iteration * (int(rank.max(initial=0)) + 1) + rank, return_index=True)[1])
        phase, rank = phase[first], rank[first]
    time_ns = np.full(len(phase), compute.time_ns)
    if compute.spread > 0:
        shape = compute.spread**-2
        time_ns = rng.gamma(shape, compute.time_ns / shape, len(phase))
    return Computing(phase, rank, (1 - compute.overlap) * time_ns, compute.overlap * time_ns)


MAX_JOBS = 1000
"""Jobs of a point."""

JobName = Annotated[
    str, Name("[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", "use letters, digits, '_', '.' and '-'; begin with a letter or digit")
]


class Job(Model):
    """Ranks with a pattern, an allocation and a mapping.

    Exactly one of `share` (of the machine's nodes, rounded down), `nodes` and an explicit allocation defines the size.
    """

    name: Annotated[JobName, NoPhysics] = Field(
        "app", description="name in tables and figures, of one job or of all jobs of a type"
    )
    count: Whole = Field(1, ge=1, le=MAX_JOBS, description="number of such jobs, each of this size")
    share: Number | None = Field(None, gt=0, le=1, description="share of the machine's nodes, rounded down to nodes")
    nodes: Whole | None = Field(None, ge=1, description="number of nodes, instead of share")
    ranks_per_node: Whole | None = Field(
        None, ge=1, description="ranks per node; default: ranks_per_core for each core"
    )
    ranks_per_core: Whole = Field(
        1, ge=1, le=10_000, description="maximum ranks per core; above 1 these are virtual ranks, as in Adaptive MPI"
    )
    pattern: Pattern = Field(description="communication pattern")
    allocation: Allocation = Field(default_factory=Cluster, description="allocation of nodes")
    mapping: Mapping = Field(default_factory=LinearMapping, description="mapping of ranks to the cores of these nodes")
    compute: Compute | None = Field(None, description="computation of the ranks; default: none")
    start_ns: Start = Field(
        "0 s",
        alias="start",
        validate_default=True,
        description="when the job starts, from the start of the simulation; its times count from then; packet and flow "
        "only",
    )
    background: Flag = Field(
        False,
        description="repeat the job's messages until all other jobs have finished: it causes interference throughout, "
        "and has no runtime, lower bound or slowdown",
    )

    load: Number | None = Field(
        None,
        ge=0,
        le=1,
        description="of a background job: share of the bandwidth of a node's link that each of its nodes offers, "
        "instead of repeating the pattern; messages are drawn from it, at times of a Poisson process; packet only",
    )
    traffic_class: str | None = Field(
        None, alias="class", description="class of the job's messages, one of network.classes"
    )

    @model_check
    def _one_size(self) -> None:
        explicit = self.allocation.node_count() is not None
        sizes = (self.share is not None) + (self.nodes is not None) + explicit
        if sizes != 1:
            remedy = "set exactly one of share (like 0.5), nodes (like 36) and an explicit allocation"
            raise ConfigError(f"the job's size is set {sizes} times", remedy, code="conflicting-keys")

    @model_check
    def _starts_alone(self) -> None:
        if self.background and self.start_ns:
            problem = "a background job sends as long as the others run"
            raise ConfigError(problem, "omit start", ("start",), code="conflicting-keys")

    @model_check
    def _offers_in_background(self) -> None:
        if self.load is not None and not self.background:
            raise ConfigError("only a background job has a load", "add background: true", ("load",), self.load,
                              "conflicting-keys")  # fmt: skip
        if self.load is not None and (self.compute is not None or self.pattern.has_operations):
            problem = "messages at a stated load follow no computation"
            raise ConfigError(problem, "omit load, or the computation", ("load",), self.load, "conflicting-keys")

    @model_check
    def _computes_in_phases(self) -> None:
        if self.compute is not None and self.pattern.is_idle:
            problem = f"{self.pattern.kind} has no phases to compute in"
            raise ConfigError(problem, "omit compute", ("compute",), code="conflicting-keys")
        if self.compute is not None and self.pattern.has_operations:
            problem = f"the pattern {self.pattern.kind} has its own computation"
            raise ConfigError(problem, "scale it by pattern.compute", ("compute",), code="conflicting-keys")
        if (self.compute is not None or self.pattern.has_operations) and self.ranks_per_core > 1:
            problem = "the ranks of a core would compute one after another, which no engine simulates"
            key = "compute" if self.compute is not None else "pattern"
            raise ConfigError(problem, "omit compute or ranks_per_core", (key,), code="conflicting-keys")

    def copies(self) -> "list[Job]":
        """Return the jobs that it counts for, each with a count of 1."""
        return [self.model_copy(update={"count": 1})] * self.count

    def node_count(self, machine_nodes: int) -> int:
        """Return the job's nodes on a machine of `machine_nodes` nodes."""
        nodes = self.allocation.node_count() or self.nodes
        if nodes is not None:
            return nodes
        assert self.share is not None
        return int(self.share * machine_nodes + 1e-9)

    def rank_count(self, machine_nodes: int, cores_per_node: int) -> int:
        """Return the job's ranks on a machine of `machine_nodes` nodes with `cores_per_node` cores each."""
        return self.node_count(machine_nodes) * self.ranks_on_node(cores_per_node)

    def ranks_on_node(self, cores_per_node: int) -> int:
        """Return the job's ranks on each of its nodes, which have `cores_per_node` cores."""
        return self.ranks_per_node or cores_per_node * self.ranks_per_core


class HasJobs(Protocol):
    """A point, as far as the placement of its jobs depends on it."""

    @property
    def jobs(self) -> tuple[Job, ...]: ...
    @property
    def seed(self) -> int: ...
