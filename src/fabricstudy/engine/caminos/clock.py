"""Units of CAMINOS: phits, cycles, divisors, delays."""

from dataclasses import dataclass
from math import ceil

import numpy as np
from pydantic import Field

from fabricstudy.core.quantities import Size
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.ugal import Ugal

from ..failures import Unsupported
from ..point import Point
from ..settings import EngineSettings

GRID_ERROR = 0.01
MAX_DIVISOR = 256
MAX_DELAY_CYCLES = 999
"""Length of CAMINOS' event queue, in cycles."""

PACKETS_IN_BUFFER = 4
"""An output buffer is half an input buffer, and needs room for one packet that leaves and one that arrives."""

PHITS_OF_A_PACKET = 8
"""Phits of a packet by default: each router stores a phit, an eighth of a packet, before it forwards it."""
UGAL_SPEEDUP = 2
"""Phits through the crossbar while one leaves by the fastest link, under UGAL.

CAMINOS' UGAL policy reads the occupancy of the output buffers, which is almost zero if the crossbar is as fast as the
links: if eight nodes send to the next of eight routers, all packets are then routed minimally, and need 3.5 times as
long as with Valiant routing.
"""


class CaminosSettings(EngineSettings):
    """Keys of CAMINOS."""

    phit_bytes: Size | None = Field(
        None,
        alias="phit",
        description="unit in which data moves; left out: an eighth of a packet, or more where latencies are long; "
        "smaller is slower",
    )


@dataclass(frozen=True)
class Clock:
    """The machine in CAMINOS' units."""

    phit_bytes: int
    cycle_ns: float
    divisors: tuple[int, ...]
    """Cycles between two phits on a link, for each class of `Machine.classes` and then for the links to nodes."""
    delays: tuple[int, ...]
    """Cycles from a phit's start to its arrival, for the same classes."""
    crossbar_divisor: int
    """Cycles between two phits through the crossbar: those of the fastest class, or half of that under UGAL."""
    packet_phits: int
    buffer_phits: int
    """Size of an input buffer."""


def bandwidth_divisors(bandwidths_Bps: list[float]) -> tuple[int, ...]:
    """Return the smallest integers in inverse proportion to the bandwidths, to 1 %, up to 256, or raise `Unsupported`.

    Examples
    --------
    >>> bandwidth_divisors([1e9, 3.5e9, 1e9])
    (7, 2, 7)
    """
    slowness = max(bandwidths_Bps) / np.array(bandwidths_Bps)
    for fastest in range(1, int(MAX_DIVISOR / slowness.max()) + 1):
        divisors = np.rint(fastest * slowness)
        fit = fastest * slowness / divisors
        if fit.min() >= (1 - GRID_ERROR) * fit.max():
            return tuple(int(divisor) for divisor in divisors)
    raise Unsupported(
        f"CAMINOS needs bandwidths in a ratio of integers up to {MAX_DIVISOR} (to 1 %), not "
        + " : ".join(f"{bandwidth / 1e9:g}" for bandwidth in bandwidths_Bps)
        + " GB/s; choose simpler bandwidths"
    )


def clock(point: Point, machine: Machine) -> Clock:
    """Return the machine of a point in CAMINOS' units.

    Raises `Unsupported` if the bandwidths have no common grid, a delay is too long, a phit is larger than a packet, or
    a buffer holds less than four packets.
    """
    assert isinstance(point.engine, CaminosSettings)
    phit = phit_bytes(point)
    packet, buffer = int(point.network.packet_bytes), int(point.network.buffer_bytes)
    if phit > packet:
        raise Unsupported(
            f"engine.phit is {phit} B, and packets are {packet} B; choose a phit of {packet} B at most, or a larger "
            "network.packet"
        )
    units = _clock(point, machine, phit)
    while _longest_delay(units) > MAX_DELAY_CYCLES:
        if point.engine.phit_bytes is not None:
            raise Unsupported(
                f"delays in CAMINOS are up to {MAX_DELAY_CYCLES} cycles, the longest is {_longest_delay(units)} at a "
                f"phit of {phit} B; choose a larger engine.phit, or leave it out"
            )
        phit *= 2
        units = _clock(point, machine, phit)
    if units.phit_bytes > packet:
        raise Unsupported(
            f"delays in CAMINOS are up to {MAX_DELAY_CYCLES} cycles: the latencies of this machine need a phit of "
            f"{units.phit_bytes} B, and packets are {packet} B; choose a network.packet of at least that size"
        )
    if units.buffer_phits < PACKETS_IN_BUFFER * units.packet_phits:
        least = PACKETS_IN_BUFFER * units.packet_phits * units.phit_bytes
        raise Unsupported(
            f"network.buffer is {buffer} B, and CAMINOS needs room for {PACKETS_IN_BUFFER} packets; choose at "
            f"least {least} B, or a smaller network.packet"
        )
    return units


def _clock(point: Point, machine: Machine, phit: int) -> Clock:
    classes = (*machine.classes, machine.host)
    speedup = UGAL_SPEEDUP if isinstance(point.routing, Ugal) else 1
    divisors = tuple(speedup * divisor for divisor in bandwidth_divisors([link.bandwidth_Bps for link in classes]))
    # The longest cycle over all classes: then no simulated link is faster than the true one.
    cycle_ns = max(phit / link.bandwidth_Bps * 1e9 / divisor for link, divisor in zip(classes, divisors, strict=True))
    router_ns = point.network.router_latency_ns
    return Clock(
        phit_bytes=phit,
        cycle_ns=cycle_ns,
        divisors=divisors,
        # A packet over h cables passes h + 1 routers: both links to nodes have half of a router's latency.
        delays=tuple(
            divisor + round((link.latency_ns + router_ns * (0.5 if link is machine.host else 1.0)) / cycle_ns)
            for link, divisor in zip(classes, divisors, strict=True)
        ),
        crossbar_divisor=min(divisors) // speedup,
        packet_phits=max(1, point.network.packet_bytes // phit),
        buffer_phits=point.network.buffer_bytes // phit,
    )


def _longest_delay(units: Clock) -> int:
    """Return the cycles of CAMINOS' longest event: an acknowledgement also waits for the next tick of its link."""
    return max(delay + divisor for delay, divisor in zip(units.delays, units.divisors, strict=True))


def phit_bytes(point: Point) -> int:
    """Return the phit of a point before long latencies: that of the study, or else an eighth of a packet.

    Packets of offered traffic have one size, which divides its messages.
    """
    assert isinstance(point.engine, CaminosSettings)
    packet_bytes = int(point.network.packet_bytes)
    if point.offered is not None:
        message_bytes = int(point.offered.message_bytes)
        packet_bytes = ceil(message_bytes / ceil(message_bytes / packet_bytes))
    return int(point.engine.phit_bytes or ceil(packet_bytes / PHITS_OF_A_PACKET))
