"""A point: one fully specified simulation, and the ids derived from its physics."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from fabricstudy.core.model import ConfigError, Model, Whole, model_check
from fabricstudy.core.quantities import BASE_UNITS_CONTEXT
from fabricstudy.machine.base import Topology
from fabricstudy.routing.base import Routing
from fabricstudy.workload.job import MAX_JOBS, Job
from fabricstudy.workload.mapping.linear import LinearMapping
from fabricstudy.workload.offered import Offered
from fabricstudy.workload.pattern.idle import Idle

from .settings import EngineSettings, Network


@dataclass(frozen=True)
class PlannedPoint:
    """A distinct point and its ids."""

    point_id: str
    machine_id: str
    point: Point


class Point(Model):
    """Machine, placed jobs, routing, engine and seed of one simulation."""

    machine: Topology = Field(description="routers, links and nodes")
    routing: Routing = Field(description="how packets find their way")
    jobs: tuple[Job, ...] = Field((), max_length=MAX_JOBS, description="jobs; nodes are given out in this order")
    offered: Offered | None = Field(None, description="steady traffic that all nodes offer, instead of jobs")
    network: Network = Field(default_factory=Network, description="routers and network interfaces")
    engine: EngineSettings = Field(description="the simulator")
    seed: Whole = Field(ge=0, lt=2**31)

    @model_check
    def _has_traffic(self) -> None:
        if bool(self.jobs) == (self.offered is not None):
            raise ConfigError(
                "a point has either jobs or offered", "write one of them", ("jobs",), code="conflicting-keys"
            )

    @model_check
    def _has_classes(self) -> None:
        for index, job in enumerate(self.jobs):
            classes = [name for name, _ in self.network.classes]
            optional = not classes or job.pattern.is_idle
            if job.traffic_class not in classes and not (job.traffic_class is None and optional):
                problem = "no such traffic class" if job.traffic_class else "the job has no traffic class"
                remedy = f"use one of {', '.join(classes)}" if classes else "list it with its share in network.classes"
                raise ConfigError(problem, remedy, ("jobs", str(index), "class"), job.traffic_class, "unknown-name")

    @property
    def largest_packet_bytes(self) -> int:
        """Bytes of the largest packet, where messages are not shorter."""
        packet_bytes = int(self.network.packet_bytes)
        message_bytes = self.offered and self.offered.message_bytes
        return min(packet_bytes, message_bytes) if isinstance(message_bytes, int) else packet_bytes

    def class_of(self, job: int) -> int:
        """Return the number of a job's traffic class."""
        return [None, *(name for name, _ in self.network.classes)].index(self.jobs[job].traffic_class) - 1


def canonical_json(value: Any) -> str:
    """Return JSON text that is the same for equal values: sorted keys, no blanks."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(prefix: str, text: str) -> str:
    """Return `prefix` and 12 hexadecimal digits of the SHA-256 of `text`."""
    return prefix + hashlib.sha256(text.encode()).hexdigest()[:12]


def point_id(point: Point) -> str:
    """Return "p" and 12 hexadecimal digits of the SHA-256 of all values that affect the result."""
    return id_of(point.physics())


def id_of(physics: dict[str, Any]) -> str:
    """Return the id of the point with the given `Point.physics`."""
    texts: dict[str, str | list[str]] = {name: canonical_json(physics[name]) for name in physics if name != "seed"}
    return ids_of(texts, [physics["seed"]])[0]


def ids_of(texts: Mapping[str, str | list[str]], seeds: Iterable[int]) -> list[str]:
    """Return the ids of points that differ in their seeds, from the canonical JSON of their other parts.

    A list of texts is the list of their values. Points share most of their parts, so each text is written once.
    """
    whole = {name: text if isinstance(text, str) else f"[{','.join(text)}]" for name, text in texts.items()}
    # The seed is the last key in alphabetical order; empty parts are left out.
    head = "".join(f'"{name}":{text},' for name, text in sorted(whole.items()) if text != "{}")
    return [digest("p", f'{{{head}"seed":{seed}}}') for seed in seeds]


def machine_id(machine: Topology) -> str:
    """Return "m" and 12 hexadecimal digits of the SHA-256 over the machine's description."""
    return digest("m", canonical_json(machine.physics()))


def idle_job(job: Job) -> Job:
    """Return a job that occupies the nodes of `job` and sends nothing."""
    idle = {"name": "app", "pattern": Idle(), "mapping": LinearMapping(), "background": False, "compute": None}
    idle |= {"traffic_class": None, "start_ns": 0.0, "load": None}
    return job.model_copy(update=idle)


def point_from_json(data: Any) -> Point:
    """Return the point of a ``model_dump(mode="json")``."""
    return Point.model_validate(data, context=BASE_UNITS_CONTEXT)
