"""The packets of a point."""

from __future__ import annotations

from math import ceil

from fabricstudy.study import Idle, Point
from fabricstudy.study.workloads.patterns import Traffic

from .network import Unsupported

LARGEST_GROWTH = 0.01


def traffic_of(point: Point) -> list[Traffic]:
    """Messages of all jobs by size, in closed form."""
    return [
        part
        for job in point.jobs
        if not isinstance(job.pattern, Idle)
        for part in job.pattern.traffic(job.rank_count(point.machine.nodes, point.machine.cores_per_node))
    ]


def packet_bytes(point: Point) -> int:
    """Give the size of packets: what the study says, and on a torus a part of the messages that fits it.

    There a packet's end takes the time of a whole packet. So the longest message is cut into equal pieces, or these
    into 2, 4 or 8, until what the messages grow by is 1 % of all that is sent.

    Raises
    ------
    Unsupported
        If no such size will do.
    """
    largest = int(point.network.packet_bytes)
    parts = traffic_of(point)
    if point.machine.kind not in ("torus", "bluegene-q", "bluegene-p") or not parts:
        return largest
    longest = max(part.size_bytes for part in parts)
    piece = ceil(longest / ceil(longest / largest))
    for divisor in (1, 2, 4, 8):
        packet = ceil(piece / divisor)
        if _growth(parts, packet) <= LARGEST_GROWTH:
            return packet
    raise Unsupported(
        "CODES' torus gives a packet's end the time of a whole packet, and the sizes of these messages have no common "
        "packet; choose sizes that are multiples of one another, or another engine"
    )


def _growth(parts: list[Traffic], packet: int) -> float:
    """How much larger the messages get by filling their last packets."""
    sent = sum(part.messages * part.size_bytes for part in parts)
    filled = sum(part.messages * ceil(part.size_bytes / packet) * packet for part in parts)
    return filled / sent - 1
