"""What the jobs of a point send, in closed form: planning builds no messages."""

from __future__ import annotations

from dataclasses import dataclass

from fabricstudy.workload.pattern.base import MessagePattern

from .point import Point


@dataclass(frozen=True)
class Load:
    """Messages of one size of a job, and the bytes that one node sends of them in one phase."""

    message_bytes: int
    messages: float
    burst_bytes: float


def loads_of(point: Point) -> list[Load]:
    """Loads of the jobs that send something."""
    loads = []
    for job in point.jobs:
        pattern = job.pattern
        if not isinstance(pattern, MessagePattern):
            continue
        ranks = job.rank_count(point.machine.nodes, point.machine.cores_per_node)
        ranks_per_node = job.ranks_per_node or point.machine.cores_per_node
        for part in pattern.traffic(ranks):
            in_phase = part.messages / pattern.iterations / part.phases / max(1, ranks)
            loads.append(Load(part.size_bytes, part.messages, in_phase * part.size_bytes * ranks_per_node))
    return loads
