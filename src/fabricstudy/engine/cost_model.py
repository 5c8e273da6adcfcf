"""Predicted processor time and memory of a point, before it is built.

Both are linear (`CostModel`) in counts of operations and objects (`WorkCounts`) by the engine. The constants are in
``forecast.json`` of the engine's package; ``python -m benches.forecasts`` fits them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import ceil, log2
from typing import NamedTuple

from pydantic import Field

from fabricstudy.core.model import Model

from .job_traffic import hops_between, traffic_by_job
from .point import Point


@dataclass(frozen=True)
class WorkCounts:
    """Numbers of operations that cost processor time, and of objects that cost memory, by name."""

    cpu: Mapping[str, float]
    memory: Mapping[str, float]


class Fit(Model):
    """Data of a fit, and its quality by topology and routing.

    A ratio is predicted over measured: the median, and the range of 90 % of the records.
    """

    records: int
    source: str
    date: str
    processor: str
    programs: list[str]
    ratio: dict[str, tuple[float, float, float]]


class CostModel(Model):
    """Processor time (with that of preparing and reading) and memory, per operation and object."""

    cpu_s: dict[str, float]
    cpu_fit: Fit | None = None
    """None for constants that were not fitted."""
    memory_bytes: dict[str, float] = Field(default_factory=dict)
    memory_fit: Fit | None = None


@cache
def load_cost_model(package: str) -> CostModel:
    """Read the cost model of an engine from its package."""
    return CostModel.model_validate_json((files(package) / "forecast.json").read_text())


def weighted_sum(counts: Mapping[str, float], each: Mapping[str, float]) -> float:
    """Return the sum of counts times constants; counts without constant are free."""
    return sum(count * each.get(name, 0.0) for name, count in counts.items())


CROWD = 30
"""Messages that a node sends at once, minus one, above which nearly all units contend with others in routers."""


class NetworkTraffic(NamedTuple):
    """Units that all jobs send, router passages of these units, and passages under contention."""

    units: float
    in_routers: float
    contended_in_routers: float


def network_traffic(point: Point, unit_bytes: float) -> NetworkTraffic:
    """Count the units (phits, packets) in the network.

    Parameters
    ----------
    unit_bytes : float
        Size of a unit; the last one of a message counts as full. Infinite if messages are not cut.
    """
    between = hops_between(point)
    units = in_routers = contended_in_routers = 0.0
    for job in traffic_by_job(point):
        for part in job.classes:
            of_class = part.messages * max(1, ceil(part.message_bytes / unit_bytes))
            passed = of_class * (2 + job.hops * between)
            units += of_class
            in_routers += passed
            contended_in_routers += passed * min(max(0.0, (part.at_once - 1) / CROWD), 1.0)
    return NetworkTraffic(units, in_routers, contended_in_routers)


SMALL_PORTS = 64
"""Ports of all routers of a machine whose state fits into the processor's first cache."""


def port_doublings(point: Point) -> float:
    """Return how often the ports of all routers double, from `SMALL_PORTS`; at least 1."""
    return max(1.0, log2((2 * point.machine.cables + point.machine.nodes) / SMALL_PORTS))


def offered_factor(point: Point, per_doubling: float) -> float:
    """Return the time of a packet of offered traffic over that on small machines, whose packets wait in the caches.

    `per_doubling` was measured on dragonflies of 72 nodes, where the factor is 1, and 1,056.
    """
    return 1.0 + per_doubling * max(0.0, port_doublings(point) - 2.0)


def messages_of(point: Point) -> float:
    """Return the number of messages of all jobs."""
    return sum(part.messages for job in traffic_by_job(point) for part in job.classes)
