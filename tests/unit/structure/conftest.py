"""Machines to analyse: dragonflies, and any networkx graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest

from fabricstudy.machine.base import Topology
from fabricstudy.machine.dragonfly import DragonflyConfig
from fabricstudy.machine.graph import LinkClass, Machine


def build_dragonfly(
    groups: int, routers: int, arrangement: str = "absolute", ratio: float = 1, nodes: int = 2, **more: Any
) -> Machine:
    """Dragonfly with 1 GB/s local and host links, and global ones of `ratio` GB/s."""
    description = {
        "groups": groups,
        "routers_per_group": routers,
        "nodes_per_router": nodes,
        "arrangement": arrangement,
        "bandwidth": {"local": "1 GB/s", "global": f"{ratio} GB/s", "host": "1 GB/s"},
    }
    return DragonflyConfig.model_validate(description | more).build()


def build_from_graph(graph: nx.Graph, node_router: list[int] | None = None, **more: Any) -> Machine:
    """Machine with one node a router or as given; edges may have `kind` (class 0 or 1) and `count`."""
    graph = nx.convert_node_labels_to_integers(graph, ordering="sorted")
    edges = [(a, b, data.get("kind", 0), data.get("count", 1)) for a, b, data in graph.edges(data=True)]
    tail, head, kind, count = np.array(edges, dtype=np.int32).reshape(-1, 4).T
    nodes = range(len(graph)) if node_router is None else node_router
    classes = (LinkClass("slow", 1e9, 40.0), LinkClass("fast", 2.5e9, 40.0))
    fields: dict[str, Any] = {
        "kind": "graph",
        "routers": len(graph),
        "node_router": np.array(nodes, dtype=np.int32),
        "cable_tail": tail,
        "cable_head": head,
        "cable_class": kind,
        "cable_count": count,
        "classes": classes,
        "host": LinkClass("host", 1e9, 40.0),
    }
    return Machine(**(fields | more))


def build_random(seed: int, routers: int, **more: Any) -> Machine:
    """Connected machine of random cables, classes and counts."""
    random = np.random.default_rng(seed)
    graph = nx.random_labeled_tree(routers, seed=seed)
    for _ in range(routers):
        a, b = random.choice(routers, 2, replace=False).tolist()
        graph.add_edge(a, b)
    for a, b in graph.edges:
        graph.edges[a, b].update(kind=int(random.integers(2)), count=int(random.integers(1, 4)))
    return build_from_graph(graph, **more)


def build_machine(kind: str, **fields: Any) -> Machine:
    """Machine of any kind, with 1 GB/s everywhere."""
    return Topology.model_validate({"kind": kind, "bandwidth": "1 GB/s"} | fields).build()


@pytest.fixture(scope="session")
def machine_of() -> Callable[..., Machine]:
    return build_machine


@pytest.fixture(scope="session")
def dragonfly() -> Callable[..., Machine]:
    return build_dragonfly


@pytest.fixture(scope="session")
def from_graph() -> Callable[..., Machine]:
    return build_from_graph


@pytest.fixture(scope="session")
def random_machine() -> Callable[..., Machine]:
    return build_random
