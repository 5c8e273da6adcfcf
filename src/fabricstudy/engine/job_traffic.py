"""What the jobs of a point send, in closed form: planning builds no messages."""

from dataclasses import dataclass, replace
from functools import lru_cache

from fabricstudy.workload.allocation.random import RandomAllocation
from fabricstudy.workload.job import Job
from fabricstudy.workload.mapping.random import RandomMapping
from fabricstudy.workload.offered import SATURATION, Offered
from fabricstudy.workload.pattern.base import Pattern

from .point import Point

NEAR = 0.5
"""Hops of messages between ranks that are beside each other and do not stand at random, over those of others, about."""


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
    messages_in_phase: float
    burst_bytes: float

    @property
    def at_once(self) -> float:
        """How many a node sends in one phase."""
        return self.burst_bytes / max(1, self.message_bytes)


@dataclass(frozen=True)
class JobTraffic:
    """Messages of a job by size, its ranks, and the hops of a message over those between routers drawn at random."""

    ranks: int
    classes: tuple[TrafficClass, ...]
    hops: float = 1.0


def traffic_by_job(point: Point) -> tuple[JobTraffic, ...]:
    """Traffic of the jobs that send something; one in the background sends as long as the others do, about.

    Offered traffic counts as one job.
    """
    if point.offered is not None:
        return (_offered_traffic(point.offered, point.machine.nodes),)
    return _traffic_by_job(point.jobs, point.machine.nodes, point.machine.cores_per_node)


@lru_cache(maxsize=4096)
def _traffic_by_job(jobs: tuple[Job, ...], nodes: int, cores: int) -> tuple[JobTraffic, ...]:
    traffic, bytes_of_node, background = [], [], []
    for job in jobs:
        pattern = job.pattern
        # A pattern that states no traffic, as an extension's may, cannot be predicted.
        if pattern.silent or type(pattern).traffic is Pattern.traffic:
            continue
        iterations = getattr(pattern, "iterations", 1)
        ranks, ranks_per_node = job.rank_count(nodes, cores), job.ranks_on_node(cores)
        classes = []
        for part in pattern.traffic(ranks):
            in_phase = part.messages / iterations / part.phases / max(1, ranks)
            burst_bytes = in_phase * part.size_bytes * ranks_per_node
            classes.append(TrafficClass(part.size_bytes, part.messages, in_phase, burst_bytes))
        at_random = isinstance(job.mapping, RandomMapping) or isinstance(job.allocation, RandomAllocation)
        traffic.append(JobTraffic(ranks, tuple(classes), NEAR if pattern.is_near(ranks) and not at_random else 1.0))
        sent_bytes = sum(part.message_bytes * part.messages for part in classes)
        bytes_of_node.append(sent_bytes / max(1, ranks) * ranks_per_node)
        background.append(job.background)
    most = max((sent for sent, repeats in zip(bytes_of_node, background, strict=True) if not repeats), default=0.0)
    # In the background a node sends as much as the busiest one of a job that ends, and one round at least.
    return tuple(
        _repeated(job, max(1.0, most / sent_bytes)) if repeats and sent_bytes else job
        for job, sent_bytes, repeats in zip(traffic, bytes_of_node, background, strict=True)
    )


SEARCH_RUNS = 6
"""Runs in which the saturation load is mostly found, at loads of about its own."""

TYPICAL_SATURATION = 0.6

WAITING_AT_FULL_LOAD = 15
"""Messages of a node that wait at the same time when its link is busy, about."""


def _offered_traffic(offered: Offered, nodes: int) -> JobTraffic:
    load, runs = (TYPICAL_SATURATION, SEARCH_RUNS) if offered.load == SATURATION else (float(offered.load), 1)
    messages = runs * load * nodes * (offered.warmup + offered.measured)
    waiting = 1.0 + WAITING_AT_FULL_LOAD * load
    return JobTraffic(nodes, (TrafficClass(offered.message_bytes, messages, waiting, waiting * offered.message_bytes),))


def _repeated(job: JobTraffic, times: float) -> JobTraffic:
    return replace(job, classes=tuple(replace(part, messages=part.messages * times) for part in job.classes))


def traffic_classes(point: Point) -> list[TrafficClass]:
    """Traffic of all jobs together."""
    return [part for job in traffic_by_job(point) for part in job.classes]
