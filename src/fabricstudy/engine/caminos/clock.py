"""A point in CAMINOS' units: phits, cycles, divisors, delays."""

from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from fabricstudy.engine.caminos.settings import CaminosSettings
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import NonMinimalRouting
from fabricstudy.workload.messages import Computing

from ..contract import Unsupported
from ..job_traffic import traffic_classes
from ..point import Point

GRID_ERROR = 0.01
MAX_DIVISOR = 256
MAX_DELAY_CYCLES = 999
"""CAMINOS' event queue reaches no further, in cycles."""

PACKETS_IN_BUFFER = 4
"""A router's output has half of what an input has, and needs room for one packet that leaves and one that comes."""


OFFERED_PHITS = 4
"""Phits of a packet of offered traffic: each router stores a phit, a quarter of a packet, before it forwards it.

With one phit the latency without load is higher by the time of most of a packet for each hop, with eight lower by an
eighth, at twice the processor time. The saturation load does not depend on it.
"""


@dataclass(frozen=True)
class Clock:
    """The machine in CAMINOS' units.

    Parameters
    ----------
    phit_bytes, cycle_ns : int, float
        What the units are.
    divisors, delays : tuple of int
        Cycles between two phits on a link, and from a phit's start to its arrival, for each class of `Machine.classes`
        and then for the links to nodes.
    crossbar_divisor : int
        Cycles between two phits through the crossbar: those of the fastest class.
    packet_phits, buffer_phits : int
        Size of packets, and of each input buffer.
    """

    phit_bytes: int
    cycle_ns: float
    divisors: tuple[int, ...]
    delays: tuple[int, ...]
    crossbar_divisor: int
    packet_phits: int
    buffer_phits: int


def bandwidth_divisors(bandwidths_Bps: list[float]) -> tuple[int, ...]:
    """Return the smallest integers in inverse proportion to the bandwidths, such that no two are off by more than 1 %.

    Raises
    ------
    Unsupported
        If there are none up to 256.

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
    """Put the machine of a point into CAMINOS' units.

    Raises
    ------
    Unsupported
        If the bandwidths have no common grid, a delay is too long, a phit is larger than a packet or than all messages
        of a job, or a buffer holds less than four packets.
    """
    phit = phit_bytes(point)
    _check_given_phit(point)
    units = _clock(point, machine, phit)
    while _longest_delay(units) > MAX_DELAY_CYCLES:
        if _settings(point).phit_bytes is not None:
            raise Unsupported(
                f"CAMINOS takes delays up to {MAX_DELAY_CYCLES} cycles, the longest is {_longest_delay(units)} at a "
                f"phit of {phit} B; choose a larger engine.phit, or leave it out"
            )
        phit *= 2
        units = _clock(point, machine, phit)
    _check_sizes(point, units)
    return units


def _check_given_phit(point: Point) -> None:
    """Refuse a phit of the study's that would blow up packets or messages."""
    given = _settings(point).phit_bytes
    if given is None:
        return
    packet = int(point.network.packet_bytes)
    if given > packet:
        raise Unsupported(
            f"engine.phit is {given} B, and packets are {packet} B; choose a phit of {packet} B at most, or a larger "
            "network.packet"
        )
    for index, job in enumerate(point.jobs):
        loads = traffic_classes(point.model_copy(update={"jobs": (job,)}))
        longest = max((load.message_bytes for load in loads), default=given)
        # Of messages of many sizes the short ones are rounded up, and weigh little.
        if given > longest:
            raise Unsupported(
                f"engine.phit is {given} B, and no message of job {index} is longer than {longest} B; choose a phit of "
                f"{longest} B at most, or leave it out"
            )


def _check_sizes(point: Point, units: Clock) -> None:
    packet, buffer = int(point.network.packet_bytes), int(point.network.buffer_bytes)
    if units.phit_bytes > packet:
        raise Unsupported(
            f"CAMINOS takes delays up to {MAX_DELAY_CYCLES} cycles: the latencies of this machine ask for a phit of "
            f"{units.phit_bytes} B, and packets are {packet} B; choose a network.packet of that size at least"
        )
    if units.buffer_phits < PACKETS_IN_BUFFER * units.packet_phits:
        least = PACKETS_IN_BUFFER * units.packet_phits * units.phit_bytes
        raise Unsupported(
            f"network.buffer is {buffer} B, and CAMINOS needs room for {PACKETS_IN_BUFFER} packets; choose {least} B "
            "at least, or a smaller network.packet"
        )


def _settings(point: Point) -> CaminosSettings:
    """Return what the study says of CAMINOS; nothing for a point of another engine that uses these files."""
    return point.engine if isinstance(point.engine, CaminosSettings) else CaminosSettings()


