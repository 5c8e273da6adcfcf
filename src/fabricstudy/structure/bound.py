"""Lower bounds on the time of a job, and the time at its expected link loads.

No run is faster than the *link bound*, the highest of four: what each node sends and gets has to pass its host link;
what leaves or enters a part of the machine has to pass the cut around it; the bytes of each message take at least the
hops of a shortest path, and all links together carry no more than their capacity; and where the routing allows some
paths only, the links of these carry the bytes at best as the best split does (`fabricstudy.structure.split`).

The time at the *expected link loads* is no bound: loads are those of an even split where packets choose among paths,
and expectations where they draw a detour (Valiant). A run may split better, or draw luckily, and end earlier.

The link bound knows neither latency nor phases. The *phase bound* knows nothing else: it follows the messages as if
each had the network for itself, and holds for every run. Of what ranks compute the phase bound knows all, the link
bound what comes before the first message, and that no job ends before its busiest rank has computed.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fabricstudy.machine.graph import Machine
from fabricstudy.machine.hops import hop_distances
from fabricstudy.routing.base import NonMinimalRouting, Routing, cached_routes

from .load import LinkLoads, link_loads, router_flows
from .split import best_split_s

Integers = npt.NDArray[np.integer]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.number]
NS_PER_S = 1e9


class Bound(NamedTuple):
    """A lower bound on a time, in ns, and what it rests on: host, cut, hop-bytes or paths."""

    time_ns: float
    method: str


def load_time_ns(machine: Machine, loads: LinkLoads) -> float:
    """Return the time in which the links carry `loads`, host links included, in ns."""
    cables_s = np.max(loads.link_bytes / machine.link_capacity_Bps, initial=0.0)
    hosts_bytes = max(loads.injection_bytes.max(initial=0.0), loads.ejection_bytes.max(initial=0.0))
    return float(max(cables_s, hosts_bytes / machine.host.bandwidth_Bps)) * NS_PER_S


def computing_bound_ns(links_ns: float, first_ns: float, busiest_ns: float) -> float:
    """Return the least time of a job that computes, in ns.

    Links need `links_ns` for its bytes; each rank computes `first_ns` before it sends anything, the busiest one
    `busiest_ns` in all.
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
    """Return the highest of the lower bounds on the time in which the links carry these messages.

    Parameters
    ----------
    source_node, destination_node, size_bytes : arrays [messages]
        Nodes and bytes; a message within one node uses no link.
    cut_side : bool array [routers]
        A good cut, such as `Bisection.cut_side`.
    routing : Routing, optional
        A routing of the study that fits the machine; left out, packets may take any path.
    load_bytes : float64 array [links], optional
        Their loads, where they are known, as `link_loads` gives them for an oblivious routing.

    Returns
    -------
    Bound
        Of equal bounds the first one of host, cut, hop-bytes and paths.

    Raises
    ------
    ValueError
        If the machine is not connected or lacks what the routing needs.
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
    # A detour may lead over any link.
    if routing is not None and not isinstance(routing, NonMinimalRouting):
        known_ns = max(bound.time_ns for bound in bounds)
        bounds.append(Bound(_paths_ns(machine, source, destination, size, routing, load_bytes, known_ns), "paths"))
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
    """Return a lower bound from the paths that a routing allows; `known_ns` where it brings no better one."""
    way = cached_routes(machine, routing)
    if way.oblivious and load_bytes is None:
        load_bytes = link_loads(machine, source, destination, size_bytes, routing).link_bytes
    load_ns = np.inf
    if load_bytes is not None:
        load_ns = float(np.max(load_bytes / machine.link_capacity_Bps, initial=0.0)) * NS_PER_S
    if way.single_path or load_ns <= known_ns:
        return load_ns if way.single_path else known_ns
    ways = way.ways(router_flows(machine, way, source, destination, size_bytes))
    if ways is None:
        return known_ns
    return best_split_s(machine.link_capacity_Bps, ways, load_bytes, known_ns / NS_PER_S) * NS_PER_S


def cuts_ns(
    machine: Machine, source_router: Integers, destination_router: Integers, size_bytes: Floats, cut_side: Bools
) -> float:
    """Return the least time to cross the cuts around each router and group, and between the halves, in ns."""
    parts = [np.arange(machine.routers), cut_side.astype(np.int64)]
    if machine.group is not None:
        parts.append(machine.group.astype(np.int64))
    return max(_cut_s(machine, part, source_router, destination_router, size_bytes) for part in parts) * NS_PER_S


def hops_ns(machine: Machine, size_bytes: Floats, far: Integers) -> float:
    """Least time for messages of these bytes over so many hops, whatever their paths, in ns: both over all cables.

    Examples
    --------
    >>> from fabricstudy.machine.torus import TorusConfig
    >>> ring = TorusConfig.model_validate({"shape": [8], "bandwidth": "1 GB/s"}).build()
    >>> hops_ns(ring, np.full(8, 1000.0), np.full(8, 4))
    2000.0
    """
    return float(size_bytes @ far / machine.link_capacity_Bps.sum()) * NS_PER_S


def phase_bound_ns(
    machine: Machine,
    node_of_rank: Integers,
    messages: tuple[Integers, ...],
    router_latency_ns: float,
    computing: tuple[Numbers, ...] = (),
) -> float:
    """Return the least time in which the phases of a job can follow each other, in ns.

    It is the longest chain of messages and computations of which each waits for the one before. A rank leaves a phase
    when all messages that it sends or gets in it have arrived, and it has computed; then it computes what comes before
    its next one, and posts the messages of that. A message without contention takes its bytes over the host bandwidth,
    plus the latency of the least number of cables and routers on its way; one within a node takes no time.

    Parameters
    ----------
    node_of_rank : int array [ranks]
        Node of each rank.
    messages : (phase, source, destination, bytes), each an int array [messages]
        In the order of their phases; sources and destinations are ranks.
    router_latency_ns : float
        Time of a packet through a router.
    computing : (phase, rank, before_ns, beside_ns), each an array [rows], optional
        What ranks compute before they post the messages of a phase, and beside them; in the order of the phases.
    """
    # Loads numba, which planning does without.
    from fabricstudy.routing.kernels import last_arrival_ns

    phase, source, destination, size_bytes = (np.asarray(column, dtype=np.int64) for column in messages)
    ends = node_of_rank[source], node_of_rank[destination]
    far = hop_distances(machine).between(machine.node_router[ends[0]], machine.node_router[ends[1]])
    kinds = np.unique(machine.link_class)
    cable_ns = min((machine.classes[kind].latency_ns for kind in kinds), default=0.0)
    latency_ns = 2 * machine.host.latency_ns + far * cable_ns + (far + 1) * router_latency_ns
    time_ns = size_bytes / machine.host.bandwidth_Bps * NS_PER_S + latency_ns
    time_ns = np.where(ends[0] == ends[1], 0.0, time_ns)
    rows = computing or (np.zeros(0),) * 4
    at, rank = (np.asarray(column, dtype=np.int64) for column in rows[:2])
    before_ns, beside_ns = (np.asarray(column, dtype=np.float64) for column in rows[2:])
    ranks = len(node_of_rank)
    return float(last_arrival_ns(phase, source, destination, time_ns, ranks, at, rank, before_ns, beside_ns))


def _cut_s(
    machine: Machine, part: npt.NDArray[np.int64], source: Integers, destination: Integers, size: Floats
) -> float:
    """Longest time to move what leaves or enters any one part of the routers."""
    # Loads numba, which planning does without.
    from .cut_kernels import crossing_bytes

    parts = int(part.max()) + 1
    tail, head = part[machine.link_tail], part[machine.link_head]
    # Each cable goes both ways, so as much capacity enters a part as leaves it.
    outward_Bps = np.where(tail == head, 0.0, machine.link_capacity_Bps)
    capacity_Bps = np.bincount(tail, weights=outward_Bps, minlength=parts)
    out, into = (np.asarray(end, dtype=np.int64) for end in (source, destination))
    moved = crossing_bytes(part, parts, out, into, np.asarray(size, dtype=np.float64)).max(axis=0)
    used = moved > 0
    return float(np.max(moved[used] / capacity_Bps[used], initial=0.0))
