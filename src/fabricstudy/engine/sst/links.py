"""What the ports of SST's routers counted, on the links of the machine, and whose packets these were.

SST's statistics do not say to which job a packet belongs. Where each pair of nodes has one route, packets of a job on
each link follow from its messages; they are believed only if, together with the barrier that ends each job, they are
on every link exactly as many packets, and as many bytes, as SST has counted.
"""

import csv
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import MemorylessRoutes, cached_routes
from fabricstudy.structure.load import link_loads
from fabricstudy.workload.messages import PlacedJob

from ..contract import EngineFailure
from ..point import Point
from .system import PS_OF_A_NS, communicating
from .traces import rank_layout
from .wiring import wire
from .wiring.base import cable_ends, link_of_cable

BITS, PACKETS, STALLS = "send_bit_count", "send_packet_count", "output_port_stalls"

HEADER_BYTES = 45
"""What Firefly puts before the bytes of each message."""

# Firefly's collectives go up and down a tree in which each rank has two children.
_CHILDREN = 2

Ports = dict[tuple[int, int], int]
Ends = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class LinkCounts:
    """What SST counted on each directed link; parallel cables are one link.

    Parameters
    ----------
    link_bytes : float64 array [links]
        Headers of messages and the barrier's messages included.
    packets : int64 array [links]
        As Firefly cuts messages with their headers, the barrier's included.
    stall_ns : float64 array [links]
        Time in which packets stood at the output and no room was known at the other end; the mean of parallel cables.
    """

    link_bytes: npt.NDArray[np.float64]
    packets: npt.NDArray[np.int64]
    stall_ns: npt.NDArray[np.float64]


def read_links(path: Path, point: Point, machine: Machine) -> LinkCounts:
    """Read the statistics of the ports.

    Raises
    ------
    EngineFailure
        If they are not those of this machine.
    """
    sums = port_sums(path)
    tail, head = cable_ends(machine)
    ports, row = wire(point, machine).cable_ports, link_of_cable(machine)

    def of_links(statistic: str) -> npt.NDArray[np.int64]:
        counts = np.zeros(machine.links, dtype=np.int64)
        for side, routers in ((0, tail), (1, head)):
            at = zip(routers.tolist(), ports[:, side].tolist(), strict=True)
            np.add.at(counts, 2 * row + side, np.array([sums[statistic][place] for place in at], dtype=np.int64))
        return counts

    try:
        bits, packets, stalls_ps = of_links(BITS), of_links(PACKETS), of_links(STALLS)
    except KeyError as error:
        raise EngineFailure(f"{path.name} has no statistics of router and port {error}") from None
    return LinkCounts(bits / 8, packets, stalls_ps / PS_OF_A_NS / np.repeat(machine.cable_count, 2))


def port_sums(path: Path) -> dict[str, Ports]:
    """Sums of each statistic by router and port.

    Raises
    ------
    EngineFailure
        If the file is none of SST's statistics.
    """
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


def packets_of_jobs(
    point: Point, machine: Machine, jobs: Sequence[PlacedJob], counted: LinkCounts
) -> npt.NDArray[np.int32] | None:
    """Packets of each job's messages on each link, int32 [jobs, links], where they are certain.

    The barrier's packets, which follow when a job has ended, are left out.

    Returns
    -------
    int32 array or None
        None where fewer than two jobs communicate, one is in the background, a message or the barrier has more than
        one route, or what follows from the routes is not what SST has counted.
    """
    busy = communicating(list(jobs))
    if len(busy) < 2 or any(job.background for _, job in busy):
        return None
    sent = {number: _messages(job) for number, job in busy}
    barrier = {number: _barrier(job) for number, job in busy}
    everything = [*sent.values(), *barrier.values()]
    if not all(_have_one_route(point, machine, ends) for ends in everything):
        return None
    packet_bytes = int(point.network.packet_bytes)
    per_job = np.zeros((len(jobs), machine.links), dtype=np.int32)
    packets, size_bytes = np.zeros(machine.links), np.zeros(machine.links)
    for ends in everything:
        size_bytes += _on_links(point, machine, ends, ends[2])
        packets += _on_links(point, machine, ends, -(-ends[2] // packet_bytes))
    for number, ends in sent.items():
        per_job[number] = np.rint(_on_links(point, machine, ends, -(-ends[2] // packet_bytes)))
    agree = np.array_equal(packets, counted.packets) and np.array_equal(size_bytes, counted.link_bytes)
    return per_job if agree else None


def _messages(job: PlacedJob) -> Ends:
    """Source node, destination node, and bytes with the header, of a job's messages."""
    node, messages = job.node_of_rank.astype(np.int64), job.messages
    return node[messages.source], node[messages.destination], messages.size_bytes + HEADER_BYTES


def _barrier(job: PlacedJob) -> Ends:
    """The same of the barrier: a header from each of SST's ranks to its parent, and one back."""
    seats = rank_layout(job)
    child = np.arange(1, seats.seats)
    child_node, parent_node = (seats.nodes[rank // seats.cores] for rank in (child, (child - 1) // _CHILDREN))
    size_bytes = np.full(2 * len(child), HEADER_BYTES, dtype=np.int64)
    return np.append(child_node, parent_node), np.append(parent_node, child_node), size_bytes


def _have_one_route(point: Point, machine: Machine, ends: Ends) -> bool:
    way = cached_routes(machine, point.routing)
    if not (way.oblivious and isinstance(way, MemorylessRoutes)):
        return False
    source, destination, _ = ends
    router = machine.node_router.astype(np.int64)
    goal = destination if way.by_destination_node else router[destination]
    at, goal = np.unique(np.stack([router[source], goal])[:, source != destination], axis=1)
    while len(at):
        hops = way.next_hops(at, goal)
        if np.any(hops.share < 1):
            return False
        at, goal = machine.link_head[hops.link].astype(np.int64), goal[hops.packet]
    return True


def _on_links(point: Point, machine: Machine, ends: Ends, amount: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    return link_loads(machine, ends[0], ends[1], amount, point.routing).link_bytes
