"""Bytes on every link, exactly, without simulation, and the links that messages may use.

The rules of each routing stand in its module in `fabricstudy.routing`. Loads are known beforehand for
oblivious routings; what links a message may use, for all.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Flows, Routes, Routing, cached_routes, sum_by_index

Floats = npt.NDArray[np.float64]
Nodes = npt.NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class LinkLoads:
    """Bytes on the links."""

    link_bytes: Floats
    """On each directed link of the machine, all its parallel cables together; float64 [links]."""
    injection_bytes: Floats
    ejection_bytes: Floats
    """From each node to its router, and from the router to the node; float64 [nodes] each."""


def has_loads(machine: Machine, routing: Routing) -> bool:
    """Whether `link_loads` are known for a routing: whether a packet's way is independent of the others'."""
    return cached_routes(machine, routing).oblivious


def link_loads(
    machine: Machine, source_node: Nodes, destination_node: Nodes, size_bytes: npt.NDArray[np.number], routing: Routing
) -> LinkLoads:
    """Return the bytes that messages put on each link: whole numbers where paths are unique, else expected ones.

    Parameters
    ----------
    source_node, destination_node, size_bytes : arrays [messages]
        Nodes and bytes; a message within one node uses no link.
    routing : Routing
        An oblivious routing of the study that fits the machine.

    Raises
    ------
    ValueError
        If the machine is not connected or lacks what the routing needs, or the routing is adaptive.
    """
    outside = np.asarray(source_node) != np.asarray(destination_node)
    source, destination = np.asarray(source_node)[outside], np.asarray(destination_node)[outside]
    size = np.asarray(size_bytes)[outside].astype(np.float64)
    way = cached_routes(machine, routing)
    return LinkLoads(
        link_bytes=way.loads(router_flows(machine, way, source, destination, size)),
        injection_bytes=sum_by_index(source, size, machine.nodes),
        ejection_bytes=sum_by_index(destination, size, machine.nodes),
    )


def link_support(
    machine: Machine, source_node: Nodes, destination_node: Nodes, routing: Routing
) -> npt.NDArray[np.bool_]:
    """Return the directed links between routers that messages may use under any routing, bool [links].

    A message within one router uses none; nodes are int arrays [messages].

    Raises ValueError if the machine is not connected or lacks what the routing needs.
    """
    way = cached_routes(machine, routing)
    source, destination = np.asarray(source_node), np.asarray(destination_node)
    return way.support(router_flows(machine, way, source, destination, np.ones(len(source))))


def router_link_loads(machine: Machine, traffic_bytes: Floats, routing: Routing) -> Floats:
    """Return the bytes on each directed link, float64 [links], for traffic between routers.

    Parameters
    ----------
    traffic_bytes : float64 array [routers, routers]
        Bytes from the nodes of one router to those of another; the diagonal uses no cable.
    routing : Routing
        An oblivious routing that does not tell the nodes of a router apart.

    Raises
    ------
    ValueError
        As `link_loads`, and if the routing goes by destination nodes (d-mod-k).
    """
    way = cached_routes(machine, routing)
    if way.by_destination_node:
        raise ValueError(f"{routing.kind} routing goes by destination nodes, and traffic between routers names none")
    return way.loads_between(traffic_bytes)


def router_flows(machine: Machine, way: Routes, source: Nodes, destination: Nodes, size: Floats) -> Flows:
    """Return the messages between different routers, those between the same two added up."""
    router = machine.node_router.astype(np.int64)
    apart = router[source] != router[destination]
    goal = destination[apart].astype(np.int64) if way.by_destination_node else router[destination[apart]]
    goals = machine.nodes if way.by_destination_node else machine.routers
    return Flows.merged(router[source[apart]], goal, size[apart], goals)
