"""Equal-cost multipath by flow hash: all packets of a flow take one of the minimal paths.

The hash is of the source and the destination node, as of the five-tuple of one connection between two hosts; or also of
the number of the message, if each message is a connection of its own. At each router it selects one of the ports of
minimal paths, parallel cables included, each with the same probability; routers hash independently. Flows that select
the same port collide, while other ports may be idle: of m ports, n flows use m (1 - (1 - 1/m)^n) in the mean.

References
----------
Hopps: Analysis of an equal-cost multi-path algorithm. RFC 2992, 2000.
Al-Fares, Radhakrishnan, Raghavan, Huang, Vahdat: Hedera: dynamic flow scheduling for data center networks. NSDI 2010.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Array, Floats, Ints
from fabricstudy.core.model import Whole
from fabricstudy.machine.graph import Machine

from .base import ChannelScheme, Flows, PathGraph, Routes, Routing, sum_by_index
from .minimal import Minimal, MinimalRoutes


class EcmpRoutes(Routes):
    """The path of each flow; ``engines/library/src/flow_hash.rs`` has the same hash."""

    oblivious = True
    single_path = True
    by_destination_node = True
    by_source_node = True
    one_cable = True

    def __init__(self, machine: Machine, hash_seed: int) -> None:
        super().__init__(machine)
        self._minimal = MinimalRoutes(machine)
        self._key = _mixed(np.array([hash_seed], dtype=np.uint64))

    def loads(self, flows: Flows) -> Floats:
        load = np.zeros(self.machine.links)
        for flow, link in self._hops(flows):
            load += sum_by_index(link, flows.size_bytes[flow], self.machine.links)
        return load

    def path_graph(self, flows: Flows) -> PathGraph | None:
        count, hops = len(flows.source), list(self._hops(flows))
        if not hops:
            return None
        flow, link = (np.concatenate(columns) for columns in zip(*hops, strict=True))
        length = np.bincount(flow, minlength=count)
        made = np.repeat(np.arange(len(hops)), [len(moving) for moving, _ in hops])
        # State r * count + f is flow f with r hops to go.
        state = (length[flow] - made) * count + flow
        order = np.argsort(state)
        ways = np.bincount(state, minlength=(len(hops) + 1) * count)
        begin, to = np.concatenate([[0], np.cumsum(ways)]), (state[order] - count).astype(np.int32)
        start = length * count + np.arange(count)
        return PathGraph(begin, link[order].astype(np.int32), to, start, flows.size_bytes)

    def _hops(self, flows: Flows) -> Iterator[tuple[Ints, Ints]]:
        """Yield hop by hop the flows that have one, and the link that each takes."""
        router = self.machine.node_router.astype(np.int64)
        ends = flows.source.astype(np.uint64) << np.uint64(32) | flows.goal.astype(np.uint64)
        bits, at, goal = _mixed(self._key ^ ends) >> np.uint64(32), router[flows.source], router[flows.goal]
        flow = np.flatnonzero(at != goal)
        while len(flow):
            link = self._selected(bits[flow], at[flow], goal[flow])
            yield flow, link
            at[flow] = self.machine.link_head[link]
            flow = flow[at[flow] != goal[flow]]

    def _selected(self, flow: Array, at: Ints, goal: Ints) -> Ints:
        """Return the link that each flow takes at a router: that of one of the ports, in the order of their links."""
        hops = self._minimal.next_hops(at, goal)
        order = np.lexsort((hops.link, self.machine.link_head[hops.link], hops.packet))
        packet, link = hops.packet[order], hops.link[order]
        ports = self.machine.cable_count[link // 2].astype(np.int64)
        of_flow = np.bincount(packet, ports, len(at)).astype(np.int64)
        bits = _mixed(flow << np.uint64(32) | at.astype(np.uint64)) >> np.uint64(32)
        port = (bits * of_flow.astype(np.uint64) >> np.uint64(32)).astype(np.int64)
        last = np.cumsum(ports)  # of each link, among the ports of all flows
        return link[np.searchsorted(last, np.cumsum(of_flow) - of_flow + port, side="right")]


def _mixed(bits: Array) -> Array:
    """Return SplitMix64 of each number, uint64 (Steele, Lea, Flood: OOPSLA 2014)."""
    state = bits + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ state >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ state >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    mixed: Array = state ^ state >> np.uint64(31)
    return mixed


class Ecmp(Routing, kind="ecmp"):
    """Minimal paths, of which a hash selects one for each flow from node to node (ECMP; Hopps: RFC 2992, 2000).

    Flows with the same port collide (Al-Fares et al.: Hedera, NSDI 2010). Loads are exact per pair, and expectations,
    those of `minimal`, per message.
    """

    per: Literal["pair", "message"] = Field(
        "pair",
        description="what is a flow: all messages from a node to another one (hash of both nodes), or each message "
        "(hash of both nodes and its number)",
    )

    hash_seed: Whole = Field(
        1, ge=0, le=2**31 - 1, description="seed of the hash; an axis of seeds shows the range of collisions"
    )

    def routes(self, machine: Machine) -> Routes:
        return EcmpRoutes(machine, self.hash_seed) if self.per == "pair" else MinimalRoutes(machine)

    def channel_scheme(self, machine: Machine) -> ChannelScheme:
        return Minimal().channel_scheme(machine)
