"""Base classes of routings and routes."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Bools, Floats, Int32s, Integers, Ints
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.kinds import Kind
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine

# Limit the memory of traversals: packets, and pairs of router and goal, at a time.
PACKETS_AT_ONCE = 1 << 20
STATES_AT_ONCE = 1 << 25

ChannelScheme = Literal["hops", "listed", "global-hops", "dateline", "escape", "one"]
"""How packets use virtual channels, so that there is no deadlock.

*hops*: hop k uses class k (Günther: IEEE Trans. Communications 29(4), 1981, doi:10.1109/TCOM.1981.1095021); *listed*:
the routes state the class of each hop; *global-hops*: see `global_hops`; *dateline*: class 1 after the wrap-around link
of a ring (Dally and Seitz 1987); *escape*: dimension order on class 0, any candidate on the other (Duato: IEEE Trans.
Parallel and Distributed Systems 4(12), 1993, doi:10.1109/71.250114); *one*: the paths need no classes.
"""

MAX_FLOWS = 1 << 18
"""Limit of flows whose paths are stored: all pairs of 512 routers."""

MAX_CHANNEL = 255
"""Highest virtual channel that a routing may state."""


class RouteError(FabricstudyError, ValueError):
    """The routes of a routing are none, or do not fit the machine."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem, "extension")


