"""A point: one fully specified simulation, and the ids derived from its physics."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import Field, TypeAdapter

from .base import Model, Whole
from .engines import EngineConfig, Network
from .machines import MachineConfig
from .routings import RoutingConfig
from .units import OUR_UNITS
from .workloads import Idle, Job, LinearMapping


class Point(Model):
    """Machine, placed jobs, routing, engine and seed of one simulation."""

    machine: MachineConfig = Field(description="routers, links and nodes")
    routing: RoutingConfig = Field(description="how packets find their way")
    jobs: tuple[Job, ...] = Field(min_length=1, max_length=1000, description="jobs; nodes are given out in this order")
    network: Network = Field(default_factory=Network, description="routers and network interfaces")
    engine: EngineConfig = Field(description="the simulator")
    seed: Whole = Field(ge=0, lt=2**31)


def canonical_json(value: Any) -> str:
    """JSON text that is the same for equal values: sorted keys, no blanks."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(prefix: str, text: str) -> str:
    """Give `prefix` and 12 hexadecimal digits of the SHA-256 of `text`."""
    return prefix + hashlib.sha256(text.encode()).hexdigest()[:12]


def physics(point: Point) -> dict[str, Any]:
    """Everything that can change the outcome of a simulation, and nothing else (no names)."""
    data = point.model_dump(mode="json")
    data["jobs"] = [_without_names(job) for job in data["jobs"]]
    return data


def job_physics(job: Job) -> dict[str, Any]:
    """Give the part of `physics` that belongs to a job."""
    return _without_names(job.model_dump(mode="json"))


def _without_names(job: dict[str, Any]) -> dict[str, Any]:
    del job["name"]
    job["mapping"].pop("file", None)  # its content counts
    return job


def point_id(point: Point) -> str:
    """Give "p" and 12 hexadecimal digits of the SHA-256 over the point's physics."""
    return digest("p", canonical_json(physics(point)))


def machine_id(machine: MachineConfig) -> str:
    """Give "m" and 12 hexadecimal digits of the SHA-256 over the machine's description."""
    return digest("m", canonical_json(machine.model_dump(mode="json")))


def alone(point: Point, job: int) -> Point:
    """Give the point in which only `job` communicates, on the nodes it has in `point`.

    The other jobs hold their nodes and are idle; jobs after `job` are left out, since allocation goes in order.
    """
    return point.model_copy(update={"jobs": (*map(silent, point.jobs[:job]), point.jobs[job])})


def silent(job: Job) -> Job:
    """Give a job that holds the nodes of `job` and sends nothing."""
    return job.model_copy(update={"name": "app", "pattern": Idle(), "mapping": LinearMapping()})


_MACHINE: TypeAdapter[MachineConfig] = TypeAdapter(MachineConfig)


def point_from_json(data: Any) -> Point:
    """Read a point that ``model_dump(mode="json")`` wrote."""
    return Point.model_validate(data, context=OUR_UNITS)


def machine_from_json(data: Any) -> MachineConfig:
    """Read a machine's description that ``model_dump(mode="json")`` wrote."""
    return _MACHINE.validate_python(data, context=OUR_UNITS)
