"""A run: one fully specified schedule, and the id derived from what can change its outcome."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from fabricstudy.core.model import Model, Whole
from fabricstudy.engine.point import canonical_json, digest
from fabricstudy.machine.base import Topology

from .backfill import Backfill
from .backfill.easy import Easy
from .order import Order
from .order.fcfs import Fcfs
from .partition_list import PartitionList
from .slowdown import Slowdown
from .trace import Trace


class RunBase(Model):
    """What a run of a schedule is made of, but for its seed."""

    machine: Topology = Field(description="what is scheduled: a grid, but for `partitions: nodes`")
    partitions: PartitionList = Field(description="what may be given to jobs")
    trace: Trace = Field(description="the jobs")
    order: Order = Field(default_factory=Fcfs, description="which waiting job comes first")
    backfill: Backfill = Field(default_factory=Easy, description="which may start before its turn")
    slowdown: Slowdown = Field(default_factory=Slowdown, description="how much longer jobs run on lesser partitions")
    request: Literal["scaled", "fixed"] = Field(
        "scaled", description="whether the requested time grows with the slowdown"
    )
    limit: Literal["none", "kill"] = Field(
        "none", description="kill: a job ends when the time that it asked for is over"
    )


class Run(RunBase):
    """One run: its seed draws the trace and the applications."""

    seed: Whole = Field(ge=0, lt=2**31)


@dataclass(frozen=True)
class RatioInputs:
    """Points whose times make one ratio: medians over those of the lesser network and over those of the torus.

    The metric is runtime_ns or expected_load_ns; of each side there is one point a seed.
    """

    metric: str
    of: tuple[str, ...]
    against: tuple[str, ...]


@dataclass(frozen=True)
class PlannedRun:
    """A distinct run and its ids.

    Parameters
    ----------
    schedule : str
        Name of the schedule that it is of.
    list_id : str
        Id of machine and list of partitions.
    needs : mapping
        For `measured`: by number of the application and nodes of the partition.
    folder : Path
        The study's folder, where a log is sought.
    keeps_jobs : bool
        Whether each of its jobs is a row of a table.
    """

    schedule: str
    run_id: str
    list_id: str
    run: Run
    needs: Mapping[tuple[int, int], RatioInputs]
    folder: Path
    keeps_jobs: bool

    @property
    def key(self) -> str:
        """Hexadecimal digits by which runs are divided into jobs; those of one list stay together."""
        return self.list_id[1:] + self.run_id[1:]

    @property
    def predicted_cpu_s(self) -> float:
        """Predicted processor time."""
        return START_CPU_S + CPU_S_OF_A_JOB * self.run.trace.expected_jobs

    @property
    def points(self) -> set[str]:
        """Ids of the points that it needs."""
        return {point for needed in self.needs.values() for point in (*needed.of, *needed.against)}


START_CPU_S = 0.02
CPU_S_OF_A_JOB = 8e-6


def run_id(run: Run, needs: Mapping[tuple[int, int], RatioInputs], log: str | None = None) -> str:
    """Return "r" and 12 hexadecimal digits over what can change a run: itself, the points that it rests on, its log.

    `log` is the SHA-256 of the file of its trace, if it has one.
    """
    points = [f"{key} {needed}" for key, needed in sorted(needs.items())]
    return digest("r", canonical_json([run.physics(), log, points]))


def list_id(machine: Topology, partitions: PartitionList) -> str:
    """Return "l" and 12 hexadecimal digits over a machine and a list of its partitions."""
    return digest("l", canonical_json([machine.physics(), partitions.physics()]))
