"""Traffic of the jobs of a point in closed form: planning builds no messages."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from fabricstudy.routing.base import Routing
from fabricstudy.routing.ugal import Ugal
from fabricstudy.routing.valiant import Valiant
from fabricstudy.workload.allocation.random import RandomAllocation
from fabricstudy.workload.job import Job
from fabricstudy.workload.mapping.random import RandomMapping
from fabricstudy.workload.offered import SATURATION, Offered
from fabricstudy.workload.pattern.base import Pattern

from .point import Point

NEAR = 0.5
"""Hops of messages between neighbouring ranks that are not placed at random, over those of others, approximately."""


@dataclass(frozen=True)
class TrafficClass:
    """Messages of one size of a job."""

    message_bytes: int
    messages: float
    messages_in_phase: float
    """Messages that a rank sends in one phase."""
    burst_bytes: float
    """Bytes that a node sends in one phase."""

    @property
    def at_once(self) -> float:
        """Messages that a node sends in one phase."""
        return self.burst_bytes / max(1, self.message_bytes)


@dataclass(frozen=True)
class JobTraffic:
    """Messages of a job by size, its ranks, and the hops of a message over those between routers drawn at random."""

    ranks: int
    classes: tuple[TrafficClass, ...]
    hops: float = 1.0


def traffic_by_job(point: Point) -> tuple[JobTraffic, ...]:
    """Return the traffic of the communicating jobs; background jobs send about as long as the others do.

    Offered traffic counts as one job.
    """
    if point.offered is not None:
        return (_offered_traffic(point, point.offered),)
    return _traffic_by_job(point.jobs, point.machine.nodes, point.machine.cores_per_node)


@lru_cache(maxsize=4096)
def _traffic_by_job(jobs: tuple[Job, ...], nodes: int, cores: int) -> tuple[JobTraffic, ...]:
    traffic, bytes_of_node, background, shares = [], [], [], []
    for job in jobs:
        pattern = job.pattern
        # The pattern of an extension may state no traffic.
        if pattern.is_idle or type(pattern).traffic is Pattern.traffic:
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
        shares.append(job.load)
    most = max((sent for sent, repeats in zip(bytes_of_node, background, strict=True) if not repeats), default=0.0)
    # A background job sends as much a node as the busiest foreground job, and one round at least; or its load.
    for index, (sent_bytes, repeats, load) in enumerate(zip(bytes_of_node, background, shares, strict=True)):
        if repeats and sent_bytes:
            rounds, job_traffic = most / sent_bytes, traffic[index]
            rounds = max(1.0, rounds) if load is None else load * rounds
            repeated = tuple(replace(part, messages=part.messages * rounds) for part in job_traffic.classes)
            traffic[index] = replace(job_traffic, classes=repeated)
    return tuple(traffic)


ROUTING_HOP_FACTORS: Mapping[type[Routing], float] = {Valiant: 2.0, Ugal: 1.5}
"""Hops of a routing over those of shortest paths, approximately: a detour has two legs, and UGAL makes some."""

SEARCH_RUNS = 4
"""Typical number of runs of a search for the saturation load, at loads close to it."""

SPREAD = ("uniform", "hot-spot", "matrix", "mix", "neighbours")
"""Traffics that all links share nearly evenly."""

CONCENTRATED = 0.45
"""Saturation load of other traffics on minimal paths, over that of uniform traffic, approximately."""

WAITING_AT_FULL_LOAD = 15
"""Messages of a node that wait at the same time when its link is busy, approximately."""


def hops_between(point: Point) -> float:
    """Return the approximate mean hops of a packet between two routers drawn at random."""
    other = 1.0 if point.routing.minimal else 2.0
    return ROUTING_HOP_FACTORS.get(type(point.routing), other) * point.machine.typical_hops


def _typical_saturation(point: Point, traffic: str) -> float:
    """Return the approximate saturation load, for links as fast as those of the nodes."""
    machine = point.machine
    even = min(1.0, 2 * machine.cables / max(1.0, machine.nodes * hops_between(point)))
    if traffic in SPREAD or not point.routing.minimal:
        return even
    groups = getattr(machine, "groups", None)
    if traffic == "group-shift" and isinstance(groups, int):
        return min(even, groups * getattr(machine, "links_per_group_pair", 1) / machine.nodes)
    return CONCENTRATED * even


def _offered_traffic(point: Point, offered: Offered) -> JobTraffic:
    nodes, load, runs = point.machine.nodes, offered.load, 1
    if load == SATURATION:
        load, runs = _typical_saturation(point, offered.traffic.kind), SEARCH_RUNS
    # Bandwidths are not known before the machine is built, so that latencies count as 0 message times.
    offered = offered.long_enough(load, nodes, 0.0)
    messages = runs * load * nodes * (offered.warmup + offered.measured)
    waiting = 1.0 + WAITING_AT_FULL_LOAD * load
    message_bytes = int(offered.message_bytes)
    return JobTraffic(nodes, (TrafficClass(message_bytes, messages, waiting, waiting * message_bytes),))


def traffic_classes(point: Point) -> list[TrafficClass]:
    """Return the traffic of all jobs together."""
    return [part for job in traffic_by_job(point) for part in job.classes]
