"""What a point takes on SST, from closed forms fitted to runs: processor time, and memory before it starts."""

from __future__ import annotations

from typing import NamedTuple

from fabricstudy.workload.pattern.base import MessagePattern

from ..point import Point
from .system import SPARE_BUFFERS, flit_bytes, settings

START_CPU_S, START_BYTES = 0.3, 100e6
CPU_S_OF_A_RANK = 0.0015
"""Of a node, too."""
CPU_S_OF_A_FLIT = 1.9e-6
FLITS_OF_A_PACKET = 4
"""What a packet costs beside its flits."""
CPU_S_OF_A_MATCH = 0.23e-6
"""A message that has come is looked for among the posted receives."""
DETOURS = {"valiant": 1.4, "ugal": 1.2}
"""Hops over those of shortest paths; of any other routing 1."""

BYTES_OF_A_PART = 58e3
"""Of a router, a node, or a rank."""
BYTES_OF_A_MESSAGE = 1600
"""Of each message of a phase, beside its bytes."""
LEAST_BUFFERS = 5
"""Buffers that Firefly posts before any receive."""
LONGEST_BUFFER_BYTES = 12_000
"""Firefly's own limit of messages that are sent without asking; with ``mpi: none`` it is the longest message."""


class Load(NamedTuple):
    """What a job that communicates does: ranks, messages, packets, longest message, and receives posted at a time."""

    ranks: int
    messages: float
    packets: float
    longest_bytes: int
    posted: float


def predict_cpu_s(point: Point) -> float:
    """Predict the processor time of a point."""
    loads = _loads(point)
    flits = int(point.network.packet_bytes) / flit_bytes(point)
    moved = sum(load.packets for load in loads) * (FLITS_OF_A_PACKET + flits) * DETOURS.get(point.routing.kind, 1.0)
    return (
        START_CPU_S
        + CPU_S_OF_A_RANK * (point.machine.nodes + sum(load.ranks for load in loads))
        + CPU_S_OF_A_FLIT * moved
        + CPU_S_OF_A_MATCH * sum(load.messages * load.posted for load in loads)
    )


def predict_memory_bytes(point: Point) -> float:
    """Predict the memory of a point.

    Each rank has a buffer, as long as the longest message of all jobs, for every receive that it has posted. Routes
    that are handed to anytopo come on top where they are many; they are not known before the machine is built.
    """
    loads = _loads(point)
    parts = point.machine.nodes + point.machine.routers + sum(load.ranks for load in loads)
    longest = max((load.longest_bytes for load in loads), default=0)
    if settings(point).mpi == "default":
        longest = min(longest, LONGEST_BUFFER_BYTES)
    return (
        START_BYTES
        + BYTES_OF_A_PART * parts
        + BYTES_OF_A_MESSAGE * sum(load.ranks * load.posted for load in loads)
        + longest * sum(load.ranks * (LEAST_BUFFERS + load.posted) for load in loads)
    )


def _loads(point: Point) -> list[Load]:
    packet, nodes, cores = int(point.network.packet_bytes), point.machine.nodes, point.machine.cores_per_node
    found = []
    for job in point.jobs:
        if not isinstance(job.pattern, MessagePattern):
            continue
        ranks = job.rank_count(nodes, cores)
        parts = job.pattern.traffic(ranks)
        # The parts of a pattern are phases of their own; Ember's motifs have a message or two outstanding.
        posted = max((part.messages / job.pattern.iterations / part.phases / ranks for part in parts), default=0.0)
        if settings(point).motifs == "native":
            posted = min(posted, 1.0)
        if settings(point).mpi == "default":
            posted = min(posted, SPARE_BUFFERS)
        found.append(
            Load(
                ranks,
                sum(part.messages for part in parts),
                sum(part.messages * (1 + part.size_bytes / packet) for part in parts),
                max((part.size_bytes for part in parts), default=0),
                posted,
            )
        )
    return found
