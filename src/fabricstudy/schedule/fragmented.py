"""Allocation of the nodes that a batch scheduler leaves free."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core.arrays import Floats
from fabricstudy.core.model import ConfigError, NoPhysics
from fabricstudy.core.quantities import Moment
from fabricstudy.workload.allocation.base import Allocation, Grant, Request
from fabricstudy.workload.messages import WorkloadError

from .backfill.rules import Easy
from .jobs import Jobs
from .order.simple import Fcfs
from .partitions import NodePool
from .simulate import checked_jobs, simulate_schedule
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

    trace: Trace = Field(
        description="jobs of the scheduler: drawn by the seed (`lublin`, `synthetic`), or a log (`swf`, `sacct`), from "
        "its first submission on"
    )
    after_s: Moment = Field("7 days", alias="after", validate_default=True, description="time for which they have run")

    # As in `input_files.FromFile`: of a log, its digest is part of the point, and the study's folder is not.
    folder: SkipJsonSchema[Annotated[str, NoPhysics]] = Field("", exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _beside(cls, value: Any, info: ValidationInfo) -> Any:
        context = info.context or {}
        folder = context.get("files_in", context.get("folder"))
        if folder is None or not isinstance(value, dict):
            return value
        if "folder" in value:
            raise ConfigError("unknown key", "leave it out", ("folder",), code="unknown-key")
        return {**value, "folder": str(Path(folder).resolve())}

    @field_validator("trace")
    @classmethod
    def _digested(cls, trace: Trace, info: ValidationInfo) -> Trace:
        folder = (info.context or {}).get("folder")
        if trace.is_drawn or folder is None:
            return trace
        if "sha256" not in type(trace).model_fields:
            raise ConfigError("a log without a digest", "use swf or sacct", value=trace.kind, code="invalid-value")
        digest, stated = trace.digest(Path(folder)), getattr(trace, "sha256", None)
        if stated not in (None, digest):
            problem, remedy = "the file does not have this digest", "use the intended file, or omit it"
            raise ConfigError(problem, remedy, ("sha256",), stated, "invalid-trace")
        return trace.model_copy(update={"sha256": digest})

    def allocate(self, request: Request) -> Grant:
        nodes = request.machine.nodes
        free_s = free_times_s(self.trace, nodes, self.after_s, int(request.common_rng.integers(2**31)), self.folder)
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
def free_times_s(trace: Trace, nodes: int, after_s: float, seed: int, folder: str = "") -> Floats:
    """Return when each node is free if no job starts after a time, float64 [nodes]; that time if it is free then.

    Raises WorkloadError as `arrivals`.
    """
    jobs = arrivals(trace, nodes, after_s, seed, folder)
    jobs = jobs.at(np.flatnonzero(jobs.submit_s <= after_s))
    result = simulate_schedule(NodePool(nodes), jobs, Fcfs(), Easy())
    free_s = np.full(nodes, after_s)
    for job, first, last in result.spans:
        if result.start_s[job] <= after_s < result.end_s[job]:
            free_s[first : last + 1] = result.end_s[job]
    return free_s


@lru_cache(maxsize=4)
def arrivals(trace: Trace, nodes: int, after_s: float, seed: int, folder: str) -> Jobs:
    """Return the jobs of a trace; a log begins with its first submission.

    Raises WorkloadError if they cannot be drawn or read, or the last one arrives before `after_s`.
    """
    try:
        jobs = checked_jobs(trace, nodes, 1, seed, Path(folder))
    except ConfigError as error:
        if error.code == "extension":
            raise
        raise WorkloadError(f"{error.problem}; {error.remedy}") from None
    if not trace.is_drawn:
        jobs = replace(jobs, submit_s=jobs.submit_s - jobs.submit_s[0])
    if jobs.submit_s[-1] < after_s:
        days = jobs.submit_s[-1] / 86400
        raise WorkloadError(f"the last job of the trace arrives after {days:.2g} days; use more jobs, or a lower load")
    return jobs
