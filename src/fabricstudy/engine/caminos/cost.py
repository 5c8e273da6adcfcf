"""What CAMINOS does for a point."""

from __future__ import annotations

from math import ceil

from ..forecast import Work
from ..loads import traffic_by_job
from ..point import Point
from .clock import phit_bytes

WAITING_PHITS = 8
"""Phits that wait at a cable, both ends together, when many do: about, and far less than its buffers hold."""


def work(point: Point) -> Work:
    """Count phits, messages, and parts of the machine."""
    phit = phit_bytes(point)
    carried: dict[str, float] = {}
    messages = 0.0
    for job in traffic_by_job(point):
        phits = sum(part.messages * ceil(part.message_bytes / phit) for part in job.classes)
        carried[job.work] = carried.get(job.work, 0.0) + phits
        messages += sum(part.messages for part in job.classes)
    machine = point.machine
    counts = {
        "run": 1.0,
        "message": messages,
        "node": float(machine.nodes * point.network.ports_per_node),
        "cable": float(machine.cables),
    }
    waiting = min(sum(carried.values()), WAITING_PHITS * machine.cables)
    return Work(carried, phit, counts, counts | {"waiting phit": float(waiting)})
