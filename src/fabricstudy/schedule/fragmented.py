"""The nodes that a batch scheduler has left over."""

from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import Field, field_validator

from fabricstudy.core.arrays import Floats
from fabricstudy.core.model import ConfigError
from fabricstudy.core.quantities import Moment
from fabricstudy.workload.allocation.base import Allocation, Grant, Request
from fabricstudy.workload.messages import WorkloadError

from .backfill.rules import Easy
from .order.simple import Fcfs
from .partitions import NodePool
from .simulate import simulate_schedule
from .trace.base import Trace

WARM_UP_CPU_S = 0.05
"""Of drawing a trace."""


class Fragmented(Allocation, kind="fragmented"):
    """Free nodes of lowest number on a machine on which a scheduler has run the jobs of a trace for some time.

    Jobs of the trace get the free nodes of lowest number, in order of arrival with EASY backfilling. After that time no
    further one starts, and the job begins as soon as enough nodes are free. All jobs of a point with the same trace
    find the same nodes occupied. Jobs that need more than these leave free wait until the machine has drained, and get
    nodes nearly in order; `plan` warns of it.
    """

    job_cpu_s: ClassVar[float] = 2e-5
    """Predicted processor time of each job of the trace."""

    trace: Trace = Field(description="jobs of the scheduler, which a seed draws: `lublin` or `synthetic`")
    after_s: Moment = Field("7 days", alias="after", validate_default=True, description="time for which they have run")

    @field_validator("trace")
    @classmethod
    def _drawn(cls, trace: Trace) -> Trace:
        if not trace.is_drawn:
            raise ConfigError("a trace from a file", "use lublin or synthetic", value=trace.kind, code="invalid-value")
        return trace

    def allocate(self, request: Request) -> Grant:
        nodes = request.machine.nodes
        free_s = free_times_s(self.trace, nodes, self.after_s, int(request.common_rng.integers(2**31)))
        free_s = np.where(request.free, free_s, np.inf)
        begin_s = np.partition(free_s, request.wanted - 1)[request.wanted - 1]
        return Grant(np.flatnonzero(free_s <= begin_s)[: request.wanted])

    @property
    def predicted_cpu_s(self) -> float:
        # Of a model without a span, few jobs arrive before.
        part = min(1.0, self.after_s / float(getattr(self.trace, "span_s", np.inf)))
        return float(WARM_UP_CPU_S + self.job_cpu_s * part * self.trace.expected_jobs)

    def remark(self, nodes: int, machine_nodes: int) -> str:
        load = getattr(self.trace, "load", None)
        left = machine_nodes * (1 - min(load or 0.0, 1.0))
        if nodes <= left:
            return ""
        return (
            f"its jobs need {nodes} nodes, and a load of {load:g} leaves about {left:.0f} of {machine_nodes} free: the "
            "machine has drained when they fit, and their nodes are nearly in order; use slurm"
        )


@lru_cache(maxsize=4)
def free_times_s(trace: Trace, nodes: int, after_s: float, seed: int) -> Floats:
    """Return when each node is free if no job starts after a time, float64 [nodes]; that time if it is free then.

    Raises WorkloadError if the jobs of the trace cannot be drawn, or the last one arrives before that time.
    """
    try:
        jobs = trace.jobs(nodes, 1, seed, Path())
    except ConfigError as error:
        raise WorkloadError(f"{error.problem}; {error.remedy}") from None
    if jobs.submit_s[-1] < after_s:
        days = jobs.submit_s[-1] / 86400
        raise WorkloadError(f"the last job of the trace arrives after {days:.2g} days; use more jobs, or a lower load")
    jobs = jobs.at(np.flatnonzero(jobs.submit_s <= after_s))
    result = simulate_schedule(NodePool(nodes), jobs, Fcfs(), Easy())
    free_s = np.full(nodes, after_s)
    for job, first, last in result.spans:
        if result.start_s[job] <= after_s < result.end_s[job]:
            free_s[first : last + 1] = result.end_s[job]
    return free_s
