"""Lower bounds on the runtime of a job, and the transfer time of its expected link loads.

The *link bound* is the highest of four: host links carry what each node sends and receives; the cut around a part of
the machine carries what leaves or enters it; all links together carry each message over the hops of a shortest path;
and the links of the paths that the routing allows carry the bytes at the best split (`fabricstudy.structure.split`).
Routings that choose detours by load are allowed any path.

The transfer time of the *expected link loads* is not a bound: loads assume an even split over paths, or are
expectations over random detours (Valiant). A run may be faster.

The link bound ignores latency and dependencies, which `fabricstudy.workload.critical_path` considers. It includes the
computation before the first message and the total of the busiest rank.
"""

from typing import NamedTuple

import numpy as np

from fabricstudy.core.arrays import Bools, Floats, Integers, Ints, Numbers
from fabricstudy.core.quantities import NS_PER_S
from fabricstudy.machine.distances import hop_distances
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing, cached_routes

from .load import LinkLoads, link_loads, router_flows
from .split import any_paths_s, best_split_s


class Bound(NamedTuple):
    """A lower bound on a time, in ns, and its method: host, cut, hop-bytes or paths."""

    time_ns: float
    method: str


def load_time_ns(machine: Machine, loads: LinkLoads) -> float:
    """Return the transfer time of `loads`, host links included, in ns."""
    hosts_bytes = max(loads.injection_bytes.max(initial=0.0), loads.ejection_bytes.max(initial=0.0))
    return float(max(machine.bottleneck_s(loads.link_bytes), hosts_bytes / machine.host.bandwidth_Bps)) * NS_PER_S


def computing_bound_ns(links_ns: float, first_ns: float, busiest_ns: float) -> float:
    """Return the lower bound of a job that computes, in ns.

    Links need `links_ns`; all ranks compute `first_ns` before their first message, the busiest one `busiest_ns` in all.
    """
    return max(first_ns + links_ns, busiest_ns)


def lower_bound(
    machine: Machine,
    source_node: Integers,
    destination_node: Integers,
    size_bytes: Numbers,
    cut_side: Bools,
    routing: Routing | None = None,
    load_bytes: Floats | None = None,
) -> Bound:
    """Return the highest lower bound on the transfer time of messages; of equal ones the first, in the order above.

    A message within one node uses no link. `cut_side` (bool [routers]) is a good cut, such as that of a
    `BisectionBounds`; `load_bytes` (float64 [links]) are loads under an oblivious routing, from `link_loads`. Without a
    routing, packets may take any path.

    Raises ValueError if the machine is not connected or does not fit the routing.
    """
    source, destination = np.asarray(source_node), np.asarray(destination_node)
    size = np.where(source == destination, 0.0, size_bytes)
    hosts_bytes = max(np.bincount(end, weights=size).max(initial=0.0) for end in (source, destination))
    ends = machine.node_router[source], machine.node_router[destination]
    bounds = [
        Bound(float(hosts_bytes / machine.host.bandwidth_Bps) * NS_PER_S, "host"),
        Bound(cuts_ns(machine, *ends, size, cut_side), "cut"),
        Bound(hops_ns(machine, size, hop_distances(machine).between(*ends)), "hop-bytes"),
    ]
    known_ns = max(bound.time_ns for bound in bounds)
    if routing is not None and routing.minimal:
        bounds.append(Bound(_paths_ns(machine, source, destination, size, routing, load_bytes, known_ns), "paths"))
    elif routing is not None and not cached_routes(machine, routing).oblivious:
        between = ends[0].astype(np.int64) * machine.routers + ends[1]
        traffic: Floats = np.bincount(between, size, machine.routers**2).astype(np.float64)
        paths_s = any_paths_s(machine, traffic.reshape(machine.routers, -1), known_ns / NS_PER_S)
        bounds.append(Bound(paths_s * NS_PER_S, "paths"))
    return max(bounds, key=lambda bound: bound.time_ns)


def _paths_ns(
    machine: Machine,
    source: Integers,
    destination: Integers,
    size_bytes: Floats,
    routing: Routing,
    load_bytes: Floats | None,
    known_ns: float,
) -> float:
    """Return the lower bound from the paths of a routing, or `known_ns` if it is not better."""
    routes = cached_routes(machine, routing)
    if routes.oblivious and load_bytes is None:
        load_bytes = link_loads(machine, source, destination, size_bytes, routing).link_bytes
    load_ns = np.inf if load_bytes is None else machine.bottleneck_s(load_bytes) * NS_PER_S
    if routes.single_path or load_ns <= known_ns:
        return load_ns if routes.single_path else known_ns
    paths = routes.path_graph(router_flows(machine, routes, source, destination, size_bytes))
    if paths is None:
        return known_ns
    return best_split_s(machine.link_capacity_Bps, paths, load_bytes, known_ns / NS_PER_S) * NS_PER_S


def cuts_ns(
    machine: Machine, source_router: Integers, destination_router: Integers, size_bytes: Floats, cut_side: Bools
) -> float:
    """Return the lower bound from the cuts around each router and group, and between the halves, in ns."""
    parts = [np.arange(machine.routers), cut_side.astype(np.int64)]
    if machine.group is not None:
        parts.append(machine.group.astype(np.int64))
    return max(_cut_s(machine, part, source_router, destination_router, size_bytes) for part in parts) * NS_PER_S


def hops_ns(machine: Machine, size_bytes: Floats, hops: Integers) -> float:
    """Return the lower bound from hop-bytes over the capacity of all cables, in ns; arrays [messages].

    Examples
    --------
    >>> from fabricstudy.machine.grids import TorusConfig
    >>> ring = TorusConfig.model_validate({"shape": [8], "bandwidth": "1 GB/s"}).build()
    >>> hops_ns(ring, np.full(8, 1000.0), np.full(8, 4))
    2000.0
    """
    # The threads of BLAS take ten times as long; a pairwise sum rounds less than a running one.
    return float(np.sum(size_bytes * hops) / machine.link_capacity_Bps.sum() * NS_PER_S) if machine.links else 0.0


def _cut_s(machine: Machine, part: Ints, source: Integers, destination: Integers, size: Floats) -> float:
    """Return the longest transfer time of what leaves or enters a part of the routers."""
    parts = int(part.max()) + 1
    tail, head = part[machine.link_tail], part[machine.link_head]
    # Cables are bidirectional: the same capacity enters and leaves a part.
    outward_Bps = np.where(tail == head, 0.0, machine.link_capacity_Bps)
    capacity_Bps = np.bincount(tail, weights=outward_Bps, minlength=parts)
    out, into = part[source], part[destination]
    crosses = np.flatnonzero(out != into)
    moved = np.maximum(*(np.bincount(end[crosses], size[crosses], parts) for end in (out, into)))
    used = moved > 0
    return float(np.max(moved[used] / capacity_Bps[used], initial=0.0))
