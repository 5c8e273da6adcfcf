"""Packets and events of a point."""

from math import ceil

from ..failures import Unsupported
from ..job_traffic import TrafficClass, traffic_classes
from ..point import Point

LARGEST_GROWTH = 0.01
LARGEST_START = 0.02
"""On a torus: maximum growth of messages, and maximum delay of a phase's first packet, relative to the phase."""

TORUS_START_NS_PER_BYTE = 10.0
"""Delay of the first packet that a node of CODES' torus sends after a pause."""

TORUS_HOP_NS = 51.5
"""Time that a packet occupies a link of the torus in addition: 50 ns, and a random time of 1.5 ns on average."""

TORUS_AT_ONCE_BYTES = 32_000.0
"""Bytes that a node of a torus injects at once, each packet an event: about 20 kB, and a margin."""

MIN_EVENTS_PER_OBJECT, SPARE_EVENTS = 48, 1.5


def events_per_object(point: Point, at_once_bytes: float, packet: int) -> int:
    """Return the events to allocate for each simulated object; CODES aborts when none is free.

    `at_once_bytes` are those that a node injects at once (see `CodesModel.burst_bytes`), `packet` those of a packet.
    """
    burst = max((load.burst_bytes for load in traffic_classes(point)), default=0)
    return max(MIN_EVENTS_PER_OBJECT, ceil(SPARE_EVENTS * min(at_once_bytes, burst) / packet))


def packet_bytes(point: Point, bandwidth_Bps: float) -> int:
    """Return the size of packets on a torus, given the bandwidth of links between routers.

    The last packet of a message costs as much time as a full one, and the first packet of a phase is delayed by 10 ns
    per byte. So the longest message is cut into equal pieces, and these into 2, 4, 8 or 16: the largest by which
    traffic grows by at most 1 %, and whose delay is at most 2 % of a phase of a node; if no delay is so short, the
    smallest. Raises `Unsupported` if there is no suitable size.
    """
    largest, loads = int(point.network.packet_bytes), traffic_classes(point)
    if not loads:
        return largest
    longest = max(load.message_bytes for load in loads)
    piece = ceil(longest / ceil(longest / largest))
    least = 2 * TORUS_HOP_NS * bandwidth_Bps / 1e9
    sizes = [size for size in (ceil(piece / divisor) for divisor in (1, 2, 4, 8, 16)) if size >= least]
    if not sizes:
        raise Unsupported(
            f"on CODES' torus a packet occupies a link for {TORUS_HOP_NS:g} ns in addition; choose a network.packet "
            f"and messages of {least:.0f} B or more"
        )
    even = [size for size in sizes if _growth(loads, size) <= LARGEST_GROWTH]
    if not even:
        raise Unsupported(
            "on CODES' torus the last packet costs as much time as a full one, and these messages have no common "
            "packet size; choose sizes that are multiples of one another, or another engine"
        )
    longest_start = min(load.burst_bytes for load in loads) / bandwidth_Bps * 1e9 * LARGEST_START
    return next((size for size in even if size * TORUS_START_NS_PER_BYTE <= longest_start), even[-1])


def _growth(loads: list[TrafficClass], packet: int) -> float:
    """Return the relative growth of messages whose last packets are filled."""
    sent = sum(load.messages * load.message_bytes for load in loads)
    filled = sum(load.messages * ceil(load.message_bytes / packet) * packet for load in loads)
    return filled / sent - 1
