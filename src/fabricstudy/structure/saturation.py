"""Asymptotes of latency under offered load: the saturation bound, and the latency without load.

At load 1 each node sends at the bandwidth of its link. A load is sustainable only if no link has to carry more than its
capacity: the *saturation bound* is the least capacity over rate of any node's link, cut or link of the routes. It is an
upper bound of the saturation load. Where packets choose among several minimal paths, it assumes the best split.
Valiant's draws do not depend on the load, so its expected loads are exact where the paths of each leg are unique.

Without load a message over h cables needs the latency of h + 2 links and h + 1 routers, its transmission time, and the
time in which each router receives the unit that it stores before it forwards it: a phit, a flit or a packet.
"""

from typing import NamedTuple

import numpy as np

from fabricstudy.core.arrays import Bools, Floats, Ints
from fabricstudy.core.quantities import NS_PER_S
from fabricstudy.machine.distances import hop_distances
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Flows, Routes, Routing, cached_routes
from fabricstudy.routing.minimal import Minimal

from .bound import cuts_ns, hops_ns
from .split import any_paths_s, best_split_s

MOST_FLOWS = 1 << 24
"""Limit of pairs of a router and a node whose paths are followed for the bound, for time and memory."""


class Rates(NamedTuple):
    """Traffic at load 1, in units of the bandwidth of a node's link."""

    between: Floats
    """From router to router; float64 [routers, routers]. Traffic within a router uses no cable."""
    to_node: Floats
    """From router to node, within a router, too; float64 [routers, nodes]."""
    injection: Floats
    ejection: Floats
    """From and to each node; float64 [nodes] each."""


class SaturationBound(NamedTuple):
    """An upper bound of the saturation load, and its method: host, cut, hop-bytes, paths or expected loads."""

    load: float
    method: str


def offered_rates(machine: Machine, node: Ints, share: Floats, first: Ints, last: Ints) -> Rates:
    """Return the rates of destinations as rows of `fabricstudy.workload.traffic.base.Destinations`.

    Examples
    --------
    >>> from fabricstudy.machine.grids import TorusConfig
    >>> ring = TorusConfig.model_validate({"shape": [4], "bandwidth": "1 GB/s"}).build()
    >>> nodes = np.arange(4)
    >>> offered_rates(ring, nodes, np.ones(4), 0 * nodes, 0 * nodes + 3).between[0].round(2).tolist()
    [0.0, 0.33, 0.33, 0.33]
    """
    from scipy.sparse import csr_array

    within = (first <= node) & (node <= last)
    each = share / (last - first + 1 - within)
    router = machine.node_router[node]
    steps = np.zeros((machine.routers, machine.nodes + 1))
    np.add.at(steps, (router, first), each)
    np.add.at(steps, (router, last + 1), -each)
    to_node = np.cumsum(steps, axis=1)[:, :-1]
    np.subtract.at(to_node, (router[within], node[within]), each[within])
    np.clip(to_node, 0.0, None, out=to_node)
    ones = np.ones(machine.nodes)
    on_router = csr_array((ones, (np.arange(machine.nodes), machine.node_router)), (machine.nodes, machine.routers))
    injection = np.bincount(node, weights=share, minlength=machine.nodes).astype(np.float64)
    return Rates(np.asarray(to_node @ on_router), to_node, injection, to_node.sum(axis=0))


