"""Several cores per point.

The number of cores changes no result, so `processes` of the engine is no physics: id, input and record of a point do
not depend on it. It is a maximum; Snakemake may grant fewer.
"""

import os
from dataclasses import replace
from typing import Protocol, runtime_checkable

from .point import PlannedPoint, Point


@runtime_checkable
class ParallelEngine(Protocol):
    """An engine whose program gives the same result on several cores; other points are unsupported."""

    def on_cores(self, command: list[str], point: Point) -> list[str]:
        """Return a command of `prepare` on the cores of the point; raise `EngineFailure` if a launcher is missing."""
        ...


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def at_most(planned: PlannedPoint, cores: int) -> PlannedPoint:
    """Return the point with no more processes than `cores`."""
    point = planned.point
    if point.engine.processes <= cores:
        return planned
    engine = point.engine.model_copy(update={"processes": max(1, cores)})
    return replace(planned, point=point.model_copy(update={"engine": engine}))
