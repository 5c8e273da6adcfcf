"""What SST does for a point."""

from __future__ import annotations

from typing import NamedTuple

from ..forecast import Work
from ..loads import traffic_by_job
from ..point import Point
from .system import SPARE_BUFFERS, flit_bytes, settings

FLITS_OF_A_PACKET = 4
"""What a packet costs beside its flits."""
LEAST_BUFFERS = 5
"""Buffers that Firefly posts before any receive."""
LONGEST_BUFFER_BYTES = 12_000
"""Firefly's own limit of messages that are sent without asking; with ``mpi: none`` it is the longest message."""


class JobLoad(NamedTuple):
    """What a job that communicates does: ranks, messages, packets, longest message, and receives posted at a time."""

    work: str
    ranks: int
    messages: float
    packets: float
    longest_bytes: int
    posted: float


def work(point: Point) -> Work:
    """Count flits, parts of the machine, matches and buffers.

    A message that has come is looked for among the posted receives. Each rank has a buffer, as long as the longest
    message of all jobs, for every receive that it has posted. Routes that are handed to anytopo take memory, too, where
    they are many; they are not known before the machine is built.
    """
    loads = _loads(point)
    flits = FLITS_OF_A_PACKET + int(point.network.packet_bytes) / flit_bytes(point)
    carried: dict[str, float] = {}
    for load in loads:
        carried[load.work] = carried.get(load.work, 0.0) + load.packets * flits
    ranks = sum(load.ranks for load in loads)
    longest = max((load.longest_bytes for load in loads), default=0)
    if settings(point).mpi == "default":
        longest = min(longest, LONGEST_BUFFER_BYTES)
    return Work(
        carried,
        flit_bytes(point),
        once={
            "run": 1.0,
            "node or rank": float(point.machine.nodes + ranks),
            "match": sum(load.messages * load.posted for load in loads),
        },
        memory={
            "run": 1.0,
            "router, node or rank": float(point.machine.nodes + point.machine.routers + ranks),
            "message of a phase": sum(load.ranks * load.posted for load in loads),
            "byte of a buffer": longest * sum(load.ranks * (LEAST_BUFFERS + load.posted) for load in loads),
        },
    )


def _loads(point: Point) -> list[JobLoad]:
    packet = int(point.network.packet_bytes)
    loads = []
    for job in traffic_by_job(point):
        # The parts of a pattern are separate phases; Ember's motifs have a message or two outstanding.
        posted = max((part.in_phase for part in job.classes), default=0.0)
        if settings(point).motifs == "native":
            posted = min(posted, 1.0)
        if settings(point).mpi == "default":
            posted = min(posted, SPARE_BUFFERS)
        loads.append(
            JobLoad(
                job.work,
                job.ranks,
                sum(part.messages for part in job.classes),
                sum(part.messages * (1 + part.message_bytes / packet) for part in job.classes),
                max((part.message_bytes for part in job.classes), default=0),
                posted,
            )
        )
    return loads
