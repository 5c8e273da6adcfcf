"""A slow reference of the packet engine: its documented model, with nothing but clarity in mind.

After each time of a heap everything is examined again until nothing changes: each link, each interface, each waiting
packet, each lane. From the engine's code come only its random hashes, its rounding, and its order at one time.

``python -m tests.engines.packet_reference 1000 --first 0`` compares random points with the engine's program.
"""

from __future__ import annotations

import argparse
import heapq
import math
import os
import tempfile
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from .packet_points import PointFiles, random_point, simulate

PROGRAM = Path(
    os.environ.get("FABRICSTUDY_PACKET", Path(__file__).parents[2] / "engines/target/release/fabricstudy-packet")
)

EVER = 2**64
LOOK, TASK = 0, 1
LEFT, ARRIVED = 0, 1
CALC, EAGER, RECEIVE, SYNCHRONOUS = 0, 1, 2, 3
DIRECT, DETOUR, UNDECIDED = "direct", "detour", "undecided"


def mix(bits: int) -> int:
    """Return SplitMix64's hash."""
    z = (bits + 0x9E3779B97F4A7C15) % EVER
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % EVER
    z = (z ^ z >> 27) * 0x94D049BB133111EB % EVER
    return z ^ z >> 31


def below(bits: int, end: int) -> int:
    """Return a number below `end` from the upper 32 bits."""
    return (bits >> 32) * end >> 32


def below_wide(bits: int, end: int) -> int:
    """Return a number below `end` from all 64 bits."""
    return bits * end >> 64


def rounded(number: float) -> int:
    """Return the nearest whole number, halves up."""
    whole = math.floor(number)
    return whole + (number - whole >= 0.5)


class Lines:
    """Lines of whole numbers, some after a word."""

    def __init__(self, text: str) -> None:
        self.lines = deque(line.split() for line in text.splitlines())

    def word(self) -> str:
        return self.lines[0][0] if self.lines else ""

    def count(self, *words: str) -> int:
        word, count = self.lines.popleft()
        assert word in words, (word, words)
        return int(count)

    def rows(self, count: int) -> list[list[int]]:
        return [[int(number) for number in self.lines.popleft()] for _ in range(count)]


class Settings:
    def __init__(self, text: str) -> None:
        words = {line.split()[0]: line.split()[1:] for line in text.splitlines()}
        self.seed = mix((int(words["seed"][0]) + 0x5851F42D4C957F2D) % EVER)
        self.kind, self.tie, self.via = words["routing"]
        detours, self.bias, self.threshold, progressive = map(float, words["ugal"])
        self.detours, self.progressive = int(detours), progressive != 0
        self.weight = [int(weight) for weight in words["class_weight"]]
        self.bandwidth_Bps = [float(value) for value in words["bandwidth_Bps"]]
        self.latency_ns = [float(value) for value in words["latency_ns"]]
        self.router_ns = float(words["router_latency_ns"][0])
        self.packet, self.buffer = int(words["packet_bytes"][0]), int(words["buffer_bytes"][0])
        self.per_channel = words["buffers"] == ["channel"]
        self.channels, self.classes = int(words["channels"][0]), int(words["channels"][1])
        self.scheme = words["channels"][2]
        self.speedup, self.injection = float(words["crossbar_speedup"][0]), int(words["injection"][0])
        self.shares = [float(share) for share in words["traffic_classes"]]
        self.job_classes = [int(of) for of in words["job_classes"]]


class Machine:
    def __init__(self, text: str) -> None:
        lines = Lines(text)
        assert lines.count("graph") == 1
        self.routers = lines.count("routers")
        lines.count("classes")
        self.node_router = [router for (router,) in lines.rows(lines.count("nodes"))]
        self.exits: list[list[tuple[int, int, int, int]]] = [[] for _ in range(self.routers)]
        """Neighbour, link, class and cables of the links of each router, sorted by the neighbour."""
        for row, (tail, head, of, cables) in enumerate(lines.rows(lines.count("cables"))):
            self.exits[tail].append((head, 2 * row, of, cables))
            self.exits[head].append((tail, 2 * row + 1, of, cables))
        for exits in self.exits:
            exits.sort()
        self.links = sum(len(exits) for exits in self.exits)
        self.dimensions: list[list[int]] = []
        self.level: list[int] = []
        self.group: list[int] = []
        self.hops: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        self.by_node = False
        self.paths: dict[tuple[int, int], list[tuple[int, list[int]]]] = {}
        while word := lines.word():
            rows = lines.rows(lines.count(word))
            if word == "dimensions":
                self.dimensions = rows
            elif word == "levels":
                self.level = [level for (level,) in rows]
            elif word == "groups":
                self.group = [group for (group,) in rows]
            elif word == "paths":
                routers = iter(router for (router,) in lines.rows(lines.count("path_routers")))
                for source, goal, weight, hops in rows:
                    path = [next(routers) for _ in range(hops)]
                    self.paths.setdefault((source, goal), []).append((weight, path))
            else:
                self.by_node = word == "node_hops"
                for router, goal, link, channel, weight in rows:
                    self.hops.setdefault((router, goal), []).append((link, channel, weight))


@dataclass(eq=False)
class Operation:
    number: int
    kind: int
    rank: Rank
    stream: int
    length: int
    partner: int
    needs: int = 0
    dependents: list[tuple[int, int]] = field(default_factory=list)
    missing: int = 0
    started: bool = False
    arrived: float = 0
    start_ps: int = 0
    end_ps: int = 0


@dataclass(eq=False)
class Rank:
    job: int
    node: int
    operations: list[Operation] = field(default_factory=list)
    repeats: bool = False
    left: int = 0
    active: int = 0
    active_since: int = 0
    active_ps: int = 0
    finish_ps: int | None = None


