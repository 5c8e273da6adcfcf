"""What the flow engine does for a point."""

from __future__ import annotations

from ..forecast import Work
from ..loads import traffic_by_job
from ..point import Point


def work(point: Point) -> Work:
    """Count messages, and parts of the machine; bytes cost nothing."""
    carried: dict[str, float] = {}
    for job in traffic_by_job(point):
        carried[job.work] = carried.get(job.work, 0.0) + sum(part.messages for part in job.classes)
    messages, machine = sum(carried.values()), point.machine
    counts = {"run": 1.0, "message": messages, "node": float(machine.nodes), "cable": float(machine.cables)}
    return Work(carried, 1.0, counts, counts)
