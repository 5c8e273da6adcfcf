"""Counts of the ports of SST's routers, by link and by job.

SST's statistics do not distinguish jobs. Where each pair of nodes has one route, packets of a job on each link follow
from its messages; they are valid only if they and those of the barriers that end the jobs sum up, on every link, to the
packets and bytes counted by SST.
"""

import csv
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fabricstudy.core.arrays import Floats, Int32s, Ints
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import MemorylessRoutes, cached_routes
from fabricstudy.structure.load import link_loads
from fabricstudy.workload.messages import PlacedJob

from ..failures import EngineFailure
from ..point import Point
from .system import PS_OF_A_NS, communicating
from .traces import rank_layout
from .wiring import wire
from .wiring.base import cable_ends, link_of_cable

BITS, PACKETS, STALLS = "send_bit_count", "send_packet_count", "output_port_stalls"

HEADER_BYTES = 45
"""Header that Firefly adds to each message."""

# Firefly's collectives use a tree in which each rank has two children.
_CHILDREN = 2

Ports = dict[tuple[int, int], int]
Ends = tuple[Ints, Ints, Ints]


@dataclass(frozen=True, eq=False)
class LinkCounts:
    """Counts of each directed link, arrays [links], with headers and barriers; parallel cables are one link."""

    link_bytes: Floats
    packets: Ints
    stall_ns: Floats
    """Time in which packets waited at the output for credits; the mean of parallel cables."""


def read_links(path: Path, point: Point, machine: Machine) -> LinkCounts:
    """Read the statistics of the ports; raise `EngineFailure` if they are not those of this machine."""
    sums = port_sums(path)
    tail, head = cable_ends(machine)
    ports, row = wire(point, machine).cable_ports, link_of_cable(machine)

    def of_links(statistic: str) -> Ints:
        counts = np.zeros(machine.links, dtype=np.int64)
        for side, routers in ((0, tail), (1, head)):
            keys = zip(routers.tolist(), ports[:, side].tolist(), strict=True)
            np.add.at(counts, 2 * row + side, np.array([sums[statistic][key] for key in keys], dtype=np.int64))
        return counts

    try:
        bits, packets, stalls_ps = of_links(BITS), of_links(PACKETS), of_links(STALLS)
    except KeyError as error:
        raise EngineFailure(f"{path.name} has no statistics of router and port {error}") from None
    return LinkCounts(bits / 8, packets, stalls_ps / PS_OF_A_NS / np.repeat(machine.cable_count, 2))


def port_sums(path: Path) -> dict[str, Ports]:
    """Return the sums of each statistic by router and port; raise `EngineFailure` if it is another file."""
    by_statistic: dict[str, Ports] = defaultdict(dict)
    try:
        with path.open(newline="") as file:
            for row in csv.DictReader(file, skipinitialspace=True):
                if not row["StatisticSubId"]:
                    continue  # of a node
                router = int(row["ComponentName"].removeprefix("router"))
                port = int(row["StatisticSubId"].removeprefix("port"))
                by_statistic[row["StatisticName"]][router, port] = int(row["Sum.u64"])
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise EngineFailure(f"{path.name} is no file of statistics ({type(error).__name__})") from None
    return by_statistic


def packets_of_jobs(point: Point, machine: Machine, jobs: Sequence[PlacedJob], counted: LinkCounts) -> Int32s | None:
    """Return the packets of each job's messages on each link, int32 [jobs, links], without those of its barrier.

    They are certain unless fewer than two jobs communicate, one is in the background, a message or the barrier has more
    than one route, or packets and bytes by the routes differ from SST's counts; then None.
    """
    busy = communicating(list(jobs))
    if len(busy) < 2 or any(job.background for _, job in busy):
        return None
    by_job, total = np.zeros((len(jobs), machine.links), dtype=np.int32), np.zeros((2, machine.links))
    for number, job in busy:
        traffic = _messages(job), _barrier(job)
        if not all(_have_one_route(point, machine, ends) for ends in traffic):
            return None
        sent, barrier = (_on_links(point, machine, *ends) for ends in traffic)
        by_job[number] = np.rint(sent[1])
        total += sent + barrier
    return by_job if np.array_equal(total, [counted.link_bytes, counted.packets]) else None


def _messages(job: PlacedJob) -> Ends:
    """Return source node, destination node, and bytes with the header, of a job's messages."""
    node, messages = job.node_of_rank.astype(np.int64), job.messages
    return node[messages.source], node[messages.destination], messages.size_bytes + HEADER_BYTES


def _barrier(job: PlacedJob) -> Ends:
    """Return the same of the barrier: a header from each of SST's ranks to its parent, and one back."""
    seats = rank_layout(job)
    child = np.arange(1, seats.seats)
    child_node, parent_node = (seats.nodes[rank // seats.cores] for rank in (child, (child - 1) // _CHILDREN))
    size_bytes = np.full(2 * len(child), HEADER_BYTES, dtype=np.int64)
    return np.append(child_node, parent_node), np.append(parent_node, child_node), size_bytes


def _have_one_route(point: Point, machine: Machine, ends: Ends) -> bool:
    routes = cached_routes(machine, point.routing)
    if not (routes.oblivious and isinstance(routes, MemorylessRoutes)):
        return False
    source, destination, _ = ends
    router_of_node = machine.node_router.astype(np.int64)
    goal = destination if routes.by_destination_node else router_of_node[destination]
    router, goal = np.unique(np.stack([router_of_node[source], goal])[:, source != destination], axis=1)
    while len(router):
        hops = routes.next_hops(router, goal)
        if np.any(hops.share < 1):
            return False
        router, goal = machine.link_head[hops.link].astype(np.int64), goal[hops.packet]
    return True


def _on_links(point: Point, machine: Machine, source: Ints, destination: Ints, size_bytes: Ints) -> Floats:
    """Return bytes and packets of messages on each link, [2, links]."""
    amounts = size_bytes, -(-size_bytes // int(point.network.packet_bytes))
    return np.stack([link_loads(machine, source, destination, amount, point.routing).link_bytes for amount in amounts])
