"""Units of CAMINOS: phits, which a study may choose, cycles, divisors, delays."""

from dataclasses import dataclass
from math import ceil

import numpy as np
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core.arrays import Floats, Integers, Ints
from fabricstudy.core.quantities import Size
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.ugal import Ugal
from fabricstudy.workload.operations import Operations

from ..contract import Unsupported
from ..job_traffic import traffic_classes
from ..point import Point
from ..settings import EngineSettings

GRID_ERROR = 0.01
MAX_DIVISOR = 256
MAX_DELAY_CYCLES = 999
"""Length of CAMINOS' event queue, in cycles."""

PACKETS_IN_BUFFER = 4
"""An output buffer is half an input buffer, and needs room for one packet that leaves and one that arrives."""

UGAL_SPEEDUP = 2
"""Phits through the crossbar while one leaves by the fastest link, under UGAL.

Its policy in CAMINOS sees what waits in outputs, and behind a crossbar as fast as the links that is next to nothing:
eight nodes that send to the next of eight routers then go minimally, and take 3.5 times as long as Valiant.
"""

OFFERED_PHITS = 4
"""Phits of a packet of offered traffic: each router stores a phit, a quarter of a packet, before it forwards it.

With one phit the latency without load is higher by the time of most of a packet for each hop, with eight lower by an
eighth, at twice the processor time. The saturation load does not depend on it.
"""


class CaminosSettings(EngineSettings, kind="caminos"):
    """CAMINOS; `phit` is the unit in which it moves data (default: one packet or a part of it)."""

    phit_bytes: Size | None = Field(
        None,
        alias="phit",
        description="unit in which data moves; left out: one packet or a part of it; smaller is slower",
    )
    inherited_phit_bytes: SkipJsonSchema[Size | None] = Field(
        None, alias="inherited_phit", description="phit of the point of which this is a baseline run; set when planned"
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

    Raises `Unsupported` if the bandwidths have no common grid, a delay is too long, a phit is larger than a packet or
    than all messages of a job, or a buffer holds less than four packets.
    """
    phit = phit_bytes(point)
    _check_stated_phit(point)
    units = _clock(point, machine, phit)
    while _longest_delay(units) > MAX_DELAY_CYCLES:
        if _settings(point).phit_bytes is not None:
            raise Unsupported(
                f"delays in CAMINOS are up to {MAX_DELAY_CYCLES} cycles, the longest is {_longest_delay(units)} at a "
                f"phit of {phit} B; choose a larger engine.phit, or leave it out"
            )
        phit *= 2
        units = _clock(point, machine, phit)
    packet, buffer = int(point.network.packet_bytes), int(point.network.buffer_bytes)
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


def _check_stated_phit(point: Point) -> None:
    """Raise `Unsupported` if the study's phit is larger than a packet, or than all messages of a job."""
    phit, packet = _settings(point).phit_bytes, int(point.network.packet_bytes)
    if phit is None:
        return
    if phit > packet:
        raise Unsupported(
            f"engine.phit is {phit} B, and packets are {packet} B; choose a phit of {packet} B at most, or a larger "
            "network.packet"
        )
    for index, job in enumerate(point.jobs):
        loads = traffic_classes(point.model_copy(update={"jobs": (job,)}))
        longest = max((load.message_bytes for load in loads), default=phit)
        if phit > longest:
            raise Unsupported(
                f"engine.phit is {phit} B, and no message of job {index} is longer than {longest} B; choose a phit of "
                f"{longest} B at most, or leave it out"
            )


def _settings(point: Point) -> CaminosSettings:
    """Return the study's keys of CAMINOS, or defaults for a point of the flow engine."""
    return point.engine if isinstance(point.engine, CaminosSettings) else CaminosSettings()


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
    """Return the phit of a point: that of the study, or else the largest that changes times by no more than 3 %.

    The longest message is cut into equal pieces of at most a packet; the phit is such a piece, or a half, quarter
    or eighth of it, the largest for which

    * no job's messages grow by more than 1 % when rounded up to whole phits, and
    * a node sends at least 100 phits in a phase, or 200 with detours: a phit is stored whole at each router, which
      delays the end of a phase by a few phit times (2 to 3, or 5 to 6).

    Smaller phits cost time and change little (``benches/phit.py``).

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
    stated = _settings(point).phit_bytes or _settings(point).inherited_phit_bytes
    if stated is not None:
        return int(stated)
    packet_bytes = int(point.network.packet_bytes)
    if point.offered is not None:
        longest = int(point.offered.message_bytes)
        return ceil(ceil(longest / ceil(longest / packet_bytes)) / OFFERED_PHITS)
    loads = traffic_classes(point)
    if not loads:
        return packet_bytes
    longest = max(load.message_bytes for load in loads)
    piece = ceil(longest / ceil(longest / packet_bytes))
    phits_needed = 100 if point.routing.minimal else 200
    least_burst = min(load.burst_bytes for load in loads)
    for parts in (1, 2, 4):
        phit = ceil(piece / parts)
        if least_burst >= phits_needed * phit and all(
            ceil(load.message_bytes / phit) * phit / load.message_bytes - 1 <= 0.01 for load in loads
        ):
            return phit
    return ceil(piece / 8)


def phits_of(size_bytes: Ints, phit: int) -> Ints:
    """Return the phits of messages; the last one may be partly empty."""
    return -(-size_bytes // phit)


def operation_cycles(operations: Operations, stream: Ints, units: Clock) -> Ints:
    """Return the cycles of the calcs of operations, int64 [operations]; `stream` are their streams, of all ranks.

    The total of a stream at any time is rounded to the nearest cycle.
    """
    order = np.argsort(stream, kind="stable")
    cycles = np.empty(len(order), dtype=np.int64)
    cycles[order] = _rounded(operations.duration_ns[order] / units.cycle_ns, stream[order])
    return cycles


def _rounded(parts: Floats, group: Integers) -> Ints:
    """Round numbers so that their sums from the beginning of each group are rounded; `group` is sorted."""
    past = np.cumsum(parts)
    first = np.searchsorted(group, group)
    whole = np.rint(past - np.append(0.0, past)[first]).astype(np.int64)
    rounded: Ints = np.diff(whole, prepend=0)
    rounded[first] = whole[first]
    return rounded