class Operations:
    """Operations that wait for each other; `post` sends a message, `timer` calls `end_active` later."""

    def __init__(self, text: str, simulation: Simulation) -> None:
        lines, self.simulation = Lines(text), simulation
        assert lines.count("operations") == 1
        self.striped = lines.word() == "stripes"
        self.ports = 1 if lines.word() == "jobs" else lines.count("ports", "stripes")
        self.jobs = lines.count("jobs")
        self.background: list[bool] = []
        self.ranks: list[Rank] = []
        self.all: list[Operation] = []
        self.computing: dict[tuple[int, int], deque[Operation]] = {}
        """The computation that a stream does, and those that wait for it."""
        self.starting: deque[Operation] = deque()
        for job in range(self.jobs):
            first_rank, first = len(self.ranks), len(self.all)
            self.background.append(lines.word() == "background")
            self.ranks += [Rank(job, node) for (node,) in lines.rows(lines.count("ranks", "background"))]
            lines.count("streams")
            for kind, rank, stream, length, partner in lines.rows(lines.count("operations")):
                of = self.ranks[first_rank + rank]
                one = Operation(len(self.all), kind, of, stream, length, first + partner)
                self.all.append(one)
                of.operations.append(one)
            for needs, operation, when in lines.rows(lines.count("dependencies")):
                self.all[first + needs].dependents.append((first + operation, when))
                self.all[first + operation].needs += 1

    def partner(self, one: Operation) -> Operation:
        return self.all[one.partner]

    def finished(self) -> bool:
        return all(rank.finish_ps is not None for rank in self.ranks if not self.background[rank.job])

    def takes_time(self) -> set[Rank]:
        """Return the ranks that compute, have a message between nodes, or receive from such a rank."""
        taking = {one.rank for one in self.all if one.kind == CALC and one.length > 0}
        pairs = [(one.rank, self.partner(one).rank) for one in self.all if one.kind == RECEIVE]
        taking |= {rank for pair in pairs for rank in pair if pair[0].node != pair[1].node}
        while more := {receiver for receiver, sender in pairs if sender in taking} - taking:
            taking |= more
        return taking

    def begin(self) -> None:
        taking = self.takes_time()
        for rank in self.ranks:
            rank.repeats = self.background[rank.job] and rank in taking
            self.begin_rank(rank)
            if not rank.operations:
                self.finish(rank)
        self.start_all()

    def begin_rank(self, rank: Rank) -> None:
        rank.left = len(rank.operations) + rank.repeats * sum(one.kind == EAGER for one in rank.operations)
        for one in rank.operations:
            one.missing, one.started = one.needs, False
        for one in rank.operations:
            if one.needs == 0:
                self.may_start(one)

    def may_start(self, one: Operation) -> None:
        if one.kind == CALC:
            stream = self.computing.setdefault((one.rank.job, one.stream), deque())
            stream.append(one)
            if stream[0] is not one:
                return
        self.starting.append(one)

    def start_all(self) -> None:
        while self.starting:
            self.start(self.starting.popleft())

    def start(self, one: Operation) -> None:
        self.tell(one, 1)
        one.start_ps = self.simulation.now
        partner = self.partner(one)
        if one.kind == RECEIVE:
            one.started = True
            self.try_to_receive(one)
        elif one.kind == CALC and one.length > 0:
            self.activate(one.rank)
            self.simulation.at(one.start_ps + one.length, TASK, one.number, LEFT)
        elif one.kind == CALC:
            self.end(one)
        elif partner.rank.node == one.rank.node:
            self.end(one)
            self.arrive_at(partner)
        else:
            self.activate(one.rank)
            self.simulation.post(one)

    def tell(self, one: Operation, when: int) -> None:
        for number, of in one.dependents:
            if of == when:
                self.all[number].missing -= 1
                if self.all[number].missing == 0:
                    self.may_start(self.all[number])

    def activate(self, rank: Rank) -> None:
        if rank.active == 0:
            rank.active_since = self.simulation.now
        rank.active += 1

    def deactivate(self, rank: Rank) -> None:
        rank.active -= 1
        if rank.active == 0:
            rank.active_ps += self.simulation.now - rank.active_since

    def end(self, one: Operation) -> None:
        one.end_ps = self.simulation.now
        if one.kind == CALC:
            stream = self.computing[one.rank.job, one.stream]
            stream.popleft()
            if stream:
                self.starting.append(stream[0])
        self.tell(one, 0)
        self.count_down(one.rank)

    def end_active(self, one: Operation) -> None:
        self.deactivate(one.rank)
        self.end(one)

    def message_arrives(self, send: Operation) -> None:
        if send.kind == SYNCHRONOUS:
            self.end_active(send)
        self.arrive_at(self.partner(send))

    def arrive_at(self, receive: Operation) -> None:
        send = self.partner(receive)
        once = self.background[send.rank.job] and not send.rank.repeats
        receive.arrived = math.inf if once else receive.arrived + 1
        self.try_to_receive(receive)
        if send.rank.repeats and send.kind == EAGER:
            self.count_down(send.rank)

    def try_to_receive(self, receive: Operation) -> None:
        if receive.started and receive.arrived > 0:
            receive.started, receive.arrived = False, receive.arrived - 1
            self.end(receive)

    def count_down(self, rank: Rank) -> None:
        rank.left -= 1
        if rank.left == 0:
            if rank.repeats:
                self.begin_rank(rank)
            else:
                self.finish(rank)

    def finish(self, rank: Rank) -> None:
        if not self.background[rank.job]:
            rank.finish_ps = self.simulation.now


