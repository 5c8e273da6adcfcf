"""Times of messages on an idle network, over the links of their routes.

A message crosses the links of a route at the bandwidth of the slowest one, since packets follow each other through
routers (cut-through). Where a routing allows several paths, or cables are parallel, its packets may use all of them at
once: the time is exact if one link limits all paths, and a lower bound otherwise.
"""

import numpy as np

from fabricstudy.core.arrays import Floats, Integers, Ints, Numbers
from fabricstudy.core.quantities import NS_PER_S
from fabricstudy.machine.distances import hop_distances
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Flows, Routing, cached_routes


def message_times_ns(
    machine: Machine,
    source_node: Integers,
    destination_node: Integers,
    size_bytes: Numbers,
    router_latency_ns: float,
    routing: Routing | None = None,
    host_Bps: float | None = None,
) -> tuple[Floats, Floats]:
    """Return the times from the start of messages to their last byte out of the node, and to its arrival, at least.

    The result is float64 [messages] each; a message within a node needs no time. `host_Bps` is the bandwidth of the
    ports that a message leaves by, by default that of the host link. Without a routing, packets may take any path.
    """
    source, destination = (np.asarray(node, dtype=np.int64) for node in (source_node, destination_node))
    host_Bps = machine.host.bandwidth_Bps if host_Bps is None else host_Bps
    apart = source != destination
    path_Bps, path_ns = _paths(machine, source, destination, router_latency_ns, routing)
    leaving_ns = size_bytes / host_Bps * NS_PER_S * apart
    transfer_ns = size_bytes / np.minimum(path_Bps, host_Bps) * NS_PER_S
    latency_ns = 2 * machine.host.latency_ns + router_latency_ns + path_ns
    return np.asarray(leaving_ns, dtype=np.float64), np.asarray((transfer_ns + latency_ns) * apart, dtype=np.float64)


def _paths(
    machine: Machine, source: Ints, destination: Ints, router_latency_ns: float, routing: Routing | None
) -> tuple[Floats, Floats]:
    """Return the bandwidth of the paths between routers, at most, and their latency, at least; float64 [messages]."""
    routers = machine.node_router.astype(np.int64)
    start, goal = routers[source], routers[destination]
    if routing is not None and routing.minimal and _differ(machine, routing):
        routes = cached_routes(machine, routing)
        start = source if routes.by_source_node else start
        goal = destination if routes.by_destination_node else goal
        apart = np.flatnonzero(routers[source] != routers[destination])
        pairs, pair = np.unique(np.stack([start[apart], goal[apart]]), axis=1, return_inverse=True)
        paths = routes.path_graph(Flows(pairs[0], pairs[1], np.ones(pairs.shape[1]))) if len(apart) else None
        if paths is not None:
            class_ns = np.array([link.latency_ns for link in machine.classes])
            class_Bps = np.array([link.bandwidth_Bps for link in machine.classes])
            link_Bps = class_Bps[machine.link_class] if routes.one_cable else machine.link_capacity_Bps
            of_pair = paths.limits(link_Bps, class_ns[machine.link_class] + router_latency_ns)
            path_Bps, path_ns = np.full(len(source), np.inf), np.zeros(len(source))
            path_Bps[apart], path_ns[apart] = (limit[pair.ravel()] for limit in of_pair)
            return path_Bps, path_ns
    hops = hop_distances(machine).between(routers[source], routers[destination])
    of_router_Bps = np.bincount(machine.link_tail, machine.link_capacity_Bps, machine.routers)
    path_Bps = np.minimum(of_router_Bps[routers[source]], of_router_Bps[routers[destination]])
    cable_ns = min((machine.classes[kind].latency_ns for kind in np.unique(machine.link_class)), default=0.0)
    return np.where(hops > 0, path_Bps, np.inf), hops * (cable_ns + router_latency_ns)


def _differ(machine: Machine, routing: Routing) -> bool:
    """Return whether paths of equally many hops may differ in time, or routes may be longer than the shortest."""
    links = [machine.classes[kind] for kind in np.unique(machine.link_class)]
    slowest_Bps = min((link.bandwidth_Bps for link in links), default=np.inf)
    return (
        slowest_Bps < machine.host.bandwidth_Bps
        or len({link.latency_ns for link in links}) > 1
        or set(machine.hop_weight) != {1}
        or routing.channel_scheme(machine) == "listed"
    )
