"""What the jobs of a point send, in closed form: planning builds no messages."""

from __future__ import annotations

from dataclasses import dataclass

from fabricstudy.workload.pattern.base import MessagePattern

from .point import Point


@dataclass(frozen=True)
class TrafficClass:
    """Messages of one size of a job.

    Parameters
    ----------
    message_bytes, messages : int, float
        Size of each, and how many in all.
    in_phase : float
        How many a rank sends in one phase.
    burst_bytes : float
        Bytes that one node sends of them in one phase.
    """

    message_bytes: int
    messages: float
    in_phase: float
    burst_bytes: float


@dataclass(frozen=True)
class JobTraffic:
    """What a job that sends something sends, by size, and its ranks."""

    ranks: int
    classes: tuple[TrafficClass, ...]


def traffic_by_job(point: Point) -> list[JobTraffic]:
    """Traffic of the jobs that send something."""
    jobs = []
    for job in point.jobs:
        pattern = job.pattern
        if not isinstance(pattern, MessagePattern):
            continue
        ranks = job.rank_count(point.machine.nodes, point.machine.cores_per_node)
        ranks_per_node = job.ranks_per_node or point.machine.cores_per_node
        classes = []
        for part in pattern.traffic(ranks):
            in_phase = part.messages / pattern.iterations / part.phases / max(1, ranks)
            burst_bytes = in_phase * part.size_bytes * ranks_per_node
            classes.append(TrafficClass(part.size_bytes, part.messages, in_phase, burst_bytes))
        jobs.append(JobTraffic(ranks, tuple(classes)))
    return jobs


def loads_of(point: Point) -> list[TrafficClass]:
    """Traffic of all jobs together."""
    return [part for job in traffic_by_job(point) for part in job.classes]