class Node:
    """Messages of a node: those of each rank that wait for a slot, and those in flight at each interface."""

    def __init__(self, ranks: int, interfaces: int, slots: int) -> None:
        self.waiting: list[deque[list[Any]]] = [deque() for _ in range(ranks)]
        self.in_flight: list[deque[list[Any]]] = [deque() for _ in range(interfaces)]
        self.slots, self.rank, self.interface = slots, 0, 0

    def fill_slots(self) -> None:
        while any(self.waiting) and len(self.in_flight[self.interface]) < self.slots:
            if self.waiting[self.rank]:
                self.in_flight[self.interface].append(self.waiting[self.rank].popleft())
                self.interface = (self.interface + 1) % len(self.in_flight)
            self.rank = (self.rank + 1) % len(self.waiting)

    def sent(self, interface: int, size: int) -> None:
        """Take a packet off the first message; the next one has its turn if there are several slots."""
        messages = self.in_flight[interface]
        messages[0][1] -= size
        if messages[0][1] == 0:
            messages.popleft()
        elif self.slots > 1:
            messages.rotate(-1)


@dataclass(eq=False)
class Packet:
    send: Operation
    node: int
    goal: int
    size: int
    key: int
    traffic_class: int
    priority: int = 0
    hop: int = 0
    skipped: int = 0
    stage: str = DIRECT
    via: Any = None
    places: list[int] = field(default_factory=list)
    head: int = 0
    tail: int = 0
    ways: list[Way] | None = None
    """What it waits for."""


@dataclass(frozen=True)
class Way:
    port: Port
    first_class: int
    last_class: int
    escape: bool = False


