"""A point as an engine receives it: machine, routes and traffic as graphs, tables and arrays.

Sizes are in bytes, times in ns, bandwidths in B/s. Routers, nodes, links and ranks are numbered from 0; link 2i leads
from the tail of row i of the cables to its head, and link 2i+1 back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fabricstudy.core.arrays import Floats, Int32s, Ints
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.routing.listed import HopList
from fabricstudy.structure.deadlock import is_deadlock_free
from fabricstudy.workload.messages import PlacedJob
from fabricstudy.workload.offered import Offered
from fabricstudy.workload.operations import Operations
from fabricstudy.workload.phases import operations_of, started_at
from fabricstudy.workload.traffic.base import Destinations

from .failures import Unsupported
from .listed_routes import listed_routes
from .point import Point
from .settings import Network

if TYPE_CHECKING:
    import networkx
    import pandas as pd


class NodeMessages(NamedTuple):
    """Messages between nodes, in the order in which their ranks send them; arrays [messages] each."""

    job: Int32s
    phase: Int32s
    """A rank begins a phase when all that it sends or receives in the previous one has arrived."""
    source_rank: Int32s
    destination_rank: Int32s
    source: Int32s
    """Node of the sending rank; a message between ranks of one node has the same source and destination."""
    destination: Int32s
    size_bytes: Ints


class Hops(NamedTuple):
    """Next hops of packets; int64 [rows] each, sorted by router and destination, shares float64 [rows]."""

    router: Ints
    destination: Ints
    """Router of the destination node."""
    link: Ints
    next_router: Ints
    share: Floats
    """Of the packets at `router` for `destination`; sums to 1."""


@dataclass(frozen=True, eq=False)
class BuiltPoint:
    """A point with its built machine and its placed jobs, or with offered traffic at one load."""

    point: Point
    machine: Machine
    jobs: Sequence[PlacedJob] = ()
    load: float | None = None
    """Offered load, over the bandwidth of the link of a node; None for jobs."""

    @property
    def seed(self) -> int:
        """Seed of the simulation."""
        return self.point.seed

    @property
    def network(self) -> Network:
        """Parameters of routers and network interfaces, such as `packet_bytes` and `router_latency_ns`."""
        return self.point.network

    @property
    def routing(self) -> Routing:
        """The routing."""
        return self.point.routing

    @property
    def offered(self) -> Offered:
        """The offered traffic: `message_bytes`, `arrivals`, `warmup` and `measured` (in message times)."""
        if self.point.offered is None:
            raise Unsupported("the point has jobs, no offered traffic")
        return self.point.offered

    @cached_property
    def message_ns(self) -> float:
        """Transmission time of an offered message on the link of a node."""
        return float(self.offered.mean_bytes / self.machine.host.bandwidth_Bps * 1e9)

    @cached_property
    def destinations(self) -> Destinations:
        """Destinations of the offered traffic, as ranges of nodes."""
        return self.offered.destinations(self.machine, self.seed)

    def common_bandwidth_Bps(self) -> float:
        """Return the bandwidth of all cables and host links. Raises `Unsupported` if they differ."""
        rates = {link.bandwidth_Bps for link in (*self.machine.classes, self.machine.host)}
        if len(rates) > 1:
            raise Unsupported("all links need the same bandwidth here; set machine.bandwidth to one value")
        return rates.pop()

    def edges(self) -> pd.DataFrame:
        """Return one row per row of cables: tail, head, cables, class, bandwidth_Bps (of one cable), latency_ns."""
        import pandas as pd

        machine = self.machine
        classes = [machine.classes[number] for number in machine.cable_class.tolist()]
        columns = {"tail": machine.cable_tail, "head": machine.cable_head, "cables": machine.cable_count}
        facts = {name: [getattr(link, name) for link in classes] for name in ("name", "bandwidth_Bps", "latency_ns")}
        return pd.DataFrame(columns | facts).rename(columns={"name": "class"})

    def graph(self) -> networkx.MultiGraph[Any]:
        """Return the machine as a networkx multigraph: vertices ("router", r) and ("node", n), an edge per cable.

        Edges have `bandwidth_Bps` and `latency_ns`. networkx must be installed.
        """
        import networkx

        graph = networkx.MultiGraph()
        graph.add_nodes_from(("router", router) for router in range(self.machine.routers))
        for row in self.edges().to_dict("records"):
            for _ in range(row["cables"]):
                ends = ("router", row["tail"]), ("router", row["head"])
                graph.add_edge(*ends, bandwidth_Bps=row["bandwidth_Bps"], latency_ns=row["latency_ns"])
        host = self.machine.host
        for node, router in enumerate(self.machine.node_router.tolist()):
            ends = ("node", node), ("router", router)
            graph.add_edge(*ends, bandwidth_Bps=host.bandwidth_Bps, latency_ns=host.latency_ns)
        return graph

    def ports(self) -> pd.DataFrame:
        """Return one row per port of a router: router, port, node or -1, neighbour (a router) or -1, link or -1.

        The ports of a router are numbered from 0: its nodes first, then its cables by number of the leaving link;
        parallel cables have adjacent ports.
        """
        import pandas as pd

        machine = self.machine
        links = np.repeat(np.arange(machine.links), np.repeat(machine.cable_count, 2))
        nodes, unused = np.arange(machine.nodes), np.full(len(links), -1)
        router = np.concatenate([machine.node_router, machine.link_tail[links]]).astype(np.int64)
        none = np.full(machine.nodes, -1)
        columns = {
            "node": np.concatenate([nodes, unused]),
            "neighbour": np.concatenate([none, machine.link_head[links]]),
            "link": np.concatenate([none, links]),
        }
        frame = pd.DataFrame({"router": router, "port": 0, **columns}).sort_values("router", kind="stable")
        frame["port"] = frame.groupby("router").cumcount()
        return frame.reset_index(drop=True)

    def next_hops(self) -> Hops:
        """Return the next hops of the routing as a table. Raises `Unsupported` for routings that have none.

        Adaptive routings have all their candidates, with equal shares of cables.
        """
        routes = listed_routes(self.routing, self.machine)
        if not isinstance(routes, HopList):
            raise Unsupported(f"{self.routing.kind} routing has paths and no next hops; use minimal")
        order = np.lexsort((routes.goal, routes.router))
        router, goal, link = (column[order] for column in (routes.router, routes.goal, routes.link))
        share = routes.share[order]
        state = np.unique(np.stack([router, goal]), axis=1, return_inverse=True)[1].reshape(-1)
        cables = self.machine.cable_count[link // 2].astype(np.float64)
        even = cables / np.bincount(state, cables)[state]
        stated = np.bincount(state, share)[state] > 0
        return Hops(router, goal, link, self.machine.link_head[link].astype(np.int64), np.where(stated, share, even))

    def has_cyclic_waits(self) -> bool:
        """Return whether packets may deadlock without virtual channels: a cycle in the channel dependency graph."""
        return not is_deadlock_free(self.machine, self.routing, one_channel=True)

    def messages(self) -> NodeMessages:
        """Return the messages of all jobs. Raises `Unsupported` for jobs that do not consist of phases."""
        self._check_placed()
        if any(job.operations is not None or job.computing is not None or job.background for job in self.jobs):
            raise Unsupported("the jobs compute, depend on messages or run in the background; use operations()")
        parts = [
            (
                np.full(len(job.messages), number, dtype=np.int32), job.messages.phase,
                job.messages.source, job.messages.destination,
                job.node_of_rank[job.messages.source], job.node_of_rank[job.messages.destination],
                job.messages.size_bytes,
            )
            for number, job in enumerate(self.jobs)
        ]  # fmt: skip
        return NodeMessages(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def operations(self) -> list[Operations]:
        """Return the operations of each job: what its ranks compute, send and receive, and what each waits for."""
        self._check_placed()
        return [started_at(operations_of(job), job.start_ns) for job in self.jobs]

    def _check_placed(self) -> None:
        if not self.jobs:
            raise ValueError("no job is placed here; take messages in write and read")

    def traffic_matrix(self) -> Floats:
        """Return the share of a node's offered load that it sends to each other node, float64 [nodes, nodes].

        A row of a node that offers the whole load sums to 1.
        """
        shares = np.zeros((self.machine.nodes, self.machine.nodes))
        for node, share, first, last in zip(*self.destinations, strict=True):
            others = np.arange(first, last + 1)
            others = others[others != node]
            shares[node, others] += share / len(others)
        return shares
