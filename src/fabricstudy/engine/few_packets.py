"""Messages of so few packets that their number changes the time of a program."""

from collections import Counter
from collections.abc import Iterator

from fabricstudy.workload.pattern.base import Pattern

from .point import Point

LEAST_PACKETS, MOST_IN_FEW_PACKETS = 16, 0.1
"""Packets of a message from which on their size hardly matters, and the share of bytes that may have fewer."""


def few_packets(point: Point) -> Iterator[str]:
    """Yield a text for each program of a point that has much of its bytes in messages of few packets."""
    least_bytes = LEAST_PACKETS * point.network.packet_bytes
    for job in (job for job in point.jobs if type(job.pattern).estimates is not Pattern.estimates):
        sizes = Counter[bool]()
        for part in job.pattern.traffic(job.rank_count(point.machine.nodes, point.machine.cores_per_node)):
            sizes[part.size_bytes < least_bytes] += int(part.messages * part.size_bytes)
        few = sizes[True] / max(1, sizes.total())
        if few > MOST_IN_FEW_PACKETS:
            yield (
                f"{few:.0%} of the bytes of job {job.name} are in messages of fewer than {LEAST_PACKETS} packets, "
                "whose number changes the time by some per cent (docs/concepts/training.md); lower network.packet"
            )
