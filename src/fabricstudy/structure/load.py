"""Exact link loads of oblivious routings, and the links that messages may use under any routing."""

from dataclasses import dataclass

import numpy as np

from fabricstudy.core.arrays import Bools, Floats, Integers, Numbers
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Flows, Routes, Routing, cached_routes, sum_by_index


@dataclass(frozen=True, eq=False)
class LinkLoads:
    """Bytes on links."""

    link_bytes: Floats
    """On each directed link, all parallel cables together; float64 [links]."""
    injection_bytes: Floats
    ejection_bytes: Floats
    """From each node to its router, and from the router to the node; float64 [nodes] each."""


def has_loads(machine: Machine, routing: Routing) -> bool:
    """Return True if the routing is oblivious, so that `link_loads` are known."""
    return cached_routes(machine, routing).oblivious


def _oblivious_routes(machine: Machine, routing: Routing) -> Routes:
    if not has_loads(machine, routing):
        raise ValueError(f"{routing.kind} routing is not oblivious: its link loads depend on the simulation")
    return cached_routes(machine, routing)


def link_loads(
    machine: Machine, source_node: Integers, destination_node: Integers, size_bytes: Numbers, routing: Routing
) -> LinkLoads:
    """Return the loads of messages, arrays [messages]: exact where paths are unique, else expectations.

    A message within one node uses no link. Raises ValueError if the machine is not connected or does not fit the
    routing, or the routing is not oblivious.
    """
    outside = np.asarray(source_node) != np.asarray(destination_node)
    source, destination = np.asarray(source_node)[outside], np.asarray(destination_node)[outside]
    size = np.asarray(size_bytes)[outside].astype(np.float64)
    routes = _oblivious_routes(machine, routing)
    return LinkLoads(
        link_bytes=routes.loads(router_flows(machine, routes, source, destination, size)),
        injection_bytes=sum_by_index(source, size, machine.nodes),
        ejection_bytes=sum_by_index(destination, size, machine.nodes),
    )


def link_support(machine: Machine, source_node: Integers, destination_node: Integers, routing: Routing) -> Bools:
    """Return the directed links between routers that messages, arrays [messages], may use, bool [links].

    Raises ValueError if the machine is not connected or does not fit the routing.
    """
    routes = cached_routes(machine, routing)
    source, destination = np.asarray(source_node), np.asarray(destination_node)
    return routes.support(router_flows(machine, routes, source, destination, np.ones(len(source))))


def router_link_loads(machine: Machine, traffic_bytes: Floats, routing: Routing) -> Floats:
    """Return the bytes on each directed link, float64 [links], for traffic [from router, to router].

    The diagonal uses no cable. Raises ValueError as `link_loads`, and for routings by destination node (d-mod-k).
    """
    routes = _oblivious_routes(machine, routing)
    if routes.by_destination_node:
        raise ValueError(f"{routing.kind} routing needs destination nodes; traffic between routers has none")
    return routes.loads_between(traffic_bytes)


def router_flows(machine: Machine, routes: Routes, source: Integers, destination: Integers, size: Floats) -> Flows:
    """Return the flows between different routers, summed per pair."""
    router = machine.node_router.astype(np.int64)
    apart = router[source] != router[destination]
    goal = destination[apart].astype(np.int64) if routes.by_destination_node else router[destination[apart]]
    goals = machine.nodes if routes.by_destination_node else machine.routers
    start = source[apart].astype(np.int64) if routes.by_source_node else router[source[apart]]
    return Flows.merged(start, goal, size[apart], goals)
