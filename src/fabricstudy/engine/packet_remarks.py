"""Warnings about packet sizes, and bytes stored per router, that determine the times of a point."""

from collections import Counter
from collections.abc import Iterable, Iterator

from fabricstudy.core.phrasing import quantity
from fabricstudy.workload.pattern.base import Pattern

from .engine import Engine
from .failures import Unsupported
from .job_traffic import hops_between, traffic_by_job
from .point import Point
from .registry import engine_of

LEAST_PACKETS, MOST_IN_FEW_PACKETS = 16, 0.1
"""Packets of a message from which on their size hardly matters, and the share of bytes that may have fewer."""

LEAST_STORED = 0.1
"""What routers store of the messages, over the lengths of these, from which on it is named."""


def packet_remarks(points: Iterable[Point]) -> dict[str, int]:
    """Return a text for each size that decides times, with its number of points; none on engines without packets."""
    found: Counter[str] = Counter()
    shares: dict[tuple[str, float], list[float]] = {}
    for point in points:
        engine = engine_of(point.engine)
        if few := list(_few_packets(point)):
            found.update(few if engine.stream_buffers(point, point.machine.build()) else ())
        # A router stores a packet at most: most points need no machine.
        if point.jobs and _stored_share(point, point.largest_packet_bytes) > LEAST_STORED:
            stored_bytes = _stored_bytes(point, engine)
            if (share := _stored_share(point, stored_bytes)) > LEAST_STORED:
                shares.setdefault((point.engine.kind, stored_bytes), []).append(share)
    for (kind, stored_bytes), of_points in shares.items():
        found[
            f"engine {kind} stores {quantity(stored_bytes, 'byte')} in each router before it forwards them, along a "
            f"mean path up to {max(of_points):.1f} times the length of the messages; this adds to their time without "
            "load (docs/notes/latency.md); lower network.packet"
        ] = len(of_points)
    return dict(found)


def _few_packets(point: Point) -> Iterator[str]:
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


def _stored_share(point: Point, stored_bytes: float) -> float:
    """Return the bytes stored in all routers of their paths over those of the messages."""
    hops = hops_between(point)
    sent = [(1 + hops * job.hops, part) for job in traffic_by_job(point) for part in job.classes]
    stored = sum(routers * part.messages * min(stored_bytes, part.message_bytes) for routers, part in sent)
    return stored / max(1.0, sum(part.messages * part.message_bytes for _, part in sent))


def _stored_bytes(point: Point, engine: Engine) -> float:
    machine = point.machine.build()
    try:
        stored_bytes = engine.stored_bytes(point, machine)
        # The count of channel classes takes longer.
        return stored_bytes if stored_bytes and engine.stream_buffers(point, machine) else 0.0
    except Unsupported:
        return 0.0
