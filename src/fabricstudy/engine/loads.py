"""What the jobs of a point send, in closed form: planning builds no messages."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fabricstudy.workload.pattern.base import Pattern

from .point import Point

AT_RANDOM = " at random"
"""What follows a pattern's name where its ranks stand at random."""


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
    """Messages of a job by size, its ranks, and whether these are placed at random."""

    pattern: str
    ranks: int
    classes: tuple[TrafficClass, ...]
    at_random: bool = False

    @property
    def work(self) -> str:
        """Key of the engine's cost law for it: partners far apart cost more than close ones."""
        return self.pattern + AT_RANDOM * self.at_random


def traffic_by_job(point: Point) -> list[JobTraffic]:
    """Traffic of the jobs that send something; one in the background sends as long as the others do, about."""
    jobs, bytes_of_node, background = [], [], []
    for job in point.jobs:
        pattern = job.pattern
        # A pattern that states no traffic, as an extension's may, cannot be predicted.
        if pattern.silent or type(pattern).traffic is Pattern.traffic:
            continue
        iterations = getattr(pattern, "iterations", 1)
        ranks = job.rank_count(point.machine.nodes, point.machine.cores_per_node)
        ranks_per_node = job.ranks_per_node or point.machine.cores_per_node
        classes = []
        for part in pattern.traffic(ranks):
            in_phase = part.messages / iterations / part.phases / max(1, ranks)
            burst_bytes = in_phase * part.size_bytes * ranks_per_node
            classes.append(TrafficClass(part.size_bytes, part.messages, in_phase, burst_bytes))
        at_random = "random" in (job.mapping.kind, job.allocation.kind)
        jobs.append(JobTraffic(pattern.kind, ranks, tuple(classes), at_random))
        bytes_of_node.append(
            sum(part.message_bytes * part.messages for part in classes) / max(1, ranks) * ranks_per_node
        )
        background.append(job.background)
    return [
        _repeated(job, _rounds(sent_bytes, bytes_of_node, background) if repeats else 1.0)
        for job, sent_bytes, repeats in zip(jobs, bytes_of_node, background, strict=True)
    ]


def _rounds(sent_bytes: float, bytes_of_node: list[float], background: list[bool]) -> float:
    """Rounds in which a node sends as much as the busiest one of a job that ends, at least one."""
    most = max((sent for sent, repeats in zip(bytes_of_node, background, strict=True) if not repeats), default=0.0)
    return max(1.0, most / sent_bytes) if sent_bytes else 1.0


def _repeated(job: JobTraffic, times: float) -> JobTraffic:
    return replace(job, classes=tuple(replace(part, messages=part.messages * times) for part in job.classes))


def loads_of(point: Point) -> list[TrafficClass]:
    """Traffic of all jobs together."""
    return [part for job in traffic_by_job(point) for part in job.classes]