class Buffer:
    """Bytes in the units of each traffic class; beyond its own room a unit uses what they have in common."""

    def __init__(self, capacity: int, least: int, units: int, classes: int, separate: bool) -> None:
        self.own = capacity if separate or units == 1 else max(least, capacity // (2 * units))
        self.common = 0 if separate else max(0, capacity - self.own * units)
        self.held = [[0] * units for _ in range(classes)]

    def has_room(self, unit: tuple[int, int], size: int) -> bool:
        of, index = unit
        held = list(self.held[of])
        held[index] += size
        return held[index] <= self.own or sum(max(0, one - self.own) for one in held) <= self.common

    def add(self, unit: tuple[int, int], size: int) -> None:
        self.held[unit[0]][unit[1]] += size
        assert self.held[unit[0]][unit[1]] >= 0

    def bytes(self) -> int:
        return sum(map(sum, self.held))


@dataclass(eq=False)
class Port:
    """A link and the output before it; `router` is None at a node, `to` is None towards a node."""

    number: int
    router: int | None
    bandwidth_Bps: float
    latency_ns: float
    link: int | None
    output: Buffer
    there: Buffer
    """The input at the other end, as this end knows it."""
    lanes: list[deque[Packet]]
    to: list[InLane] | None = None
    to_router: int | None = None
    crossed_at: list[int] = field(default_factory=list)
    credits: list[tuple[int, tuple[int, int], int]] = field(default_factory=list)
    sending: tuple[tuple[int, int], int] | None = None
    free_at: int = 0
    left_over: float = 0.0
    turn: int = 0
    bytes: int = 0
    packets: int = 0
    virtual_time: float = 0.0
    served: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.latency = rounded(self.latency_ns * 1e3)
        self.ps_per_byte = 1e12 / self.bandwidth_Bps
        self.crossed_at = [0] * len(self.lanes)
        self.served = [0.0] * len(self.there.held)

    def occupy(self, now: int, size: int) -> int:
        """Return when a packet has left; what rounding leaves over goes to a packet that follows without a gap."""
        exact = size * self.ps_per_byte + (self.left_over if self.free_at == now else 0.0)
        self.left_over = exact - rounded(exact)
        self.bytes += size
        self.packets += 1
        return now + rounded(exact)


@dataclass(eq=False)
class InLane:
    number: int
    lane: int
    router: int
    sender: Port
    packets: deque[Packet] = field(default_factory=deque)
    crossed_at: int = 0


class Routes:
    """Next hops and channel classes."""

    def __init__(self, settings: Settings, machine: Machine, ports_of_link: dict[int, list[Port]]) -> None:
        self.settings, self.machine, self.ports_of_link = settings, machine, ports_of_link
        self.routers_with_nodes = sorted(set(machine.node_router))
        by_group = settings.via == "group"
        self.places = (
            sorted({self.place(router) for router in self.routers_with_nodes}) if by_group else self.routers_with_nodes
        )
        self.to_place, self.most_hops = cache(self._to_place), cache(self._most_hops)

    def place(self, router: int) -> int:
        return self.machine.group[router] if self.settings.via == "group" else router

    def members(self, place: int) -> list[int]:
        return [router for router in range(self.machine.routers) if self.place(router) == place]

    def _to_place(self, goals: tuple[int, ...]) -> list[float]:
        """Return the weight of the lightest path from each router to the nearest of some (Bellman and Ford)."""
        weights = [0 if router in goals else math.inf for router in range(self.machine.routers)]
        for _ in range(self.machine.routers):
            for router, exits in enumerate(self.machine.exits):
                for neighbour, _, of, _ in exits:
                    weights[router] = min(weights[router], weights[neighbour] + self.settings.weight[of])
        return weights

    def lightest(self, here: int, goals: tuple[int, ...]) -> list[tuple[int, int]]:
        """Return neighbour and link with which the lightest paths begin."""
        to, weight = self.to_place(goals), self.settings.weight
        return [(next_, link) for next_, link, of, _ in self.machine.exits[here] if to[next_] + weight[of] == to[here]]

    def _most_hops(self, here: int, goal: int) -> int:
        return 0 if here == goal else 1 + max(self.most_hops(next_, goal) for next_, _ in self.lightest(here, (goal,)))

    def hops_through(self, here: int, place: int, goal: int) -> int:
        members = self.members(place)
        weight = {router: self.to_place((router,))[here] for router in members}
        nearest = [router for router in members if weight[router] == min(weight.values())]
        return max(self.most_hops(here, router) + self.most_hops(router, goal) for router in nearest)

    def leads_away(self, first: int, goal: int, place: int) -> bool:
        group = self.machine.group
        if self.settings.kind == "ugal" and self.settings.via == "router" and group and group[first] != group[goal]:
            return group[place] not in (group[first], group[goal])
        return place not in (self.place(first), self.place(goal))

    def class_of_hop(self, hop: int) -> int:
        return min(hop, self.settings.classes - 1) if self.settings.scheme == "hops" else 0

    def through(self, links: list[int], first: int, last: int | None = None, escape: bool = False) -> list[Way]:
        last = first if last is None else last
        return [Way(port, first, last, escape) for link in links for port in self.ports_of_link[link]]

    def between(self, here: int, neighbour: int) -> list[int]:
        return [link for next_, link, _, _ in self.machine.exits[here] if next_ == neighbour]

    def ways(self, here: int, packet: Packet) -> list[Way]:
        """Return the ways of a packet that is neither undecided nor at its goal."""
        kind, scheme, goal = self.settings.kind, self.settings.scheme, packet.goal
        hop_class = self.class_of_hop(packet.hop + packet.skipped)
        if kind == "dimension-order":
            next_, behind = self.in_order(here, goal, packet.via, self.settings.tie)
            return self.through(self.between(here, next_), int(behind) if scheme == "dateline" else hop_class)
        if kind == "d-mod-k":
            return self.through(self.between(here, self.up_or_down(here, goal, packet.node)), hop_class)
        if kind == "adaptive" and self.machine.dimensions:
            of = 1 if scheme == "escape" else hop_class
            ways = [way for next_ in self.adaptively(here, goal) for way in self.through(self.between(here, next_), of)]
            if scheme == "escape":
                ways += self.through(self.between(here, self.in_order(here, goal, 0, "positive")[0]), 0, escape=True)
            return ways
        if kind in ("table", "adaptive-table"):
            hops = self.machine.hops[here, packet.node if self.machine.by_node else goal]
            listed = [hops[packet.via]] if kind == "table" else hops
            return [w for link, of, _ in listed for w in self.through([link], of if scheme == "listed" else hop_class)]
        if kind == "paths":
            return self.through(self.between(here, packet.via[packet.hop]), hop_class)
        goals = tuple(self.members(packet.via)) if packet.stage == DETOUR else (goal,)
        return self.through([link for _, link in self.lightest(here, goals)], hop_class)

    # Grids.

    def coordinates(self, router: int) -> list[int]:
        found = []
        for length, _, _ in self.machine.dimensions:
            router, coordinate = divmod(router, length)
            found.append(coordinate)
        return found

    def moved(self, here: int, dimension: int, to: int) -> int:
        unit = math.prod(length for length, _, _ in self.machine.dimensions[:dimension])
        return here + (to - self.coordinates(here)[dimension]) * unit

    def shortest(self, at: int, to: int, dimension: int) -> list[int]:
        """Return the directions, +1 before -1, that lead to a coordinate in the fewest steps."""
        length, wrap, _ = self.machine.dimensions[dimension]
        if wrap:
            up, down = (to - at) % length, (at - to) % length
            return [sign for sign, steps in ((1, up), (-1, down)) if steps == min(up, down)]
        return [1 if to > at else -1]

    def step(self, here: int, goal: int, dimension: int, sign: int) -> tuple[int, bool]:
        """Return the coordinate of the next router, and whether the dateline is not ahead."""
        at, to = self.coordinates(here)[dimension], self.coordinates(goal)[dimension]
        length, wrap, gap = self.machine.dimensions[dimension]
        if wrap:
            return (at + sign) % length, not (at > to if sign > 0 else at < to)
        strides = [1] + [1 + m * gap for m in range(1, length) if gap]
        return at + sign * max(stride for stride in strides if stride <= abs(to - at)), True

    def in_order(self, here: int, goal: int, drawn: int, tie: str) -> tuple[int, bool]:
        at, to = self.coordinates(here), self.coordinates(goal)
        d = next(d for d in range(len(at)) if at[d] != to[d])
        signs = self.shortest(at[d], to[d], d)
        if len(signs) == 2 and tie == "split":
            signs = [1 if drawn >> d & 1 else -1]
        elif len(signs) == 2 and tie == "alternate":
            signs = [1 if at[d] % 2 == 0 else -1]
        coordinate, behind = self.step(here, goal, d, signs[0])
        return self.moved(here, d, coordinate), behind

    def adaptively(self, here: int, goal: int) -> Iterator[int]:
        at, to = self.coordinates(here), self.coordinates(goal)
        for d in (d for d in range(len(at)) if at[d] != to[d]):
            for sign in self.shortest(at[d], to[d], d):
                coordinate, _ = self.step(here, goal, d, sign)
                yield self.moved(here, d, coordinate)
                if not self.machine.dimensions[d][1] and coordinate != to[d] and abs(coordinate - at[d]) > 1:
                    yield self.moved(here, d, at[d] + sign)

    # Trees.

    def parents(self, router: int) -> list[int]:
        level = self.machine.level
        return sorted({next_ for next_, *_ in self.machine.exits[router] if level[next_] == level[router] + 1})

    def is_above(self, router: int, goal: int) -> bool:
        return router == goal or any(self.is_above(router, parent) for parent in self.parents(goal))

    def up_or_down(self, here: int, goal: int, node: int) -> int:
        level = self.machine.level
        for next_, *_ in self.machine.exits[here]:
            if level[next_] < level[here] and self.is_above(next_, goal):
                return next_
        digit = node
        for below_ in range(level[here]):
            digit //= max(1, *(len(self.parents(r)) for r in range(self.machine.routers) if level[r] == below_), 1)
        parents = self.parents(here)
        return parents[digit % len(parents)]


class Simulation:
    def __init__(self, settings: str, machine: str, operations: str) -> None:
        self.now = 0
        self.heap: list[tuple[int, int, int, int]] = []
        self.settings, self.machine = Settings(settings), Machine(machine)
        self.operations = Operations(operations, self)
        self.lay_out()
        of_node = Counter(rank.node for rank in self.operations.ranks)
        interfaces = 1 if self.operations.striped else self.operations.ports
        nodes = len(self.machine.node_router) // self.operations.ports
        self.nodes = [Node(of_node[node], interfaces, self.settings.injection) for node in range(nodes)]
        numbers: Counter[int] = Counter()
        self.number_at_node = {}
        for rank in self.operations.ranks:
            self.number_at_node[rank] = numbers[rank.node]
            numbers[rank.node] += 1
        self.packets_of_interface: Counter[int] = Counter()
        self.sent_by_router: Counter[tuple[int, int]] = Counter()
        self.left: dict[Operation, list[int]] = {}
        """Of a message bytes to leave and to arrive, and when the last ones have."""
        jobs = self.operations.jobs
        self.injected = self.ejected = 0
        self.by_hops: Counter[int] = Counter()
        self.job_sent, self.job_arrived, self.message_ps = [0] * jobs, [0] * jobs, [[] for _ in range(jobs)]
        self.job_link: Counter[tuple[int, int]] = Counter()

    def lay_out(self) -> None:
        """Make the ports: of each router those to its neighbours, then those to its nodes; at last those of nodes."""
        s, machine = self.settings, self.machine
        self.lanes = s.channels * len(s.shares)
        starts = (
            [0, 1, s.channels] if s.scheme == "escape" else [c * s.channels // s.classes for c in range(s.classes + 1)]
        )
        self.class_of_channel = [c for c in range(s.classes) for _ in range(starts[c], starts[c + 1])]
        units = s.channels if s.per_channel else s.classes
        self.unit = [
            (of, channel if s.per_channel else self.class_of_channel[channel])
            for of in range(len(s.shares))
            for channel in range(s.channels)
        ]
        output = max(s.buffer // 2, s.packet if s.per_channel else units * s.packet)
        self.ports: list[Port] = []
        self.ports_of_link: dict[int, list[Port]] = {link: [] for link in range(machine.links)}
        self.node_port: dict[int, Port] = {}

        def add(router: int | None, of: int, ns: float, link: int | None) -> Port:
            buffers = [Buffer(size, s.packet, units, len(s.shares), s.per_channel) for size in (output, s.buffer)]
            queues: list[deque[Packet]] = [deque() for _ in range(self.lanes)]
            port = Port(len(self.ports), router, s.bandwidth_Bps[of], s.latency_ns[of] + ns, link, *buffers, queues)
            self.ports.append(port)
            return port

        host = len(s.weight)
        for router, exits in enumerate(machine.exits):
            for _, link, of, cables in exits:
                self.ports_of_link[link] += [add(router, of, s.router_ns, link) for _ in range(cables)]
            for node in (node for node, at in enumerate(machine.node_router) if at == router):
                self.node_port[node] = add(router, host, s.router_ns / 2, None)
        self.router_ports = list(self.ports)
        self.interfaces = [add(None, host, s.router_ns / 2, None) for _ in machine.node_router]
        self.inputs: list[InLane] = []
        opposite = {
            port: back
            for link, ports in self.ports_of_link.items()
            for port, back in zip(ports, self.ports_of_link[link ^ 1], strict=True)
        }
        for node, port in self.node_port.items():
            opposite[port] = self.interfaces[node]
        for port in self.router_ports:
            sender = opposite[port]
            sender.to_router = port.router
            sender.to = [InLane(port.number * self.lanes + k, k, port.router or 0, sender) for k in range(self.lanes)]
            self.inputs += sender.to
        self.routes = Routes(s, machine, self.ports_of_link)
        self.crossbar_ps_per_byte = 1e12 / (max(s.bandwidth_Bps) * s.speedup)

    def at(self, time: int, kind: int = LOOK, number: int = 0, what: int = 0) -> None:
        heapq.heappush(self.heap, (time, kind, number, what))

    def draw(self, what: int) -> int:
        return mix(self.settings.seed ^ self.now * 0x9E3779B97F4A7C15 % EVER ^ what * 0xD1342543DE82EF95 % EVER)

    # What happens.

    def run(self) -> dict[str, Any] | None:
        """Return the result; none if packets or operations wait for each other forever."""
        self.operations.begin()
        self.at(0)
        while not self.operations.finished():
            if not self.heap:
                return None
            self.now = self.heap[0][0]
            self.opened = {port for port in self.router_ports if self.opens(port)}
            self.settle()
            while not self.operations.finished() and self.heap and self.heap[0][0] == self.now:
                _, kind, number, what = heapq.heappop(self.heap)
                if kind == TASK:
                    self.do(self.operations.all[number], what)
                    self.settle()
        return self.result()

    def opens(self, port: Port) -> bool:
        """Whether a port opens now to packets that have not decided: whenever it may send, or take, a packet anew."""
        credit = port.free_at < self.now and any(port.lanes) and any(time == self.now for time, _, _ in port.credits)
        return port.free_at == self.now or self.now in port.crossed_at or credit

    def settle(self) -> None:
        """Let everything happen that can happen now."""
        if self.operations.finished():
            return
        while True:
            for port in self.ports:
                self.give_back(port)
            for port in self.router_ports:
                self.send(port)
            for node in range(len(self.nodes)):
                self.inject(node)
            waited_for = {way.port for lane in self.inputs if lane.packets for way in lane.packets[0].ways or []}
            for port in sorted(waited_for, key=lambda port: (self.draw(port.number | 1 << 40), port.number)):
                self.allocate(port)
            self.opened = set()
            asking = [lane for lane in self.inputs if self.asks(lane)]
            if not asking:
                return
            for lane in sorted(asking, key=lambda lane: (self.draw(lane.number), lane.number)):
                self.ask(lane)

    def do(self, one: Operation, what: int) -> None:
        if what == LEFT:
            self.operations.end_active(one)
        else:
            self.message_ps[one.rank.job].append(self.now - one.start_ps)
            self.job_arrived[one.rank.job] += one.length
            self.operations.message_arrives(one)
        self.operations.start_all()

    def give_back(self, port: Port) -> None:
        if port.sending and port.free_at <= self.now:
            unit, size = port.sending
            port.output.add(unit, -size)
            port.sending = None
        for time, unit, size in port.credits:
            if time <= self.now:
                port.there.add(unit, -size)
        port.credits = [credit for credit in port.credits if credit[0] > self.now]

    # Nodes.

    def post(self, send: Operation) -> None:
        self.left[send] = [send.length, send.length, 0, 0]
        self.nodes[send.rank.node].waiting[self.number_at_node[send.rank]].append([send, send.length])

    def inject(self, node: int) -> None:
        """Let the interfaces of a node send packets until none can."""
        ports = self.operations.ports
        while any(self.inject_at(node, port) for port in range(ports)):
            pass

    def inject_at(self, node: int, index: int) -> bool:
        number = node * self.operations.ports + index
        port, interface = self.interfaces[number], 0 if self.operations.striped else index
        if port.free_at > self.now:
            return False
        self.nodes[node].fill_slots()
        if not self.nodes[node].in_flight[interface]:
            return False
        send, left = self.nodes[node].in_flight[interface][0]
        size = min(left, self.settings.packet)
        traffic_class = self.settings.job_classes[send.rank.job]
        channels = self.settings.channels
        turn = 0 if self.settings.per_channel else port.turn
        order = [traffic_class * channels + (turn + k) % channels for k in range(channels)]
        lane = next((lane for lane in order if port.there.has_room(self.unit[lane], size)), None)
        if lane is None:
            return False
        destination = self.operations.partner(send).rank.node * self.operations.ports + index
        packet = self.new_packet(send, number, destination, size, traffic_class)
        port.turn = (lane + 1) % channels
        port.free_at = self.enter(port, lane, packet, port.occupy(self.now, size))
        self.nodes[node].sent(interface, size)
        self.injected += size
        self.job_sent[send.rank.job] += size
        message = self.left[send]
        message[0] -= size
        message[2] = max(message[2], port.free_at)
        if message[0] == 0 and send.kind == EAGER:
            self.at(message[2], TASK, send.number, LEFT)
        return True

    def new_packet(self, send: Operation, interface: int, node: int, size: int, traffic_class: int) -> Packet:
        here, goal = self.machine.node_router[interface], self.machine.node_router[node]
        key = mix(self.settings.seed ^ (interface << 32 | self.packets_of_interface[interface])) % 2**32
        self.packets_of_interface[interface] += 1
        packet = Packet(send, node, goal, size, key, traffic_class)
        if self.settings.kind == "dimension-order":
            packet.priority = self.fair_priority(send.rank.job, here)
        if here == goal:
            return packet
        kind, pair = self.settings.kind, (here, goal)
        if kind == "valiant":
            packet.via = self.draw_place(key << 8, *pair, tries=1)
            packet.stage = DIRECT if packet.via is None else DETOUR
        elif kind == "ugal":
            drawn = [self.draw_place(key << 8 | index, *pair, tries=64) for index in range(self.settings.detours)]
            packet.stage, packet.places = UNDECIDED, [place for place in drawn if place is not None]
        elif kind == "dimension-order":
            packet.via = mix(key) % 2**32
        elif kind == "table":
            packet.via = self.draw_hop(packet, here)
        elif kind == "paths":
            paths = self.machine.paths[pair]
            weights = [weight for weight, _ in paths]
            packet.via = paths[drawn_by_weight(weights, below_wide(mix(key), sum(weights)))][1]
        return packet

    def fair_priority(self, job: int, router: int) -> int:
        """Return when the routers of a job, on average, had sent as many packets as this one has."""
        self.sent_by_router[job, router] += 1
        of_job = [sent for (of, _), sent in self.sent_by_router.items() if of == job]
        priority = self.now // 1000 * self.sent_by_router[job, router] * len(of_job) // sum(of_job)
        return min(priority, 2**32 - 1)

    def draw_place(self, bits: int, here: int, goal: int, tries: int) -> int | None:
        places = self.routes.places
        for _ in range(tries):
            bits = mix(bits)
            place = places[below(bits, len(places))]
            if self.routes.leads_away(here, goal, place):
                return place
        rest = [place for place in places if self.routes.leads_away(here, goal, place)]
        return rest[below(mix(bits), len(rest))] if tries > 1 and rest else None

    def draw_hop(self, packet: Packet, here: int) -> int:
        hops = self.machine.hops[here, packet.node if self.machine.by_node else packet.goal]
        weights = [weight for _, _, weight in hops]
        return drawn_by_weight(weights, below_wide(mix(packet.key << 8 | packet.hop), sum(weights)))

    # Routers.

    def asks(self, lane: InLane) -> bool:
        first = lane.packets[0] if lane.packets else None
        return first is not None and first.ways is None and max(first.head, lane.crossed_at) <= self.now

    def ask(self, lane: InLane) -> None:
        packet = lane.packets[0]
        if packet.stage == UNDECIDED:
            if not self.decide(lane):
                minimal, detours = self.alternatives(lane)
                packet.ways = minimal + [way for _, _, ways in detours for way in ways]
            return
        if packet.goal == lane.router:
            ways = [Way(self.node_port[packet.node], 0, self.settings.classes - 1)]
        else:
            ways = self.routes.ways(lane.router, packet)
        chosen = self.choose(ways, packet)
        if chosen:
            self.grant(lane, *chosen)
        else:
            packet.ways = ways

    def open_lanes(self, way: Way, packet: Packet) -> list[int]:
        first, last = way.first_class, way.last_class
        return [
            lane
            for lane, (of, _) in enumerate(self.unit)
            if of == packet.traffic_class
            and first <= self.class_of_channel[lane % self.settings.channels] <= last
            and way.port.crossed_at[lane] <= self.now
            and way.port.output.has_room(self.unit[lane], packet.size)
        ]

    def queue(self, port: Port) -> int:
        return port.output.bytes() + port.there.bytes()

    def demand(self, port: Port) -> int:
        """Return the queue without what a link in full use has under way."""
        under_way = int(2e3 * port.latency_ns / port.ps_per_byte) + self.settings.packet
        return port.output.bytes() + max(0, port.there.bytes() - under_way)

    def choose(self, ways: list[Way], packet: Packet) -> tuple[Port, int] | None:
        """Return port and lane for a packet: a random one of those that are as good."""
        least_queue = self.settings.kind in ("adaptive", "adaptive-table")
        open_ways = [way for way in ways if self.open_lanes(way, packet)]
        best = [way for way in open_ways if not way.escape]
        if least_queue and best:
            least = min(self.queue(way.port) for way in best)
            best = [way for way in best if self.queue(way.port) == least]
        chosen = None
        for count, way in enumerate(best, 1):
            if count == 1 or below(self.draw(packet.key << 32 | way.port.number), count) == 0:
                chosen = way
        chosen = chosen or next((way for way in open_ways if way.escape), None)
        return self.drawn_lane(chosen, packet) if chosen else None

    def drawn_lane(self, way: Way, packet: Packet) -> tuple[Port, int]:
        lanes = self.open_lanes(way, packet)
        return way.port, lanes[below(self.draw(packet.key ^ 0x1234567800000000), len(lanes))]

    def allocate(self, port: Port) -> None:
        """Let packets that wait for a port have its open lanes."""
        declined: list[InLane] = []
        while True:
            waiting = []
            for lane in self.inputs:
                packet = lane.packets[0] if lane.packets else None
                if packet is None or not packet.ways or lane in declined:
                    continue
                ways = [way for way in packet.ways if way.port is port and self.open_lanes(way, packet)]
                if ways and (packet.stage != UNDECIDED or port in self.opened):
                    rank = (packet.priority, self.draw(port.number << 32 | lane.number), lane.number)
                    waiting.append((rank, lane, ways[0]))
            if not waiting:
                return
            _, lane, way = min(waiting, key=lambda one: one[0])
            if lane.packets[0].stage != UNDECIDED:
                self.grant(lane, *self.drawn_lane(way, lane.packets[0]))
            elif not self.decide(lane):
                declined.append(lane)

    def grant(self, lane: InLane, port: Port, to: int) -> None:
        """Let the first packet of a lane cross."""
        packet = lane.packets.popleft()
        end = max(self.now + rounded(packet.size * self.crossbar_ps_per_byte), packet.tail)
        packet.tail, packet.ways = end, None
        lane.crossed_at = port.crossed_at[to] = end
        port.lanes[to].append(packet)
        port.output.add(self.unit[to], packet.size)
        lane.sender.credits.append((end + lane.sender.latency, self.unit[lane.lane], packet.size))
        self.at(end)
        self.at(end + lane.sender.latency)
        self.send(port)

    # Links.

    def send(self, port: Port) -> None:
        if port.free_at > self.now:
            return
        ready = [
            lane
            for lane, packets in enumerate(port.lanes)
            if packets and (port.to is None or port.there.has_room(self.unit[lane], packets[0].size))
        ]
        if not ready:
            return
        classes = {self.unit[lane][0] for lane in ready}
        traffic_class = min(
            classes, key=lambda of: (max(port.served[of], port.virtual_time), self.next_in_turn(port, ready, of))
        )
        lane = self.next_in_turn(port, ready, traffic_class)
        port.turn = (lane + 1) % self.lanes
        packet = port.lanes[lane].popleft()
        port.virtual_time = max(port.served[traffic_class], port.virtual_time)
        port.served[traffic_class] = port.virtual_time + packet.size / self.settings.shares[traffic_class]
        port.sending = self.unit[lane], packet.size
        end = max(port.occupy(self.now, packet.size), packet.tail)
        port.free_at = end
        if port.to is None:
            return self.leave(port, packet, end)
        packet.hop += 1
        if port.link is not None:
            self.job_link[packet.send.rank.job, port.link] += 1
        if packet.stage == DETOUR and self.routes.place(port.to_router or 0) == packet.via:
            packet.stage = DIRECT
        if self.settings.kind == "table" and port.to_router != packet.goal:
            packet.via = self.draw_hop(packet, port.to_router or 0)
        self.enter(port, lane, packet, end)

    def next_in_turn(self, port: Port, lanes: list[int], traffic_class: int) -> int:
        of_class = [lane for lane in lanes if self.unit[lane][0] == traffic_class]
        return min(of_class, key=lambda lane: (lane - port.turn) % self.lanes)

    def enter(self, port: Port, lane: int, packet: Packet, end: int) -> int:
        """Put a packet that a link sends into the lane at its other end; return when it has been sent."""
        assert port.to is not None
        packet.head, packet.tail = self.now + port.latency, end + port.latency
        port.there.add(self.unit[lane], packet.size)
        port.to[lane].packets.append(packet)
        self.at(packet.head)
        self.at(end)
        return end

    def leave(self, port: Port, packet: Packet, end: int) -> None:
        """Let a packet reach its node."""
        self.at(end)
        self.by_hops[packet.hop] += 1
        self.ejected += packet.size
        message = self.left[packet.send]
        message[1] -= packet.size
        message[3] = max(message[3], end + port.latency)
        if message[1] == 0:
            self.at(message[3], TASK, packet.send.number, ARRIVED)

    # UGAL.

    def chooses_again(self, here: int, next_: int | None, goal: int) -> bool:
        group = self.machine.group
        if not (self.settings.progressive and group and next_ is not None):
            return False
        return group[next_] == group[here] != group[goal]

    def alternatives(self, lane: InLane) -> tuple[list[Way], list[tuple[int, int, list[Way]]]]:
        """Return the minimal ways of an undecided packet, and of each detour place, hops and ways."""
        packet, here = lane.packets[0], lane.router
        first, next_ = (self.routes.class_of_hop(packet.hop + more) for more in (0, 1))
        minimal = self.routes.through([link for _, link in self.routes.lightest(here, (packet.goal,))], first)
        if len(minimal) > 1:
            again = [self.chooses_again(here, way.port.to_router, packet.goal) for way in minimal]
            minimal = [Way(way.port, first, first if a else next_) for way, a in zip(minimal, again, strict=True)]
        detours = []
        for place in packet.places:
            hops = self.routes.hops_through(here, place, packet.goal)
            if self.settings.classes == 1 or packet.hop + hops <= self.settings.classes:
                goals = tuple(self.routes.members(place))
                links = [link for _, link in self.routes.lightest(here, goals)]
                detours.append((place, hops, self.routes.through(links, first)))
        return minimal, detours

    def decide(self, lane: InLane) -> bool:
        """Let an undecided packet take an open way of the kind that it prefers; return whether there is one."""
        packet, here = lane.packets[0], lane.router
        minimal, detours = self.alternatives(lane)

        def product(hops: int, ways: list[Way]) -> float:
            return hops * float(min(self.demand(way.port) for way in ways) + self.settings.packet)

        direct = product(self.routes.most_hops(here, packet.goal), minimal)
        detour = min(detours, key=lambda one: product(one[1], one[2]), default=None)
        if detour and not direct > self.settings.bias * product(detour[1], detour[2]) + self.settings.threshold:
            detour = None
        chosen = self.choose(detour[2] if detour else minimal, packet)
        if chosen is None:
            return False
        port, to = chosen
        if detour:
            packet.stage, packet.via = DETOUR, detour[0]
        elif not self.chooses_again(here, port.to_router, packet.goal):
            took = self.class_of_channel[to % self.settings.channels]
            packet.stage, packet.skipped = DIRECT, max(0, took - min(packet.hop, self.settings.classes - 1))
        self.grant(lane, port, to)
        return True

    # Results.

    def result(self) -> dict[str, Any]:
        operations, links = self.operations, range(self.machine.links)
        finish = [[r.finish_ps for r in operations.ranks if r.job == job] for job in range(operations.jobs)]
        background = operations.background
        nodes = {(rank.node, rank.job) for rank in operations.ranks}
        result: dict[str, Any] = {
            "end_ps": self.now,
            "job_finish_ps": [None if background[job] else max(of, default=0) for job, of in enumerate(finish)],
            "rank_finish_ps": [rank.finish_ps for rank in operations.ranks],
            "rank_waiting_ps": [0 if r.finish_ps is None else r.finish_ps - r.active_ps for r in operations.ranks],
            "link_bytes": [sum(port.bytes for port in self.ports_of_link[link]) for link in links],
            "link_packets": [sum(port.packets for port in self.ports_of_link[link]) for link in links],
            "injected_bytes": self.injected,
            "ejected_bytes": self.ejected,
            "job_sent_bytes": self.job_sent,
            "job_arrived_bytes": self.job_arrived,
            "packets_by_hops": [self.by_hops[hops] for hops in range(max(self.by_hops, default=-1) + 1)],
            "job_messages": [len(times) for times in self.message_ps],
            "job_message_sum_ps": [sum(times) for times in self.message_ps],
            "job_message_counts": [histogram(times) for times in self.message_ps],
            "operation_ps": [time for one in operations.all for time in (one.start_ps, one.end_ps)],
        }
        if operations.jobs > 1 and len(nodes) == len({node for node, _ in nodes}):
            listed = sorted(self.job_link.items())
            result["job_link_packets"] = [number for (job, link), count in listed for number in (job, link, count)]
        return result


def drawn_by_weight(weights: list[int], number: int) -> int:
    for index, weight in enumerate(weights):
        if number < weight:
            return index
        number -= weight
    return 0


def histogram(times: list[int]) -> list[int]:
    """Return twice the middle of each bucket and its count; a bucket has the numbers of the same 11 leading bits."""
    excess = [max(0, time.bit_length() - 11) for time in times]
    counts = Counter(2 * (time >> e << e) + (1 << e) - 1 for time, e in zip(times, excess, strict=True))
    return [number for bucket in sorted(counts.items()) for number in bucket]


def differences(program: Path | str, point: PointFiles, folder: Path) -> list[str]:
    """Return in what the program's result differs from the reference's."""
    code, found = simulate(program, point, folder)
    expected = Simulation(point.settings, point.machine, point.operations).run()
    if expected is None or isinstance(found, str):
        deadlock = code == 3 and expected is None
        return [] if deadlock else [f"program: exit code {code}, {str(found)[:200]}; reference: {str(expected)[:80]}"]
    return [f"{key}: {found.get(key)} is not {value}" for key, value in expected.items() if found.get(key) != value]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("points", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--program", default=str(PROGRAM))
    parser.add_argument("--keep", type=Path, help="folder for the files of points that differ")
    arguments = parser.parse_args()
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.first, arguments.first + arguments.points):
            point = random_point(number)
            found = differences(arguments.program, point, Path(folder))
            if found:
                different += 1
                kind = point.settings.splitlines()[2]
                print(f"{number}: {kind}: " + "; ".join(found)[:400], flush=True)
                if arguments.keep:
                    (arguments.keep / str(number)).mkdir(parents=True, exist_ok=True)
                    point.write(arguments.keep / str(number))
    print(f"{different} of {arguments.points} points differ")


if __name__ == "__main__":
    main()
