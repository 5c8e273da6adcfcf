"""Small machines and points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest

from fabricstudy.engine.point import Point
from fabricstudy.machine.graph import LinkClass, Machine
from fabricstudy.workload.messages import PlacedJob
from fabricstudy.workload.placing import place

SMALL = {
    "kind": "dragonfly",
    "groups": 9,
    "routers_per_group": 4,
    "nodes_per_router": 2,
    "cores_per_node": 2,
    "bandwidth": "1 GB/s",
}


def make_point(*jobs: dict[str, Any], seed: int = 1, **machine: Any) -> Point:
    return Point.model_validate(
        {
            "machine": SMALL | machine,
            "routing": {"kind": "minimal"},
            "jobs": [{"pattern": {"kind": "idle"}} | job for job in jobs],
            "engine": {"kind": "caminos"},
            "seed": seed,
        }
    )


def place_point(point: Point) -> list[PlacedJob]:
    """Place on the point's own machine; the first half of the routers stands for the best cut."""
    machine = point.machine.build()
    return place(point, machine, np.arange(machine.routers) < machine.routers // 2)


def make_torus(shape: tuple[int, ...], nodes_per_router: int = 1, cores_per_node: int = 1) -> Machine:
    """A torus without groups; the routers in row-major order."""
    graph = nx.convert_node_labels_to_integers(nx.grid_graph(shape[::-1], periodic=True), ordering="sorted")
    edges = np.array(sorted(graph.edges), dtype=np.int32)
    return Machine(
        kind="torus",
        node_router=np.repeat(np.arange(len(graph), dtype=np.int32), nodes_per_router),
        cable_tail=edges[:, 0],
        cable_head=edges[:, 1],
        cable_class=np.zeros(len(edges), dtype=np.int32),
        cable_count=np.ones(len(edges), dtype=np.int32),
        classes=(LinkClass("link", 1e9, 40),),
        host=LinkClass("host", 1e9, 40),
        routers=len(graph),
        cores_per_node=cores_per_node,
    )


@pytest.fixture(scope="session")
def point() -> Callable[..., Point]:
    return make_point


@pytest.fixture(scope="session")
def placed() -> Callable[[Point], list[PlacedJob]]:
    return place_point


@pytest.fixture(scope="session")
def torus() -> Callable[..., Machine]:
    return make_torus
