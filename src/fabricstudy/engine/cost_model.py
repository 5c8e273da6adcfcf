"""Forecasts: the processor time and the memory of a point, before anything of it is built.

An engine counts what it does for a point (`WorkCounts`), and time and memory are linear in these counts (`CostModel`).
Constants are in ``forecast.json`` of the engine's package, with what ``python -m benches.forecasts`` fitted them to.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import ceil, inf
from typing import NamedTuple

from fabricstudy.core.model import Model
from fabricstudy.machine.base import EachClass
from fabricstudy.routing.base import Routing
from fabricstudy.routing.ugal import Ugal
from fabricstudy.routing.valiant import Valiant

from .job_traffic import traffic_by_job
from .point import Point

ROUTING_HOP_FACTORS: Mapping[type[Routing], float] = {Valiant: 2.0, Ugal: 1.5}
"""Hops of a routing over those of shortest paths, about: a detour has two ways, and UGAL makes some."""


@dataclass(frozen=True)
class WorkCounts:
    """What an engine does for a point: how often, by the name of what takes time, and of what takes memory."""

    cpu: Mapping[str, float]
    memory: Mapping[str, float]


class Fit(Model):
    """What constants were fitted to, when and where, and how well they do, by topology and routing.

    A ratio is forecast over measured: the median, and the ends of the range of 90 % of the records.
    """

    records: int
    source: str
    date: str
    processor: str
    programs: list[str]
    ratio: dict[str, tuple[float, float, float]]


class CostModel(Model):
    """Processor time (that of preparing and reading included) and memory, for one of each that is counted."""

    cpu_s: dict[str, float]
    cpu_fit: Fit
    memory_bytes: dict[str, float]
    memory_fit: Fit


@cache
def load_cost_model(package: str) -> CostModel:
    """Read the law of an engine from its package."""
    return CostModel.model_validate_json((files(package) / "forecast.json").read_text())


def weighted_sum(counts: Mapping[str, float], each: Mapping[str, float]) -> float:
    """Sum of counts, each times its constant; what has none takes nothing."""
    return sum(count * each.get(name, 0.0) for name, count in counts.items())


CROWD = 30
"""Messages that a node sends at once beside one, with which nearly all units meet others that go their way."""


class NetworkTraffic(NamedTuple):
    """Units that all jobs send, the routers that these pass together, and those that they pass in a crowd."""

    units: float
    in_routers: float
    crowded_in_routers: float


def network_traffic(point: Point, unit_bytes: float) -> NetworkTraffic:
    """Count what the network carries.

    Parameters
    ----------
    unit_bytes : float
        Size of what a message is cut into, the last one a whole one; infinite where it is not cut.
    """
    between = ROUTING_HOP_FACTORS.get(type(point.routing), 1.0) * point.machine.typical_hops
    units = in_routers = crowded_in_routers = 0.0
    for job in traffic_by_job(point):
        for part in job.classes:
            of_class = part.messages * max(1, ceil(part.message_bytes / unit_bytes))
            passed = of_class * (2 + job.hops * between)
            units += of_class
            in_routers += passed
            crowded_in_routers += passed * min(max(0.0, (part.at_once - 1) / CROWD), 1.0)
    return NetworkTraffic(units, in_routers, crowded_in_routers)


def messages_of(point: Point) -> float:
    """Return the messages that all jobs send."""
    return sum(part.messages for job in traffic_by_job(point) for part in job.classes)


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
