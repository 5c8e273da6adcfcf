"""The least time that link loads allow, and the least time that the order of the messages allows.

Every link moves its bytes at its capacity at best, so no schedule is faster than the fullest link. Where minimal
paths tie, the bound holds for an even split. Under Valiant routing the loads are expectations, and the bound holds
for the mean runtime: the mean of a maximum is no less than the maximum of the means. A single run under random ties or
random detours may so lie below it.

The link bound knows neither latency nor phases. The phase bound knows nothing else: it follows the messages as if each
had the network for itself, and holds for every run. Of what ranks compute the phase bound knows all, the link bound
what comes before the first message, and that no job ends before its busiest rank has computed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fabricstudy.machine.graph import Machine
from fabricstudy.machine.hops import hops

from .load import LinkLoads

NS_PER_S = 1e9


def bound_ns(machine: Machine, loads: LinkLoads) -> float:
    """Least time in which the links can carry `loads`, host links included, in ns."""
    cables_s = np.max(loads.link_bytes / machine.link_capacity_Bps, initial=0.0)
    hosts_bytes = max(loads.injection_bytes.max(initial=0.0), loads.ejection_bytes.max(initial=0.0))
    return float(max(cables_s, hosts_bytes / machine.host.bandwidth_Bps)) * NS_PER_S


def computing_bound_ns(links_ns: float, first_ns: float, busiest_ns: float) -> float:
    """Least time of a job that computes, in ns.

    Parameters
    ----------
    links_ns : float
        Least time in which the links carry its bytes.
    first_ns : float
        What each rank computes at least before it sends anything.
    busiest_ns : float
        What the busiest rank computes in all.
    """
    return max(first_ns + links_ns, busiest_ns)


def bound_of_any_routing_ns(
    machine: Machine,
    source_node: npt.NDArray[np.integer],
    destination_node: npt.NDArray[np.integer],
    size_bytes: npt.NDArray[np.number],
    cut_side: npt.NDArray[np.bool_],
) -> float:
    """Least time for these messages whatever paths they take, in ns; for adaptive routing.

    Counts the host links, and what must cross three kinds of cut in one direction: around each router, around each
    group where the machine has groups, and between the halves.

    Parameters
    ----------
    machine : Machine
        Routers and cables.
    source_node, destination_node : int arrays [messages]
        Nodes; a message within one node uses no link.
    size_bytes : array [messages]
        Bytes of each message.
    cut_side : bool array [routers]
        A good cut, such as `Bisection.cut_side`.

    Returns
    -------
    float
        Never above `bound_ns` of any routing.
    """
    source, destination = np.asarray(source_node), np.asarray(destination_node)
    size = np.where(source == destination, 0.0, size_bytes)
    hosts_bytes = max(np.bincount(end, weights=size).max(initial=0.0) for end in (source, destination))
    ends = machine.node_router[source], machine.node_router[destination]
    return max(float(hosts_bytes / machine.host.bandwidth_Bps) * NS_PER_S, cuts_ns(machine, *ends, size, cut_side))


def cuts_ns(
    machine: Machine,
    source_router: npt.NDArray[np.integer],
    destination_router: npt.NDArray[np.integer],
    size_bytes: npt.NDArray[np.float64],
    cut_side: npt.NDArray[np.bool_],
) -> float:
    """Least time for what goes between routers to cross the cuts of `bound_of_any_routing_ns`, in ns."""
    parts = [np.arange(machine.routers), cut_side.astype(np.int64)]
    if machine.group is not None:
        parts.append(machine.group.astype(np.int64))
    return max(_cut_s(machine, part, source_router, destination_router, size_bytes) for part in parts) * NS_PER_S


def hops_ns(machine: Machine, size_bytes: npt.NDArray[np.float64], far: npt.NDArray[np.integer]) -> float:
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
    node_of_rank: npt.NDArray[np.integer],
    messages: tuple[npt.NDArray[np.integer], ...],
    router_latency_ns: float,
    computing: tuple[npt.NDArray[np.number], ...] = (),
) -> float:
    """Least time in which the phases of a job can follow each other, in ns.

    A rank leaves a phase when all messages that it sends or gets in it have arrived, and it has computed; then it
    computes what comes before its next one, and posts the messages of that. A message without contention takes its
    bytes over the host bandwidth, plus the latency of the least number of cables and routers on its way; one within a
    node takes no time.

    Parameters
    ----------
    machine : Machine
        Nodes and cables.
    node_of_rank : int array [ranks]
        Node of each rank.
    messages : (phase, source, destination, bytes), each an int array [messages]
        In the order of their phases; sources and destinations are ranks.
    router_latency_ns : float
        Time of a packet through a router.
    computing : (phase, rank, before_ns, beside_ns), each an array [rows], optional
        What ranks compute before they post the messages of a phase, and beside them; in the order of the phases.

    Returns
    -------
    float
        The longest chain of messages and computations of which each waits for the one before it.
    """
    # Loads numba, which planning does without.
    from fabricstudy.routing.kernels import last_arrival_ns

    phase, source, destination, size_bytes = (np.asarray(column, dtype=np.int64) for column in messages)
    ends = node_of_rank[source], node_of_rank[destination]
    far = hops(machine).between(machine.node_router[ends[0]], machine.node_router[ends[1]])
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
    machine: Machine,
    part: npt.NDArray[np.int64],
    source: npt.NDArray[np.integer],
    destination: npt.NDArray[np.integer],
    size: npt.NDArray[np.float64],
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
