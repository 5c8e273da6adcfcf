"""The packets of a point, and the buffers that have to hold some."""

from math import ceil

from ..contract import Unsupported
from ..job_traffic import TrafficClass, traffic_classes
from ..point import Point

LARGEST_GROWTH = 0.01
LARGEST_START = 0.02
"""On a torus: how much larger messages may get, and how much of a phase its first packet may wait."""

TORUS_START_NS_PER_BYTE = 10.0
"""What the first packet waits that a node of CODES' torus sends after a pause."""

TORUS_HOP_NS = 51.5
"""What a packet keeps a link of the torus busy beside its own time: 50 ns, and a random time of 1.5 ns on average."""

TORUS_AT_ONCE_BYTES = 32_000.0
"""What a node of a torus hands over at once: about 20 kB, each packet an event."""

MIN_EVENTS_PER_OBJECT, SPARE_EVENTS = 48, 1.5


def events_per_object(point: Point, at_once_bytes: float, packet: int) -> int:
    """Return the events of the simulation to have room for, for each simulated object; CODES breaks off without room.

    Parameters
    ----------
    at_once_bytes : float
        What a node hands over at once, at most: that of `CodesModel.burst_bytes`.
    packet : int
        Bytes of a packet.
    """
    burst = max((load.burst_bytes for load in traffic_classes(point)), default=0)
    return max(MIN_EVENTS_PER_OBJECT, ceil(SPARE_EVENTS * min(at_once_bytes, burst) / packet))


def packet_bytes(point: Point, bandwidth_Bps: float) -> int:
    """Return the size of packets on a torus: a part of the messages that suits it.

    A packet's end takes the time of a whole packet, and the first packet of a phase waits 10 ns a byte. So the
    longest message is cut into equal pieces, and these into 2, 4, 8 or 16: the largest by which what is sent grows by
    1 % at most, and whose wait is 2 % of what a node sends in a phase; if none waits so little, the smallest.

    Parameters
    ----------
    bandwidth_Bps : float
        Of a link between routers.

    Raises
    ------
    Unsupported
        If no such size will do.
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
            f"CODES' torus keeps a link busy {TORUS_HOP_NS:g} ns a packet beside its own time; choose a network.packet "
            f"and messages of {least:.0f} B or more"
        )
    even = [size for size in sizes if _growth(loads, size) <= LARGEST_GROWTH]
    if not even:
        raise Unsupported(
            "CODES' torus gives a packet's end the time of a whole packet, and these messages have no common packet; "
            "choose sizes that are multiples of one another, or another engine"
        )
    longest_start = min(load.burst_bytes for load in loads) / bandwidth_Bps * 1e9 * LARGEST_START
    return next((size for size in even if size * TORUS_START_NS_PER_BYTE <= longest_start), even[-1])


def _growth(loads: list[TrafficClass], packet: int) -> float:
    """How much larger the messages get by filling their last packets."""
    sent = sum(load.messages * load.message_bytes for load in loads)
    filled = sum(load.messages * ceil(load.message_bytes / packet) * packet for load in loads)
    return filled / sent - 1
