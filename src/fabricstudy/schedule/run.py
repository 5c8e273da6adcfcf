"""A run: one fully specified schedule, and its id, a digest of all that can change the outcome."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from fabricstudy.core.model import Model, Whole
from fabricstudy.engine.point import canonical_json, digest
from fabricstudy.machine.base import Topology

from .backfill.base import Backfill
from .backfill.rules import Easy
from .order.base import Order
from .order.simple import Fcfs
from .partition_list.base import PartitionList
from .slowdown import Slowdown
from .trace.base import Trace


class RunBase(Model):
    """Everything that specifies a run of a schedule but its seed."""

    machine: Topology = Field(description="the machine: a grid, except with `partitions: nodes`")
    partitions: PartitionList = Field(description="partitions that are allocated to jobs")
    trace: Trace = Field(description="the jobs")
    order: Order = Field(default_factory=Fcfs, description="order of the waiting jobs")
    backfill: Backfill = Field(default_factory=Easy, description="which jobs may start before earlier ones")
    slowdown: Slowdown = Field(default_factory=Slowdown, description="slowdown of jobs on partitions that are not tori")
    request: Literal["scaled", "fixed"] = Field("scaled", description="whether requested times grow with the slowdown")
    limit: Literal["none", "kill"] = Field("none", description="kill: a job ends at its requested time")


class Run(RunBase):
    """One run; the seed is that of the trace and of the applications."""

    seed: Whole = Field(ge=0, lt=2**31)


@dataclass(frozen=True)
class RatioInputs:
    """Points of the degraded network and of the torus, one for each seed, whose median times form a ratio.

    The metric is runtime_ns or expected_load_ns.
    """

    metric: str
    of: tuple[str, ...]
    against: tuple[str, ...]


@dataclass(frozen=True)
class PlannedRun:
    """A distinct run of a schedule and its ids."""

    schedule: str
    run_id: str
    list_id: str
    """Id of machine and list of partitions."""
    run: Run
    needs: Mapping[tuple[int, int], RatioInputs]
    """For `measured`: by number of the application and nodes of the partition."""
    folder: Path
    """The folder of the study, to which paths of logs are relative."""
    keeps_jobs: bool
    """Whether each of its jobs is a row of a table."""

    @property
    def key(self) -> str:
        """Hexadecimal digits by which runs are sorted into chunks; runs of one list are adjacent."""
        return self.list_id[1:] + self.run_id[1:]

    @property
    def predicted_cpu_s(self) -> float:
        """Predicted CPU time."""
        return START_CPU_S + CPU_S_OF_A_JOB * self.run.trace.expected_jobs

    @property
    def points(self) -> set[str]:
        """Ids of the points that it needs."""
        return {point for inputs in self.needs.values() for point in (*inputs.of, *inputs.against)}


START_CPU_S = 0.02
CPU_S_OF_A_JOB = 8e-6


def run_id(run: Run, needs: Mapping[tuple[int, int], RatioInputs], log: str | None = None) -> str:
    """Return "r" and 12 hexadecimal digits of a digest of the run, the points of its ratios, and its log.

    `log` is the SHA-256 of the file of its trace, if there is one.
    """
    points = [f"{key} {inputs}" for key, inputs in sorted(needs.items())]
    return digest("r", canonical_json([run.physics(), log, points]))


def list_id(machine: Topology, partitions: PartitionList) -> str:
    """Return "l" and 12 hexadecimal digits of a digest of a machine and a list of its partitions."""
    return digest("l", canonical_json([machine.physics(), partitions.physics()]))
