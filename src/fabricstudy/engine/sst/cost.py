"""Cost of SST."""

from ..cost_model import WorkCounts, messages_of, network_traffic
from ..job_traffic import JobTraffic, traffic_by_job
from ..point import Point
from .offered import offered_work
from .system import SPARE_BUFFERS, settings_of

LEAST_BUFFERS = 5
"""Buffers that Firefly posts before any receive."""
LONGEST_BUFFER_BYTES = 12_000
"""Firefly's default limit of eager messages; with ``mpi: none`` it is the longest message."""


def work(point: Point) -> WorkCounts:
    """Count packets in routers, messages, matches, buffers, and parts of the machine.

    Each message is matched with the posted receives. Each rank has a buffer, as long as the longest message of all
    jobs, for every posted receive. The memory of anytopo's routes is not included: planning builds no machine.
    """
    if point.offered is not None:
        return offered_work(point)
    machine, jobs = point.machine, traffic_by_job(point)
    posted = [_posted(job, point) for job in jobs]
    ranks = sum(job.ranks for job in jobs)
    longest = max((part.message_bytes for job in jobs for part in job.classes), default=0)
    if settings_of(point).mpi == "default":
        longest = min(longest, LONGEST_BUFFER_BYTES)
    matches = sum(part.messages * count for job, count in zip(jobs, posted, strict=True) for part in job.classes)
    buffers = sum(job.ranks * (LEAST_BUFFERS + count) for job, count in zip(jobs, posted, strict=True))
    return WorkCounts(
        cpu={
            "run": 1.0,
            "cable": float(machine.cables),
            "message": messages_of(point),
            "match": matches,
            "packet in a router": network_traffic(point, point.network.packet_bytes).in_routers,
        },
        memory={
            "run": 1.0,
            "router, node or rank": float(machine.nodes + machine.routers + ranks),
            "message of a phase": sum(job.ranks * count for job, count in zip(jobs, posted, strict=True)),
            "byte of a buffer": longest * buffers,
        },
    )


def _posted(job: JobTraffic, point: Point) -> float:
    """Return the receives that a rank posts at a time: the parts of a pattern are separate phases."""
    posted = max((part.messages_in_phase for part in job.classes), default=0.0)
    if settings_of(point).motifs == "native":
        posted = min(posted, 1.0)  # a message or two are outstanding
    return min(posted, SPARE_BUFFERS) if settings_of(point).mpi == "default" else posted
