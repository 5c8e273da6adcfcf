"""What a routing does with packets on a machine."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fabricstudy.core.kinds import Family, Kind
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

from .path_graph import PathGraph

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


# Bounds the memory of the walks: packets that move at a time, and pairs of router and goal that are remembered.
PACKETS_AT_ONCE = 1 << 20
STATES_AT_ONCE = 1 << 25

MAX_FLOWS = 1 << 18
"""Flows whose paths are held at most: all pairs of 512 routers."""


@dataclass(frozen=True, eq=False)
class Flows:
    """Bytes from routers to goals, each pair once."""

    source: Ints
    """Routers; int64 [flows]."""
    goal: Ints
    """Routers, or nodes where `Routes.by_destination_node` says so; int64 [flows]."""
    size_bytes: Floats
    """Bytes; float64 [flows]."""

    @classmethod
    def merged(cls, source: Ints, goal: Ints, size_bytes: Floats, goals: int) -> Flows:
        """Add up messages between the same two; `goals` is how many routers or nodes there are."""
        key = source * goals + goal
        cells = (int(source.max(initial=0)) + 1) * goals
        if cells <= 16 * len(key) + STATES_AT_ONCE // 32:
            size = sum_by_index(key, size_bytes, cells)
            pairs = np.flatnonzero(size)
            return cls(pairs // goals, pairs % goals, size[pairs])
        pairs, place = np.unique(key, return_inverse=True)
        return cls(pairs // goals, pairs % goals, sum_by_index(place, size_bytes, len(pairs)))


class NextHops(NamedTuple):
    """Next hops: packet `packet[i]` takes `link[i]`, with the share `share[i]` of it, on virtual channel `channel[i]`.

    Shares of a packet sum to 1; a packet at its goal has no hop. Without `channel`, hop k takes channel k.
    """

    packet: Ints
    link: Ints
    share: Floats
    channel: Ints | None = None


class Routes(ABC):
    """The routes of one routing on one machine."""

    kind: ClassVar[str]
    """Name of the routing in a study."""

    oblivious: ClassVar[bool] = False
    """Whether loads follow from the messages alone; otherwise a packet's way depends on the others."""

    single_path: bool = False
    """Whether all packets between the same two take one path, so that loads are exact."""

    by_destination_node: ClassVar[bool] = False
    """Whether the way depends on the destination node, not on its router alone."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def loads(self, flows: Flows) -> Floats:
        """Bytes on each directed link, float64 [links]; expected ones where packets draw their way.

        Raises ValueError if the routing is not oblivious.
        """
        raise ValueError(f"link loads are not known beforehand for {self.kind} routing")

    def loads_between(self, traffic_bytes: Floats) -> Floats:
        """Return `loads` for bytes [from, to] between routers; the diagonal does not count."""
        source, goal = np.nonzero(traffic_bytes)
        apart = source != goal
        source, goal = source[apart], goal[apart]
        return self.loads(Flows(source, goal, traffic_bytes[source, goal]))

    @abstractmethod
    def support(self, flows: Flows) -> Bools:
        """Whether a packet may take the link, bool [links]."""

    def ways(self, flows: Flows) -> PathGraph | None:
        """Return all paths that packets may take; None where they make detours, or there are too many to hold."""
        return None


class MemorylessRoutes(Routes):
    """Routes where the next hops depend only on where a packet is and on its goal."""

    @abstractmethod
    def next_hops(self, at: Ints, goal: Ints) -> NextHops:
        """Return the next hops of packets at routers `at` with goals `goal`, int64 [packets]."""

    def support(self, flows: Flows) -> Bools:
        """Spread from all sources at once, each pair of router and goal once."""
        used = np.zeros(self.machine.links, dtype=np.bool_)
        for at, goal in _by_goal(flows, self.machine.routers):
            least = goal.min()
            seen = np.zeros((goal.max() - least + 1) * self.machine.routers, dtype=np.bool_)
            state = (goal - least) * self.machine.routers + at
            while len(state):
                seen[state] = True
                hops = self.next_hops(state % self.machine.routers, state // self.machine.routers + least)
                used[hops.link] = True
                reached = state[hops.packet] // self.machine.routers * self.machine.routers
                reached += self.machine.link_head[hops.link]
                state = np.unique(reached[~seen[reached]])
        return used

    def ways(self, flows: Flows) -> PathGraph | None:
        """Follow all flows hop by hop; the states after each hop are numbered below those before it."""
        if len(flows.source) > MAX_FLOWS:
            return None
        routers, head = self.machine.routers, self.machine.link_head
        state = flows.goal * routers + flows.source
        count, links, places = [], [], []
        while len(state):
            hops = self.next_hops(state % routers, state // routers)
            order = np.argsort(hops.packet, kind="stable")
            packet, link = hops.packet[order], hops.link[order]
            count.append(np.bincount(packet, minlength=len(state)))
            links.append(link)
            state, place = np.unique(state[packet] // routers * routers + head[link], return_inverse=True)
            places.append(place)
        below = np.cumsum([0, *(len(one) for one in count[:0:-1])])
        to = [
            np.zeros(0, dtype=np.int64),
            *(place + first for place, first in zip(places[-2::-1], below, strict=False)),
        ]
        return PathGraph(
            begin=np.cumsum(np.concatenate([[0], *reversed(count)])),
            link=np.concatenate([np.zeros(0), *reversed(links)]).astype(np.int32),
            to=np.concatenate(to).astype(np.int32),
            start=np.arange(len(flows.source)) + below[-1],
            size_bytes=flows.size_bytes,
        )


class ObliviousMemorylessRoutes(MemorylessRoutes):
    """Memoryless routes where the shares of the hops are fixed."""

    oblivious = True

    def loads(self, flows: Flows) -> Floats:
        """Move all packets hop by hop."""
        machine, load = self.machine, np.zeros(self.machine.links)
        for start in range(0, len(flows.source), PACKETS_AT_ONCE):
            part = slice(start, start + PACKETS_AT_ONCE)
            at, goal, size = flows.source[part], flows.goal[part], flows.size_bytes[part]
            while len(at):
                hops = self.next_hops(at, goal)
                size = size[hops.packet] * hops.share
                load += sum_by_index(hops.link, size, machine.links)
                at, goal = machine.link_head[hops.link].astype(np.int64), goal[hops.packet]
        return load


def sum_by_index(place: npt.NDArray[np.integer], size_bytes: Floats, places: int) -> Floats:
    """Bytes of each place, float64 [places]."""
    # Of nothing, numpy would make integers.
    return np.bincount(place, weights=size_bytes, minlength=places).astype(np.float64, copy=False)


def _by_goal(flows: Flows, routers: int) -> Iterator[tuple[Ints, Ints]]:
    """Divide sources and goals such that a part has few goals times routers."""
    order = np.argsort(flows.goal, kind="stable")
    source, goal = flows.source[order], flows.goal[order]
    block = goal // max(1, STATES_AT_ONCE // routers)
    cuts = [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(goal)]
    for begin, end in itertools.pairwise(cuts):
        if begin < end:
            yield source[begin:end], goal[begin:end]


class Routing(Kind):
    """What every routing has."""

    FAMILY: ClassVar[Family] = Family("routing")

    # What a machine must have for it: see `traits` of the machines.
    needs: ClassVar[str | None] = None

    def routes(self, machine: Machine) -> Routes:
        """Return the routes on a machine; raises ValueError if the machine lacks what the routing needs."""
        raise NotImplementedError

    def check_machine(self, machine: Topology) -> None:
        """Refuse a machine that has what the routing needs, and which it still does not fit.

        Raises ConfigError, with the path below the routing.
        """


class NonMinimalRouting(Routing):
    """What routings have that lead packets through a place drawn at random."""

    via: Literal["router", "group"] = Field(
        "router",
        description="what is drawn for each packet: a router with nodes (Valiant 1982), or a group with nodes, entered "
        "at its nearest router (Kim et al. 2008); minimal if it is the packet's first or last one",
    )

    @property
    def needs(self) -> str | None:  # type: ignore[override]
        """Groups, where packets go through one."""
        return "groups" if self.via == "group" else None


@lru_cache(maxsize=8)
def cached_routes(machine: Machine, routing: Routing) -> Routes:
    """Return the routes of a routing on a machine; the last ones are kept.

    Raises ValueError if the machine lacks what the routing needs.
    """
    return routing.routes(machine)