@dataclass(frozen=True, eq=False)
class Flows:
    """Bytes from routers to goals; pairs are unique."""

    source: Ints
    """Routers, or nodes if `Routes.by_source_node`; int64 [flows]."""
    goal: Ints
    """Routers, or nodes if `Routes.by_destination_node`; int64 [flows]."""
    size_bytes: Floats
    """Bytes; float64 [flows]."""

    @classmethod
    def between(cls, traffic_bytes: Floats) -> Flows:
        """Return the flows of bytes [from, to] between routers; the diagonal is ignored."""
        source, goal = np.nonzero(traffic_bytes)
        apart = source != goal
        source, goal = source[apart], goal[apart]
        return cls(source, goal, traffic_bytes[source, goal])

    @classmethod
    def merged(cls, source: Ints, goal: Ints, size_bytes: Floats, goals: int) -> Flows:
        """Return the flows of messages, summed per pair; `goals` is the number of routers or nodes."""
        key = source * goals + goal
        cells = (int(source.max(initial=0)) + 1) * goals
        if cells <= 16 * len(key) + STATES_AT_ONCE // 32:
            size = sum_by_index(key, size_bytes, cells)
            pairs = np.flatnonzero(size)
            return cls(pairs // goals, pairs % goals, size[pairs])
        pairs, flow = np.unique(key, return_inverse=True)
        return cls(pairs // goals, pairs % goals, sum_by_index(flow, size_bytes, len(pairs)))


class NextHops(NamedTuple):
    """Next hops: the share `share[i]` of packet `packet[i]` takes `link[i]` on virtual channel `channel[i]`.

    Shares of a packet are at least 0 and sum to 1; a packet at its goal has no hop. Without `channel`, hop k uses
    channel k.
    """

    packet: Ints
    link: Ints
    share: Floats
    channel: Ints | None = None


class PathGraph(NamedTuple):
    """All paths that a routing allows flows, as an acyclic graph; a state is a packet at a router with a goal."""

    begin: Ints
    """State s has the hops ``begin[s] : begin[s + 1]``, none at a goal; int64 [states + 1]."""
    link: Int32s
    to: Int32s
    """Directed link and next state, which has a lower number, of each hop; int32 [hops] each."""
    start: Ints
    """First state of each flow; int64 [flows]."""
    size_bytes: Floats
    """Bytes of each flow; float64 [flows]."""

    @property
    def work(self) -> int:
        """Work of `shortest`, in hops."""
        return len(self.link)

    def shortest(self, length: Floats) -> Floats:
        """Return the bytes on each link, float64 [links], if flows take paths of least total `length` [links]."""
        # Imports numba, which planning does not need.
        from .kernels import shortest_loads

        load: Floats = shortest_loads(*self, length)
        return load

    def limits(self, capacity_Bps: Floats, latency_ns: Floats) -> tuple[Floats, Floats]:
        """Return the bandwidth of all paths of each flow together, at most, and the latency of its fastest one.

        The arguments are float64 [links], the results float64 [flows]. The bandwidth is exact for one path.
        """
        # Imports numba, which planning does not need.
        from .kernels import path_limits

        bandwidth_Bps, least_ns = path_limits(self.begin, self.link, self.to, capacity_Bps, latency_ns)
        return bandwidth_Bps[self.start], least_ns[self.start]


class Routes:
    """Routes of a routing on a machine."""

    oblivious: ClassVar[bool] = False
    """True if loads follow from the messages alone, and paths do not depend on other packets."""

    single_path: bool = False
    """True if all packets of a flow take one path, so that loads are exact."""

    by_destination_node: ClassVar[bool] = False
    """True if paths depend on the destination node, not only on its router."""

    by_source_node: ClassVar[bool] = False
    """True if paths depend on the source node, too."""

    one_cable: ClassVar[bool] = False
    """True if all packets of a flow take the same one of parallel cables."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def loads(self, flows: Flows) -> Floats:
        """Return the bytes on each directed link if `oblivious`, float64 [links]: expectations for randomised paths."""
        raise NotImplementedError

    def loads_between(self, traffic_bytes: Floats) -> Floats:
        """Return `loads` for bytes [from, to] between routers; the diagonal is ignored."""
        return self.loads(Flows.between(traffic_bytes))

    def support(self, flows: Flows) -> Bools:
        """Return the links that packets may use, bool [links]: by default, those with loads."""
        return self.loads(Flows(flows.source, flows.goal, np.ones(len(flows.source)))) > 0

    def path_graph(self, flows: Flows) -> PathGraph | None:
        """Return all paths that packets may take; None for non-minimal routings, or if there are too many."""
        return None


class MemorylessRoutes(Routes, ABC):
    """Routes whose next hops depend only on a packet's router and goal."""

    @abstractmethod
    def next_hops(self, at: Ints, goal: Ints) -> NextHops:
        """Return the next hops of packets at routers `at` for `goal`, int64 [packets] each."""

    def checked_hops(self, at: Ints, goal: Ints) -> NextHops:
        """Return `next_hops`. Raises RouteError if they are none, lead nowhere, or their shares do not sum to 1."""
        hops, arrived = self.next_hops(at, goal), at == self.last_routers[goal]
        problem, packet = _hops_problem(self.machine, hops, at, arrived, self.oblivious)
        if problem:
            where = f" at router {at[packet]} for {self.goal_text(int(goal[packet]))}" if packet >= 0 else ""
            raise RouteError(f"the next hops{where} {problem}")
        return hops

    @cached_property
    def last_routers(self) -> Ints:
        """The router of each goal."""
        machine = self.machine
        return machine.node_router.astype(np.int64) if self.by_destination_node else np.arange(machine.routers)

    def goal_text(self, goal: int) -> str:
        return f"{'node' if self.by_destination_node else 'router'} {goal}"

    def check_steps(self, step: int, at: Ints, goal: Ints) -> None:
        """Refuse a loop, in which packets have made as many hops as there are routers."""
        if step >= self.machine.routers:
            raise RouteError(f"packets may loop, such as those at router {at[0]} for {self.goal_text(int(goal[0]))}")

    def support(self, flows: Flows) -> Bools:
        # Spread from all sources at once; each pair of router and goal is visited once.
        used, routers = np.zeros(self.machine.links, dtype=np.bool_), self.machine.routers
        for at, goal in _by_goal(flows, routers):
            least = goal.min()
            seen = np.zeros((goal.max() - least + 1) * routers, dtype=np.bool_)
            state = (goal - least) * routers + at
            while len(state):
                seen[state] = True
                hops = self.checked_hops(state % routers, state // routers + least)
                used[hops.link] = True
                reached = state[hops.packet] // routers * routers + self.machine.link_head[hops.link]
                state = np.unique(reached[~seen[reached]])
        return used

    def path_graph(self, flows: Flows) -> PathGraph | None:
        # Follow all flows hop by hop; the states after each hop have lower numbers than those before it.
        if len(flows.source) > MAX_FLOWS:
            return None
        routers, head = self.machine.routers, self.machine.link_head
        state = flows.goal * routers + flows.source
        count: list[Ints] = []
        links: list[Ints] = []
        indices: list[Ints] = []
        while len(state):
            hops = self.checked_hops(state % routers, state // routers)
            if len(hops.link):
                self.check_steps(len(count), state % routers, state // routers)
            order = np.argsort(hops.packet, kind="stable")
            packet, link = hops.packet[order], hops.link[order]
            count.append(np.bincount(packet, minlength=len(state)))
            links.append(link)
            state, index = np.unique(state[packet] // routers * routers + head[link], return_inverse=True)
            indices.append(index)
        below = np.cumsum([0, *map(len, count[:0:-1])])
        to = [index + first for index, first in zip(indices[-2::-1], below, strict=False)]
        return PathGraph(
            begin=np.cumsum(np.concatenate([[0], *reversed(count)])),
            link=np.concatenate([np.zeros(0), *reversed(links)]).astype(np.int32),
            to=np.concatenate([np.zeros(0, dtype=np.int64), *to]).astype(np.int32),
            start=np.arange(len(flows.source)) + below[-1],
            size_bytes=flows.size_bytes,
        )


class ObliviousMemorylessRoutes(MemorylessRoutes):
    """Memoryless routes with fixed shares of the hops."""

    oblivious = True

    def loads(self, flows: Flows) -> Floats:
        machine, load = self.machine, np.zeros(self.machine.links)
        for start in range(0, len(flows.source), PACKETS_AT_ONCE):
            part = slice(start, start + PACKETS_AT_ONCE)
            at, goal, size = flows.source[part], flows.goal[part], flows.size_bytes[part]
            for step in itertools.count():
                hops = self.checked_hops(at, goal)
                if not len(hops.link):
                    break
                self.check_steps(step, at, goal)
                size = size[hops.packet] * hops.share
                load += sum_by_index(hops.link, size, machine.links)
                at, goal = machine.link_head[hops.link].astype(np.int64), goal[hops.packet]
                if len(at) > PACKETS_AT_ONCE:  # split into many paths, which are the same from here
                    merged = Flows.merged(at, goal, size, len(self.last_routers))
                    at, goal, size = merged.source, merged.goal, merged.size_bytes
        return load


def _hops_problem(machine: Machine, hops: object, at: Ints, arrived: Bools, oblivious: bool) -> tuple[str, int]:
    """Return what is wrong with next hops, and the packet, or -1 if that of all; "" if nothing is wrong."""
    if not isinstance(hops, NextHops):
        return f"are {type(hops).__name__} instead of NextHops", -1
    channel = () if hops.channel is None else (hops.channel,)
    for name, column, kinds in zip(hops._fields, (*hops[:3], *channel), ("iu", "iu", "fiu", "iu"), strict=False):
        if not isinstance(column, np.ndarray) or column.ndim != 1 or len(column) != len(hops.packet):
            return f"have a {name} that is not one array with a value for each hop", -1
        if column.dtype.kind not in kinds:
            return f"have a {name} of the type {column.dtype}", -1
    limits = len(at) - 1, machine.links - 1, np.inf, MAX_CHANNEL
    for name, column, most in zip(hops._fields, (*hops[:3], *channel), limits, strict=False):
        if len(column) and not (column.min() >= 0 and column.max() <= most):  # also where it is not a number
            row = int(np.argmin((column >= 0) & (column <= most)))
            packet = -1 if name == "packet" else int(hops.packet[row])
            return f"have the {name} {column[row]}; it must be from 0 to {most}", packet
    strays = machine.link_tail[hops.link] != at[hops.packet]
    if strays.any():
        return "leave another router", int(hops.packet[np.argmax(strays)])
    moving = np.bincount(hops.packet, minlength=len(at)) > 0
    if np.any(moving == arrived):
        packet = int(np.argmax(moving == arrived))
        return ("leave its destination" if arrived[packet] else "end"), packet
    short = np.abs(sum_by_index(hops.packet, hops.share, len(at)) - 1) > 1e-9
    if oblivious and np.any(short & ~arrived):
        return "have shares that do not sum to 1", int(np.argmax(short & ~arrived))
    return "", -1


def sum_by_index(index: Integers, size_bytes: Floats, length: int) -> Floats:
    """Return the sum of bytes per index, float64 [length]."""
    # For empty input bincount returns integers.
    return np.bincount(index, weights=size_bytes, minlength=length).astype(np.float64, copy=False)


def _by_goal(flows: Flows, routers: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield sources and goals in blocks of few goals times routers."""
    order = np.argsort(flows.goal, kind="stable")
    source, goal = flows.source[order], flows.goal[order]
    block = goal // max(1, STATES_AT_ONCE // routers)
    cuts = [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(goal)]
    for begin, end in itertools.pairwise(cuts):
        if begin < end:
            yield source[begin:end], goal[begin:end]


class Routing(Kind, family="routing"):
    """Base class of routings."""

    # Trait that the machine must have: see `Topology.traits`.
    needs: ClassVar[str | None] = None

    minimal: ClassVar[bool] = True
    """False if packets may take detours."""

    def routes(self, machine: Machine) -> Routes:
        """Return the routes on a machine; raises ValueError if the machine lacks the trait."""
        raise RouteError(f"{self.kind} routing has no method routes")

    def channel_scheme(self, machine: Machine) -> ChannelScheme:
        """Return how packets use virtual channels on a machine."""
        return "hops"

    def check_machine(self, machine: Topology) -> None:
        """Reject a machine that has the trait but does not fit; raises ConfigError with the path below the routing."""


class NonMinimalRouting(Routing):
    """Base class of routings through a random intermediate router or group."""

    minimal = False

    via: Literal["router", "group"] = Field(
        "router",
        description="random intermediate of each packet: a router with nodes (Valiant 1982), or a group with nodes, "
        "entered at its nearest router (Kim et al. 2008); minimal if it is the packet's first or last one",
    )

    @property
    def needs(self) -> str | None:  # type: ignore[override]
        """Groups, for paths through one."""
        return "groups" if self.via == "group" else None


@lru_cache(maxsize=8)
def cached_routes(machine: Machine, routing: Routing) -> Routes:
    """Return the routes of a routing on a machine, cached; raises ValueError if the machine lacks the trait."""
    routes: object = routing.routes(machine)
    if not isinstance(routes, Routes):
        raise RouteError(f"the method routes returns {type(routes).__name__} instead of Routes")
    return routes