def saturation_bound(machine: Machine, rates: Rates, routing: Routing | None, cut_side: Bools) -> SaturationBound:
    """Return the least upper bound of the saturation load, at most 1.

    Without a routing, packets may take any path. `cut_side` (bool [routers]) is one side of a good cut.
    """
    # Traffic of one second at load 1, as bytes: a bound on its time, in s, is 1 over one on the load.
    host_Bps = machine.host.bandwidth_Bps
    flows = Flows.between(rates.between * host_Bps)
    hosts_s = max(1.0, rates.injection.max(initial=0.0), rates.ejection.max(initial=0.0))
    hops = hop_distances(machine).between(flows.source, flows.goal)
    times_s = {
        "host": float(hosts_s),
        "hop-bytes": hops_ns(machine, flows.size_bytes, hops) / NS_PER_S,
        "cut": cuts_ns(machine, flows.source, flows.goal, flows.size_bytes, cut_side) / NS_PER_S,
    }
    if routing is not None:
        method, time_s = _routed_s(machine, rates, routing, max(times_s.values()))
        times_s[method] = time_s
    greatest_s = max(times_s.values())
    # Of bounds that are equal except for rounding, the first.
    method = next(name for name, time_s in times_s.items() if time_s >= greatest_s * (1 - 1e-9))
    return SaturationBound(1.0 / greatest_s, method)


def _routed_s(machine: Machine, rates: Rates, routing: Routing, known_s: float) -> tuple[str, float]:
    """Return the lower bound on the time by the routes, and its method; 0 where the routes bound nothing."""
    routes, host_Bps = cached_routes(machine, routing), machine.host.bandwidth_Bps
    if routes.by_destination_node:
        return "paths", _paths_to_nodes_s(machine, rates.to_node * host_Bps, routes)
    between_bytes = rates.between * host_Bps
    if not (routing.minimal or routes.oblivious):
        return "paths", any_paths_s(machine, between_bytes, known_s)
    if not routing.minimal or routes.single_path:
        method = "paths" if routes.single_path else "expected loads"
        return method, machine.bottleneck_s(routes.loads_between(between_bytes))
    flows = Flows.between(between_bytes)
    load_bytes = routes.loads(flows) if routes.oblivious else None
    if load_bytes is not None and machine.bottleneck_s(load_bytes) <= known_s:
        return "paths", 0.0
    paths = routes.path_graph(flows)
    return "paths", 0.0 if paths is None else best_split_s(machine.link_capacity_Bps, paths, load_bytes, known_s)


def _paths_to_nodes_s(machine: Machine, to_node_bytes: Floats, routes: Routes) -> float:
    """Return the transfer time of the bottleneck link where each destination node has one path from each router."""
    source, goal = np.nonzero(to_node_bytes)
    apart = source != machine.node_router[goal]
    if not (routes.single_path and routes.oblivious) or routes.by_source_node or np.count_nonzero(apart) > MOST_FLOWS:
        return 0.0
    source, goal = source[apart], goal[apart]
    return machine.bottleneck_s(routes.loads(Flows(source, goal, to_node_bytes[source, goal])))


def zero_load_ns(
    machine: Machine,
    rates: Rates,
    routing: Routing,
    host_latencies_ns: float,
    router_latency_ns: float,
    message_bytes: float,
    unit_bytes: float,
) -> float:
    """Return the mean latency of messages of `message_bytes` in the mean without load, in ns.

    `host_latencies_ns` is the latency of the links of both nodes. Packets take minimal paths where the routing chooses
    by load. A router stores `unit_bytes` before it forwards them.
    Messages are transmitted at the bandwidth of a node's link: exact if no cable is slower.

    Raises ValueError if the machine is not connected, or does not fit the routing.
    """
    routes = cached_routes(machine, routing)
    if not routes.oblivious or routes.by_destination_node:
        routes = cached_routes(machine, Minimal())
    crossings = routes.loads_between(rates.between)
    messages = rates.injection.sum()
    bandwidth_Bps = np.array([link.bandwidth_Bps for link in machine.classes])
    latency_ns = np.array([link.latency_ns for link in machine.classes])
    hop_ns = latency_ns + router_latency_ns + unit_bytes / bandwidth_Bps * NS_PER_S
    host = machine.host
    ends_ns = host_latencies_ns + router_latency_ns + unit_bytes / host.bandwidth_Bps * NS_PER_S
    sending_ns = message_bytes / host.bandwidth_Bps * NS_PER_S
    return float(crossings @ hop_ns[machine.link_class] / messages) + ends_ns + sending_ns
