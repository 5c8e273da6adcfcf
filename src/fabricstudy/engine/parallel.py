"""Several cores at one point: which engines can, how many there are, and what is asked of Snakemake.

No core changes a result, so `processes` of the engine is no physics: a point has the same id, the same input and the
same record whatever it says. It is the most that work on a point; fewer do where Snakemake grants fewer.
"""

import os
from dataclasses import replace
from typing import Protocol, runtime_checkable

from .point import PlannedPoint, Point


@runtime_checkable
class ParallelEngine(Protocol):
    """An engine whose program finds the same on several cores; where it would not, it refuses the point."""

    def on_cores(self, command: list[str], point: Point) -> list[str]:
        """Return a command of `prepare` so that it uses as many cores as the point says.

        Raises
        ------
        EngineFailure
            If something is missing that starts several processes.
        """
        ...


def usable_cores() -> int:
    """Return the cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def at_most(planned: PlannedPoint, cores: int) -> PlannedPoint:
    """Return the point as it is run where there are so many cores."""
    point = planned.point
    if point.engine.processes <= cores:
        return planned
    engine = point.engine.model_copy(update={"processes": max(1, cores)})
    return replace(planned, point=point.model_copy(update={"engine": engine}))
