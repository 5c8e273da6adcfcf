"""Resolution of a point: its phit, and its latencies as CAMINOS simulates them.

Apart from the adapter and its clock, of which a change makes all results outdated.
"""

from math import ceil
from typing import NamedTuple

from fabricstudy.machine.graph import Machine

from ..contract import Unsupported
from ..point import Point
from .clock import MAX_DELAY_CYCLES, clock


class RoundedLatency(NamedTuple):
    """Latency of a link and of the router before it, as set by the study and as simulated; links to nodes have half."""

    link_class: str
    set_ns: float
    simulated_ns: float


class Resolution(NamedTuple):
    """The unit in which data moves (phit), and latencies, which are rounded to cycles of it."""

    unit_bytes: int
    cycle_ns: float
    """Time by which latencies are rounded, in proportion to the unit."""
    finest_bytes: int
    """Smallest unit with which these latencies can be simulated."""
    ns_per_byte: float
    """Time of a byte on the slowest class of links."""
    latencies: tuple[RoundedLatency, ...]
    """By class of links; those to nodes are last."""


def resolution_of(point: Point, machine: Machine) -> Resolution | None:
    """Return the resolution of a point; None if CAMINOS cannot simulate it."""
    try:
        units = clock(point, machine)
    except Unsupported:
        return None
    links, router_ns = (*machine.classes, machine.host), point.network.router_latency_ns
    set_ns = [link.latency_ns + router_ns * (0.5 if link is machine.host else 1.0) for link in links]
    cycles = [delay - divisor for delay, divisor in zip(units.delays, units.divisors, strict=True)]
    # Delays at most: the longest latency, rounded up, and two phits of the slowest class.
    room = MAX_DELAY_CYCLES - 1 - 2 * max(units.divisors)
    return Resolution(
        unit_bytes=units.phit_bytes,
        cycle_ns=units.cycle_ns,
        finest_bytes=max(1, ceil(units.phit_bytes * max(set_ns) / units.cycle_ns / room)),
        ns_per_byte=max(units.divisors) * units.cycle_ns / units.phit_bytes,
        latencies=tuple(
            RoundedLatency(link.name, latency_ns, count * units.cycle_ns)
            for link, latency_ns, count in zip(links, set_ns, cycles, strict=True)
        ),
    )
