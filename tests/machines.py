"""Machines, points and jobs of tests and benches: one place where they are written."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from fabricstudy.engine.point import Point, idle_job
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import LinkClass, Machine
from fabricstudy.routing.base import Routing
from fabricstudy.workload.messages import Messages, PlacedJob
from fabricstudy.workload.placing import place

DRAGONFLY: dict[str, Any] = {
    "kind": "dragonfly",
    "groups": 9,
    "routers_per_group": 4,
    "nodes_per_router": 2,
    "cores_per_node": 2,
    "bandwidth": {"local": "1 GB/s", "global": "1 GB/s", "host": "1 GB/s"},
}
"""The small machine of the dragonfly studies: 36 routers, 72 nodes."""


class FourRouters(Topology):
    """Base of topologies that tests register: four routers with a node each, and four cables."""

    @property
    def routers(self) -> int:
        return 4

    @property
    def nodes(self) -> int:
        return 4

    @property
    def cables(self) -> int:
        return 4


def point_on(
    machine: dict[str, Any] | Topology,
    routing: str | dict[str, Any] | Routing = "minimal",
    pattern: str | dict[str, Any] = "all-to-all",
    message: str = "100 kB",
    seed: int = 1,
    **more: Any,
) -> Point:
    """Point with one job on all nodes, unless `jobs` is among `more`, which replaces whole sections."""
    of_kind = {"kind": pattern} if isinstance(pattern, str) else pattern
    sections = {
        "machine": machine,
        "routing": {"kind": routing} if isinstance(routing, str) else routing,
        "jobs": [{"share": 1.0, "pattern": {"message": message} | of_kind}],
        "engine": "caminos",
        "seed": seed,
    }
    return Point.model_validate(sections | more)


def baseline_point(point: Point, job: int) -> Point:
    """Return the point in which only `job` communicates, on the nodes it has in `point`."""
    return point.model_copy(update={"jobs": (*map(idle_job, point.jobs[:job]), point.jobs[job])})


def place_jobs(point: Point, machine: Machine) -> list[PlacedJob]:
    """Place the jobs of a point; the first routers are one half of the machine."""
    return place(point, machine, np.arange(machine.routers) < machine.routers // 2)


def job_of(nodes: list[int], messages: list[tuple[int, int, int, int]]) -> PlacedJob:
    """Job of ranks on `nodes`; a message is phase, source, destination, bytes."""
    columns = np.array(messages, dtype=np.int64).reshape(-1, 4).T
    phase, source, destination = columns[:3].astype(np.int32)
    return PlacedJob("app", np.array(nodes, dtype=np.int32), Messages(phase, source, destination, columns[3]))


def all_pairs(nodes: list[int], size: int) -> PlacedJob:
    """Job that sends a message from each of `nodes` to each other one, in shifted order."""
    ranks = len(nodes)
    return job_of(nodes, [(0, i, (i + shift) % ranks, size) for i in range(ranks) for shift in range(1, ranks)])


def line(bandwidth_Bps: list[float], host_Bps: float = 1e9, count: int = 1, nodes: int = 1) -> Machine:
    """Routers in a row, one link class a hop, and as many nodes on each."""
    routers = len(bandwidth_Bps) + 1
    tail = np.arange(routers - 1, dtype=np.int32)
    return Machine(
        kind="line",
        node_router=np.repeat(np.arange(routers, dtype=np.int32), nodes),
        cable_tail=tail,
        cable_head=tail + 1,
        cable_class=tail,
        cable_count=np.full(routers - 1, count, dtype=np.int32),
        classes=tuple(LinkClass(f"hop{i}", bandwidth, 0.0) for i, bandwidth in enumerate(bandwidth_Bps)),
        host=LinkClass("host", host_Bps, 0.0),
        routers=routers,
    )


def ring(routers: int, host_Bps: float = 8e9) -> Machine:
    """Routers in a ring, a node on each; nobody has said that it is a grid."""
    tail = np.arange(routers, dtype=np.int32)
    return Machine(
        kind="ring",
        node_router=tail,
        cable_tail=tail,
        cable_head=(tail + 1) % routers,
        cable_class=np.zeros(routers, dtype=np.int32),
        cable_count=np.ones(routers, dtype=np.int32),
        classes=(LinkClass("ring", 1e9, 0.0),),
        host=LinkClass("host", host_Bps, 0.0),
        routers=routers,
    )


def least_cut_Bps(machine: Machine) -> float:
    """Least capacity of all cuts into halves as equal as can be; every router has nodes."""
    capacity = np.zeros((machine.routers, machine.routers))
    np.add.at(capacity, (machine.link_tail, machine.link_head), machine.link_capacity_Bps)
    halves = np.array(list(itertools.combinations(range(machine.routers), machine.routers // 2)))
    inside = np.zeros((len(halves), machine.routers))
    inside[np.arange(len(halves))[:, None], halves] = 1
    return float(np.einsum("ij,ij->i", inside @ capacity, 1 - inside).min())
