"""A slow reference of the packet engine: its documented model, with nothing but clarity in mind.

After each time of a heap everything is examined again until nothing changes: each link, each interface, each waiting
packet, each queue. From the engine's code come only its random hashes, its rounding, and its order at one time.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from .packet_nodes import Node, Transfer
from .packet_points import CALC, SEND, Point
from .packet_routes import DETOUR, DIRECT, EVER, UNDECIDED, Hop, Packet, Routes, below, mix

LOOK = -1


def rounded(number: float) -> int:
    """Return the nearest whole number, halves up."""
    whole = math.floor(number)
    return whole + (number - whole >= 0.5)


class Buffer:
    """Bytes in units; beyond its own room a unit uses what all have in common."""

    def __init__(self, capacity: int, least: int, units: int, separate: bool) -> None:
        self.own = capacity if separate or units == 1 else max(least, capacity // (2 * units))
        self.common = 0 if separate else max(0, capacity - self.own * units)
        self.held = [0] * units

    def has_room(self, unit: int, size: int) -> bool:
        more = self.held[unit] + size - max(self.held[unit], self.own)
        return more <= 0 or sum(max(0, one - self.own) for one in self.held) + more <= self.common


@dataclass(frozen=True)
class Way:
    port: Port
    hop: Hop


class Queue:
    """Packets at an input that go one after the other: those of a lane, or those with the same outputs."""

    def __init__(self, name: int, input_: Input) -> None:
        self.name, self.input = name, input_
        self.packets: deque[Packet] = deque()
        self.crossed_at = 0
        self.granted = 0


class Input:
    def __init__(self, number: int, router: int, sender: Port) -> None:
        self.number, self.router, self.sender = number, router, sender
        self.coming: deque[Packet] = deque()
        self.queues: dict[int, Queue] = {}

    def queue(self, name: int) -> Queue:
        return self.queues.setdefault(name, Queue(name, self))


@dataclass(eq=False)
class Port:
    """A link and the output before it; `to` is None towards a node."""

    number: int
    bandwidth_Bps: float
    latency_ns: float
    link: int | None
    output: Buffer
    there: Buffer
    """The input at the other end, as this end knows it."""
    lanes: list[deque[Packet]]
    to: Input | None = None
    credits: list[tuple[int, int, int]] = field(default_factory=list)
    sending: tuple[int, int] | None = None
    free_at: int = 0
    left_over: float = 0.0
    turn: int = 0
    bytes: int = 0
    packets: int = 0
    granted: int = 0

    def __post_init__(self) -> None:
        self.latency = rounded(self.latency_ns * 1e3)
        self.ps_per_byte = 1e12 / self.bandwidth_Bps
        self.crossed_at = [0] * len(self.lanes)

    def occupy(self, now: int, packet: Packet) -> int:
        """Return when a packet has left; what rounding leaves over goes to a packet that follows without a gap."""
        exact = packet.size * self.ps_per_byte + (self.left_over if self.free_at == now else 0.0)
        self.left_over = exact - rounded(exact)
        self.bytes += packet.size
        self.packets += 1
        return now + rounded(exact)

    def queue(self) -> int:
        return sum(self.output.held) + sum(self.there.held)


class Simulation:
    def __init__(self, point: Point) -> None:
        self.point, self.now = point, 0
        self.seed = mix(point.seed + 0x5851F42D4C957F2D)
        self.heap: list[tuple[int, int]] = []
        """Times at which to look, and at which an operation ends."""
        self.transfers = [Transfer(point, message) for message in point.messages]
        self.operations = point.operations()
        self.under_way = len(self.transfers)
        self.lay_out()
        self.nodes = [Node(point, node) for node in range(len(point.nodes) // point.ports)]
        self.packets_of_interface: Counter[int] = Counter()
        self.sent_by_router: Counter[int] = Counter()
        self.by_hops: Counter[int] = Counter()

    def lay_out(self) -> None:
        """Make the ports: of each router those to its neighbours, then those to its nodes; at last those of nodes."""
        point, classes = self.point, self.point.classes
        starts = [c * point.channels // classes for c in range(classes + 1)]
        if point.scheme == "escape":
            starts = [0, 1, point.channels]
        self.class_of_lane = [c for c in range(classes) for _ in range(starts[c], starts[c + 1])]
        self.unit = list(range(point.channels)) if point.per_channel else self.class_of_lane
        units = point.channels if point.per_channel else classes
        output_bytes = max(point.buffer // 2, point.packet * (1 if point.per_channel else units))
        ports: list[Port] = []

        def add(of: int, router_ns: float, link: int | None = None) -> Port:
            output, there = (Buffer(b, point.packet, units, point.per_channel) for b in (output_bytes, point.buffer))
            lanes: list[deque[Packet]] = [deque() for _ in self.unit]
            latency_ns = point.latency_ns[of] + router_ns
            ports.append(Port(len(ports), point.bandwidth_Bps[of], latency_ns, link, output, there, lanes))
            return ports[-1]

        self.routes = Routes(point)
        self.ports_of_link: dict[int, list[Port]] = defaultdict(list)
        self.node_port: dict[int, Port] = {}
        routers: list[int] = []
        for router, of_router in enumerate(self.routes.exits):
            for _, link, of, cables in of_router:
                self.ports_of_link[link] += [add(of, point.router_ns, link) for _ in range(cables)]
            for node in (node for node, at in enumerate(point.nodes) if at == router):
                self.node_port[node] = add(2, point.router_ns / 2)
            routers += [router] * (len(ports) - len(routers))
        self.router_ports = list(ports)
        self.interfaces = [add(2, point.router_ns / 2) for _ in point.nodes]
        self.ports, of_link = ports, self.ports_of_link
        opposite = {port: back for link in of_link for port, back in zip(of_link[link], of_link[link ^ 1], strict=True)}
        opposite |= {port: self.interfaces[node] for node, port in self.node_port.items()}
        self.inputs = [Input(port.number, routers[port.number], opposite[port]) for port in self.router_ports]
        for one in self.inputs:
            one.sender.to = one

    def at(self, time: int, number: int = LOOK) -> None:
        heapq.heappush(self.heap, (time, number))

    def draw(self, when: int, what: int) -> int:
        return mix(self.seed ^ when * 0x9E3779B97F4A7C15 % EVER ^ what * 0xD1342543DE82EF95 % EVER)

    def draw_at(self, port: Port, what: int) -> int:
        return self.draw(port.number << 32 | port.granted, what)

    def run(self) -> dict[str, Any] | None:
        """Return the result; none if packets or messages wait for each other forever."""
        for number, (kind, k) in enumerate(self.operations):
            one = self.transfers[k]
            if kind == CALC:
                self.at(one.posted_at, number)
            elif kind == SEND:
                one.number = number
                if one.posted_at == 0:
                    self.post(one)
        self.at(0)
        while self.under_way:
            if not self.heap:
                return None
            self.now = self.heap[0][0]
            self.opened = {port for port in self.router_ports if self.opens(port)}
            self.settle()
            while self.under_way and self.heap and self.heap[0][0] == self.now:
                _, number = heapq.heappop(self.heap)
                if number != LOOK:
                    kind, k = self.operations[number]
                    (self.post if kind == CALC else self.arrive)(self.transfers[k])
                    self.settle()
        return self.result()

    def post(self, one: Transfer) -> None:
        if one.nodes[0] == one.nodes[1]:
            self.arrive(one)
        else:
            self.nodes[one.nodes[0]].waiting[one.rank].append(one)

    def arrive(self, one: Transfer) -> None:
        one.arrived_at = self.now
        self.under_way -= 1

    def opens(self, port: Port) -> bool:
        """Whether a port opens now to packets that have not decided: whenever it may send, or take, a packet anew."""
        credit = port.free_at < self.now and any(port.lanes) and any(time == self.now for time, _, _ in port.credits)
        return port.free_at == self.now or self.now in port.crossed_at or credit

    def settle(self) -> None:
        """Let everything happen that can happen now."""
        while self.under_way:
            for port in self.ports:
                self.give_back(port)
            for port in self.router_ports:
                self.send(port)
            for node in range(len(self.nodes)):
                while any(self.inject(node, port) for port in range(self.point.ports)):
                    pass
            self.allocate_all()
            self.opened = set()
            if not self.ask_one():
                return

    def give_back(self, port: Port) -> None:
        if port.sending and port.free_at <= self.now:
            port.output.held[port.sending[0]] -= port.sending[1]
            port.sending = None
        for _, unit, size in (credit for credit in port.credits if credit[0] <= self.now):
            port.there.held[unit] -= size
        port.credits = [credit for credit in port.credits if credit[0] > self.now]

    # Nodes.

    def inject(self, node: int, index: int) -> bool:
        """Let an interface of a node send a packet, if it can."""
        point, number = self.point, node * self.point.ports + index
        port, interface = self.interfaces[number], 0 if point.striped else index
        if port.free_at > self.now:
            return False
        self.nodes[node].fill_slots()
        if not self.nodes[node].in_flight[interface]:
            return False
        one = self.nodes[node].in_flight[interface][0]
        size, turn = min(one.to_leave, point.packet), 0 if point.per_channel else port.turn
        order = [(turn + k) % point.channels for k in range(point.channels)]
        lane = next((lane for lane in order if port.there.has_room(self.unit[lane], size)), None)
        if lane is None:
            return False
        packet = self.new_packet(one, number, one.nodes[1] * point.ports + index, size)
        port.turn = (lane + 1) % point.channels
        end = port.occupy(self.now, packet)
        self.enter(port, lane, packet, end)
        self.nodes[node].sent(interface, size)
        one.left_at = max(one.left_at, end)
        return True

    def new_packet(self, transfer: Transfer, interface: int, node: int, size: int) -> Packet:
        point, here, goal = self.point, self.point.nodes[interface], self.point.nodes[node]
        key = mix(self.seed ^ (interface << 32 | self.packets_of_interface[interface])) % 2**32
        self.packets_of_interface[interface] += 1
        packet = Packet(transfer, node, here, goal, size, key)
        if point.kind == "dimension-order":
            packet.priority, packet.via = self.fair_priority(here), mix(key) % 2**32
        elif point.kind == "valiant" and here != goal:
            drawn = self.routes.draw_intermediate(key << 8, here, goal, tries=1)
            packet.via, packet.stage = drawn or 0, DIRECT if drawn is None else DETOUR
        elif point.kind == "ugal" and here != goal:
            drawn_all = (
                self.routes.draw_intermediate(key << 8 | k, here, goal, tries=64) for k in range(point.detours)
            )
            packet.stage, packet.intermediates = UNDECIDED, [drawn for drawn in drawn_all if drawn is not None]
        return packet

    def fair_priority(self, router: int) -> int:
        """Return when the routers, on average, had sent as many packets as this one has."""
        sent = self.sent_by_router
        sent[router] += 1
        return min(self.now // 1000 * sent[router] * len(sent) // sum(sent.values()), 2**32 - 1)

    # Routers.

    def ask_one(self) -> bool:
        """Let the first packet in random order ask of those whose heads are there; return whether there was any."""
        asking: list[tuple[int, int, Queue | Input]] = []
        for one in self.inputs:
            for queue in one.queues.values():
                first = queue.packets[0] if queue.packets else None
                if first and first.ways is None and max(first.head, queue.crossed_at) <= self.now:
                    asking.append((self.draw(queue.granted, queue.name), queue.name, queue))
            if one.coming and one.coming[0].head <= self.now:
                asking.append((self.draw(0, one.coming[0].key << 32 | one.number), one.number, one))
        if asking:
            _, _, waiting = min(asking, key=lambda one: one[:2])
            if isinstance(waiting, Queue):
                self.ask(waiting)
            else:
                self.join(waiting, waiting.coming.popleft())
        return bool(asking)

    def join(self, at: Input, packet: Packet) -> None:
        """Put a packet into the virtual output queue of its outputs."""
        if packet.stage == UNDECIDED:
            self.commit(at.router, packet)
        ways = self.ways(at, packet)
        hops = [(way.port.number, way.hop) for way in ways]
        numbers = [port << 17 | hop.first_class << 9 | hop.last_class << 1 | hop.escape for port, hop in hops]
        outputs = reduce(lambda bits, number: mix(bits ^ number), numbers, 1) >> 1 | 1 << 62
        queue = at.queue((numbers[0] if len(numbers) == 1 else outputs) ^ at.number << 32)
        queue.packets.append(packet)
        if len(queue.packets) == 1:
            self.ask(queue)
        if packet in queue.packets:
            packet.awaits = [way.port for way in ways]

    def through(self, hops: list[Hop]) -> list[Way]:
        return [Way(port, hop) for hop in hops for port in self.ports_of_link[hop.link]]

    def ways(self, at: Input, packet: Packet) -> list[Way]:
        """Return all ways of a packet; those of one that decides as ways open are those of all it may decide for."""
        if self.decides_late(packet):
            minimal, detours = self.routes.alternatives(at.router, packet)
            return self.through(minimal + [hop for _, _, hops in detours for hop in hops])
        if packet.goal == at.router:
            return [Way(self.node_port[packet.node], Hop(0, 0, 0, self.point.classes - 1))]
        return self.through(self.routes.hops(at.router, packet))

    def awaiting(self, port: Port) -> int:
        """Return the bytes in virtual output queues to a port; of a packet to several ways, a part for each of them."""
        queues = [queue for one in self.inputs for queue in one.queues.values()]
        waiting = [packet for queue in queues for packet in queue.packets if port in packet.awaits]
        return sum(packet.size // len(packet.awaits) * packet.awaits.count(port) for packet in waiting)

    def ask(self, queue: Queue) -> None:
        """Let the first packets of a queue cross, in a lane one of them, until one waits."""
        while queue.packets:
            packet = queue.packets[0]
            ways = self.ways(queue.input, packet)
            if self.decides_late(packet):
                crosses = self.decide(queue)
            elif crosses := (chosen := self.choose(ways, packet)) is not None:
                self.grant(queue, *chosen)
            if not crosses:
                packet.ways = ways
            if not crosses or self.point.per_channel:
                return

    def open_lanes(self, way: Way) -> list[int]:
        """Return the lanes of a way to which no packet crosses, with room for one of full size."""
        return [
            lane
            for lane, unit in enumerate(self.unit)
            if way.hop.first_class <= self.class_of_lane[lane] <= way.hop.last_class
            and way.port.crossed_at[lane] <= self.now
            and way.port.output.has_room(unit, self.point.packet)
        ]

    def choose(self, ways: list[Way], packet: Packet) -> tuple[Port, int] | None:
        """Return port and lane for a packet: a random one of those that are as good."""
        least_queue = self.point.kind in ("adaptive", "ugal")
        open_ways = [way for way in ways if self.open_lanes(way)]
        ranks = [(way.hop.escape, least_queue * (self.awaiting(way.port) + way.port.queue())) for way in open_ways]
        best = [way for way, rank in zip(open_ways, ranks, strict=True) if rank == min(ranks)]
        chosen = None
        for count, way in enumerate(best, 1):
            if count == 1 or below(self.draw_at(way.port, packet.key), count) == 0:
                chosen = way
        return self.drawn_lane(chosen, packet) if chosen else None

    def drawn_lane(self, way: Way, packet: Packet) -> tuple[Port, int]:
        lanes = self.open_lanes(way)
        return way.port, lanes[below(self.draw_at(way.port, packet.key | 1 << 40), len(lanes))]

    def allocate_all(self) -> None:
        firsts = [queue.packets[0] for one in self.inputs for queue in one.queues.values() if queue.packets]
        waited_for = {way.port for packet in firsts for way in packet.ways or []}
        for port in sorted(waited_for, key=lambda port: (self.draw_at(port, 1 << 41), port.number)):
            self.allocate(port)

    def allocate(self, port: Port) -> None:
        """Let packets that wait for a port have its open lanes."""
        declined: list[Queue] = []
        while True:
            waiting = []
            for queue in (queue for one in self.inputs for queue in one.queues.values() if queue.packets):
                packet = queue.packets[0]
                ways = [way for way in packet.ways or [] if way.port is port and self.open_lanes(way)]
                may_go = not self.decides_late(packet) or (port in self.opened and queue not in declined)
                if ways and may_go:
                    rank = packet.priority, self.draw_at(port, mix(queue.name)), queue.name
                    waiting.append((rank, queue, ways[0]))
            if not waiting:
                return
            _, queue, way = min(waiting, key=lambda one: one[0])
            if not self.decides_late(queue.packets[0]):
                self.grant(queue, *self.drawn_lane(way, queue.packets[0]))
            elif not self.decide(queue):
                declined.append(queue)
                continue
            if not self.point.per_channel:
                self.ask(queue)

    def grant(self, queue: Queue, port: Port, to: int) -> None:
        """Let the first packet of a queue cross."""
        packet, sender = queue.packets.popleft(), queue.input.sender
        crossing_ps = packet.size * (1e12 / (max(self.point.bandwidth_Bps) * self.point.speedup))
        end = packet.tail = max(self.now + rounded(crossing_ps), packet.tail)
        queue.crossed_at = port.crossed_at[to] = end
        queue.granted, port.granted = queue.granted + 1, port.granted + 1
        sender.credits.append((end + sender.latency, packet.unit, packet.size))
        packet.ways, packet.awaits, packet.unit = None, [], self.unit[to]
        port.lanes[to].append(packet)
        port.output.held[packet.unit] += packet.size
        self.at(end)
        self.at(end + sender.latency)
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
        lane = min(ready, key=lambda lane: (lane - port.turn) % len(self.unit))
        port.turn = (lane + 1) % len(self.unit)
        packet = port.lanes[lane].popleft()
        end = max(port.occupy(self.now, packet), packet.tail)
        port.sending = packet.unit, packet.size
        if port.to is None:
            return self.leave(port, packet, end)
        packet.hop += 1
        if packet.stage == DETOUR and self.routes.intermediate_of(port.to.router) == packet.via:
            packet.stage = DIRECT
        self.enter(port, lane, packet, end)

    def enter(self, port: Port, lane: int, packet: Packet, end: int) -> None:
        """Put a packet that a link sends until `end` into the input at its other end."""
        assert port.to is not None
        port.free_at, packet.unit = end, self.unit[lane]
        packet.head, packet.tail = self.now + port.latency, end + port.latency
        port.there.held[packet.unit] += packet.size
        lane_queue = port.to.queue(port.to.number * len(self.unit) + lane)
        (lane_queue.packets if self.point.per_channel else port.to.coming).append(packet)
        self.at(packet.head)
        self.at(end)

    def leave(self, port: Port, packet: Packet, end: int) -> None:
        """Let a packet reach its node."""
        port.free_at, one = end, packet.transfer
        self.at(end)
        self.by_hops[packet.hop] += 1
        one.to_arrive -= packet.size
        one.arrived_at = max(one.arrived_at, end + port.latency)
        if one.to_arrive == 0:
            self.at(one.arrived_at, one.number)

    # UGAL.

    def product(self, length: int, hops: list[Hop]) -> float:
        """Return length by the least queue, without what a link in full use has under way."""
        queues = []
        for port in (way.port for way in self.through(hops)):
            under_way = int(2e3 * port.latency_ns / port.ps_per_byte) + self.point.packet
            queues.append(self.awaiting(port) + sum(port.output.held) + max(0, sum(port.there.held) - under_way))
        return length * float(min(queues) + self.point.packet)

    def preferred(self, here: int, packet: Packet) -> tuple[list[Hop], tuple[int, int, list[Hop]] | None]:
        """Return the minimal hops, and the detour that is better than they are, if any."""
        minimal, detours = self.routes.alternatives(here, packet)
        direct = self.product(self.routes.most_hops(here, packet.goal), minimal)
        detour = min(detours, key=lambda one: self.product(*one[1:]), default=None)
        if detour and not direct > self.point.bias * self.product(*detour[1:]) + self.point.threshold:
            detour = None
        return minimal, detour

    def commit(self, here: int, packet: Packet) -> None:
        """Let a packet decide as its head comes to its first router, or, if progressive, to one of its first group."""
        packet.stage = DIRECT
        if here != packet.first and not self.routes.decides_at(here, packet):
            return
        minimal, detour = self.preferred(here, packet)
        if detour:
            packet.stage, packet.via = DETOUR, detour[0]
        elif any(self.routes.chooses_again(here, hop.next, packet.goal) for hop in minimal):
            packet.stage = UNDECIDED

    def decides_late(self, packet: Packet) -> bool:
        """Return whether a packet decides as ways open to it, in a lane, and not as it comes to a router."""
        return packet.stage == UNDECIDED and self.point.per_channel

    def decide(self, queue: Queue) -> bool:
        """Let an undecided packet take an open way of the kind that it prefers; return whether there is one."""
        packet, here = queue.packets[0], queue.input.router
        minimal, detour = self.preferred(here, packet)
        chosen = self.choose(self.through(detour[2] if detour else minimal), packet)
        if chosen is None:
            return False
        if detour:
            packet.stage, packet.via = DETOUR, detour[0]
        elif chosen[0].to and not self.routes.chooses_again(here, chosen[0].to.router, packet.goal):
            took = self.class_of_lane[chosen[1]]
            packet.stage, packet.skipped = DIRECT, max(0, took - min(packet.hop, self.point.classes - 1))
        self.grant(queue, *chosen)
        return True

    # Results.

    def result(self) -> dict[str, Any]:
        links = [self.ports_of_link[link] for link in range(2 * len(self.point.machine.cables))]
        times = []
        for kind, one in ((kind, self.transfers[k]) for kind, k in self.operations):
            begin, end = one.posted_at, one.left_at
            times += [begin, end] if kind == SEND else [0, begin if kind == CALC else one.arrived_at]
        between = [one for one in self.transfers if one.nodes[0] != one.nodes[1]]
        return {
            "end_ps": self.now,
            "link_bytes": [sum(port.bytes for port in ports) for ports in links],
            "link_packets": [sum(port.packets for port in ports) for ports in links],
            "injected_bytes": sum(one.size for one in between),
            "packets_by_hops": [self.by_hops[hops] for hops in range(max(self.by_hops, default=-1) + 1)],
            "job_message_sum_ps": [sum(one.arrived_at - one.posted_at for one in between)],
            "operation_ps": times,
        }