def _clock(point: Point, machine: Machine, phit: int) -> Clock:
    classes = (*machine.classes, machine.host)
    divisors = bandwidth_divisors([link.bandwidth_Bps for link in classes])
    # The longest of the cycles that the classes ask for: then no simulated link is faster than the true one.
    cycle_ns = max(phit / link.bandwidth_Bps * 1e9 / divisor for link, divisor in zip(classes, divisors, strict=True))
    router_ns = point.network.router_latency_ns
    packet_phits = max(1, point.network.packet_bytes // phit)
    return Clock(
        phit_bytes=phit,
        cycle_ns=cycle_ns,
        divisors=divisors,
        # A packet over h cables passes h + 1 routers: each of the two links to nodes has half of a router's latency.
        delays=tuple(
            divisor + round((link.latency_ns + router_ns * (0.5 if link is machine.host else 1.0)) / cycle_ns)
            for link, divisor in zip(classes, divisors, strict=True)
        ),
        crossbar_divisor=min(divisors),
        packet_phits=packet_phits,
        buffer_phits=point.network.buffer_bytes // phit,
    )


def _longest_delay(units: Clock) -> int:
    """Cycles that CAMINOS may have to plan ahead: an acknowledgement waits for the next tick of its link, too."""
    return max(delay + divisor for delay, divisor in zip(units.delays, units.divisors, strict=True))


def phit_bytes(point: Point) -> int:
    """Return the phit of a point: what the study says, or else the largest that changes times by no more than 3 %.

    The longest message is cut into equal pieces of at most a packet; the phit is such a piece, or a half, quarter
    or eighth of it, the largest for which

    * no job's messages grow by more than 1 % by being rounded up to whole phits, and
    * what a node sends in one phase is 100 phits or more, and 200 where routing makes detours: a phit is stored
      whole at each router, which delays the end of a phase by a few phit times (2 to 3, or 5 to 6).

    Smaller ones cost time and change little: ``benches/phit.py`` measures it.

    Examples
    --------
    >>> from fabricstudy.engine.point import Point
    >>> def choose(pattern: str, message: str) -> int:
    ...     return phit_bytes(Point.model_validate({"seed": 1, "engine": "caminos", "routing": {"kind": "minimal"},
    ...         "machine": {"kind": "dragonfly", "groups": 9, "routers_per_group": 4, "nodes_per_router": 2,
    ...                     "bandwidth": "1 GB/s"},
    ...         "jobs": [{"share": 1, "pattern": {"kind": pattern, "message": message}}]}))
    >>> choose("all-to-all", "100 kB"), choose("all-to-all", "2.1 kB"), choose("ring", "40 kB"), choose("ring", "1 kB")
    (2000, 1050, 500, 125)
    """
    given = _settings(point).phit_bytes or _settings(point).inherited_phit_bytes
    if given is not None:
        return int(given)
    packet_bytes = int(point.network.packet_bytes)
    if point.offered is not None:
        longest = int(point.offered.message_bytes)
        return ceil(ceil(longest / ceil(longest / packet_bytes)) / OFFERED_PHITS)
    loads = traffic_classes(point)
    if not loads:
        return packet_bytes
    longest = max(load.message_bytes for load in loads)
    piece = ceil(longest / ceil(longest / packet_bytes))
    phits_needed = 200 if isinstance(point.routing, NonMinimalRouting) else 100
    least_burst = min(load.burst_bytes for load in loads)
    for parts in (1, 2, 4):
        phit = ceil(piece / parts)
        if least_burst >= phits_needed * phit and all(_growth(load.message_bytes, phit) <= 0.01 for load in loads):
            return phit
    return ceil(piece / 8)


def _growth(message_bytes: int, phit: int) -> float:
    return ceil(message_bytes / phit) * phit / message_bytes - 1


def phits_of(size_bytes: npt.NDArray[np.int64], phit: int) -> npt.NDArray[np.int64]:
    """Phits of messages: the last one may be partly empty."""
    return -(-size_bytes // phit)


def cycles_of(computing: Computing, units: Clock) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Cycles for which ranks compute before and beside the messages of a phase, int64 [rows] each.

    They are rounded such that what a rank has computed at any time is off by half a cycle at most.
    """
    order = np.lexsort((computing.phase, computing.rank))
    parts_ns = np.stack([computing.before_ns, computing.overlapped_ns], axis=1)[order].reshape(-1)
    past_ns = np.cumsum(parts_ns)
    rank = computing.rank[order]
    first = 2 * np.searchsorted(rank, rank)
    past_ns -= np.repeat(np.append(0.0, past_ns)[first], 2)
    past = np.rint(past_ns / units.cycle_ns).astype(np.int64)
    cycles = np.diff(past, prepend=0)
    cycles[first] = past[first]
    rows = np.empty((len(order), 2), dtype=np.int64)
    rows[order] = cycles.reshape(-1, 2)
    return rows[:, 0], rows[:, 1]
