"""Forecasts: what a point takes before it is simulated, processor time and memory.

An engine says what it does for a point (`Work`); a law tells what that takes (`Law`). The constants of the law stand
in ``forecast.json`` of the engine's package. ``python -m benches forecasts`` fits them to stored records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import inf

from fabricstudy.core.model import Model
from fabricstudy.machine.base import EachClass

from .loads import AT_RANDOM
from .point import Point


@dataclass(frozen=True)
class Work:
    """What an engine does for a point.

    Parameters
    ----------
    carried : mapping of str to float
        For each kind of pattern, what its jobs send, in the units that the engine moves: phits, flits or packets. What
        jobs send whose ranks stand at random has a name of its own, see `JobTraffic.work`.
    unit_bytes : float
        Size of a unit.
    once : mapping of str to float
        What is done beside that, by name: runs, messages, nodes.
    memory : mapping of str to float
        What takes memory, by name.
    """

    carried: Mapping[str, float]
    unit_bytes: float
    once: Mapping[str, float]
    memory: Mapping[str, float]


class Fit(Model):
    """How well a law meets the records that it was fitted to; errors are factors, up or down."""

    records: int
    programs: list[str]
    processor: str
    cpu_error_median: float
    cpu_error_95: float
    memory_error_95: float


class Law(Model):
    """Constants of an engine.

    Parameters
    ----------
    once_s, memory_bytes : dict of str to float
        Processor time and memory for one of each.
    unit_s : float
        Processor time for a unit in a router.
    crowd_power, slow_power, port_power, size_power : float
        Exponents of the units that a node sends, of the bandwidth of a node over that of the slowest link, of the
        ports of a router and of the size of a unit: what waits costs time, too, and so does looking after ports.
    routing, topology, pattern : dict of str to float
        Factors by kind; 1 for a kind that no record had.
    """

    once_s: dict[str, float]
    unit_s: float
    crowd_power: float
    slow_power: float
    port_power: float
    size_power: float
    routing: dict[str, float]
    topology: dict[str, float]
    pattern: dict[str, float]
    memory_bytes: dict[str, float]
    fit: Fit


@cache
def law_of(package: str) -> Law:
    """Read the law of an engine from its package."""
    return Law.model_validate_json((files(package) / "forecast.json").read_text())


def cpu_s(point: Point, work: Work, law: Law) -> float:
    """Predict the processor time of a point."""
    machine = point.machine
    units = sum(count * _of_pattern(kind, law) for kind, count in work.carried.items())
    crowd = max(1.0, sum(work.carried.values()) / machine.nodes)
    factors = law.routing.get(point.routing.kind, 1.0) * law.topology.get(machine.kind, 1.0)
    powers: float = crowd**law.crowd_power * slowness(point) ** law.slow_power * ports(point) ** law.port_power
    powers *= work.unit_bytes**law.size_power
    once = sum(count * law.once_s.get(name, 0.0) for name, count in work.once.items())
    carried: float = law.unit_s * routers_passed(point) * units * factors * powers
    return once + carried


def _of_pattern(kind: str, law: Law) -> float:
    return law.pattern.get(kind, law.pattern.get(kind.removesuffix(AT_RANDOM), 1.0))


def memory_bytes(work: Work, law: Law) -> float:
    """Predict the memory of a point."""
    return sum(count * law.memory_bytes.get(name, 0.0) for name, count in work.memory.items())


def routers_passed(point: Point) -> float:
    """Routers on the way of a packet, about, and its way in and out."""
    return point.machine.typical_hops + 2


def ports(point: Point) -> float:
    """Ports of a router, on average."""
    machine = point.machine
    return (2 * machine.cables + machine.nodes) / machine.routers


def slowness(point: Point) -> float:
    """Bandwidth of a node over that of the slowest link, 1 at least."""
    host_Bps, slowest_Bps = bandwidths(point)
    return max(1.0, host_Bps / slowest_Bps)


def bandwidths(point: Point) -> tuple[float, float]:
    """Bandwidth of a node and of the slowest link between routers, in B/s; 0 and infinite where none is stated."""
    host_Bps, slowest_Bps = 0.0, inf
    stated = getattr(point.machine, "bandwidth", None)
    for name, value in stated if isinstance(stated, EachClass) else ():
        if name == "host_Bps":
            host_Bps = value
        else:
            slowest_Bps = min(slowest_Bps, *(value if isinstance(value, tuple) else (value,)))
    return host_Bps, slowest_Bps
