"""Routes of the packet engine's reference: next hops, and the channel classes on them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from .packet_nodes import Transfer
from .packet_points import Point

EVER = 2**64
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


@dataclass(frozen=True)
class Hop:
    link: int
    next: int
    first_class: int
    last_class: int
    escape: bool = False


@dataclass(eq=False)
class Packet:
    transfer: Transfer
    node: int
    first: int
    goal: int
    size: int
    key: int
    priority: int = 0
    hop: int = 0
    skipped: int = 0
    stage: str = DIRECT
    via: int = 0
    intermediates: list[int] = field(default_factory=list)
    head: int = 0
    tail: int = 0
    unit: int = 0
    ways: list[Any] | None = None
    """What it waits for, as the first one of its queue."""
    awaits: list[Any] = field(default_factory=list)
    """The ports of its ways, from when it begins to wait in a virtual output queue."""


class Routes:
    """Next hops and channel classes."""

    def __init__(self, point: Point) -> None:
        self.point, self.machine = point, point.machine
        self.exits: list[list[tuple[int, int, int, int]]] = [[] for _ in range(point.machine.routers)]
        for row, (tail, head, of, cables) in enumerate(point.machine.cables):
            self.exits[tail].append((head, 2 * row, of, cables))
            self.exits[head].append((tail, 2 * row + 1, of, cables))
        for exits in self.exits:
            exits.sort()
        self.cables = [cables for _, _, _, cables in point.machine.cables]
        self.intermediates = sorted({self.intermediate_of(router) for router in point.nodes})
        self.weights_to, self.most_hops = cache(self._weights_to), cache(self._most_hops)

    def intermediate_of(self, router: int) -> int:
        return self.machine.group[router] if self.point.via == "group" else router

    def members(self, intermediate: int) -> tuple[int, ...]:
        return tuple(router for router in range(self.machine.routers) if self.intermediate_of(router) == intermediate)

    def _weights_to(self, goals: tuple[int, ...]) -> list[float]:
        """Return the weight of the lightest path from each router to the nearest of some (Bellman and Ford)."""
        weights = [0 if router in goals else math.inf for router in range(self.machine.routers)]
        for _ in range(self.machine.routers):
            for router, exits in enumerate(self.exits):
                weights[router] = min(weights[router], *(weights[to] + self.point.weight[of] for to, _, of, _ in exits))
        return weights

    def lightest(self, here: int, goals: tuple[int, ...], of: int = 0) -> list[Hop]:
        """Return the hops, of a class, with which the lightest paths begin."""
        to, weight = self.weights_to(goals), self.point.weight
        return [Hop(link, next_, of, of) for next_, link, c, _ in self.exits[here] if to[next_] + weight[c] == to[here]]

    def _most_hops(self, here: int, goal: int) -> int:
        return 0 if here == goal else 1 + max(self.most_hops(hop.next, goal) for hop in self.lightest(here, (goal,)))

    def hops_through(self, here: int, intermediate: int, goal: int) -> int:
        weight = {router: self.weights_to((router,))[here] for router in self.members(intermediate)}
        nearest = [router for router in weight if weight[router] == min(weight.values())]
        return max(self.most_hops(here, router) + self.most_hops(router, goal) for router in nearest)

    def leads_away(self, first: int, goal: int, intermediate: int) -> bool:
        group = self.machine.group
        if self.point.kind == "ugal" and self.point.via == "router" and group and group[first] != group[goal]:
            return group[intermediate] not in (group[first], group[goal])
        return intermediate not in (self.intermediate_of(first), self.intermediate_of(goal))

    def draw_intermediate(self, bits: int, here: int, goal: int, tries: int) -> int | None:
        for _ in range(tries):
            bits = mix(bits)
            intermediate = self.intermediates[below(bits, len(self.intermediates))]
            if self.leads_away(here, goal, intermediate):
                return intermediate
        rest = [intermediate for intermediate in self.intermediates if self.leads_away(here, goal, intermediate)]
        return rest[below(mix(bits), len(rest))] if tries > 1 and rest else None

    def class_of_hop(self, hop: int) -> int:
        return min(hop, self.point.classes - 1) if self.point.scheme == "hops" else 0

    def between(self, here: int, neighbour: int, of: int, escape: bool = False) -> list[Hop]:
        return [Hop(link, next_, of, of, escape) for next_, link, _, _ in self.exits[here] if next_ == neighbour]

    def hops(self, here: int, packet: Packet) -> list[Hop]:
        """Return the next hops of a packet that is neither undecided nor at its goal."""
        kind, goal, escapes = self.point.kind, packet.goal, self.point.scheme == "escape"
        hop_class = self.class_of_hop(packet.hop + packet.skipped)
        if kind == "dimension-order":
            next_, behind = self.in_order(here, goal, packet.via, self.point.tie)
            return self.between(here, next_, int(behind and self.point.scheme == "dateline"))
        if kind == "adaptive" and self.machine.dimensions:
            of = 1 if escapes else hop_class
            hops = [hop for next_ in self.adaptively(here, goal) for hop in self.between(here, next_, of)]
            return hops + (self.between(here, self.in_order(here, goal, 0, "positive")[0], 0, True) if escapes else [])
        goals = self.members(packet.via) if packet.stage == DETOUR else (goal,)
        return self.lightest(here, goals, hop_class)

    def unequal(self, here: int, goal: int) -> Iterator[tuple[int, int, int, int]]:
        """Return dimension, its unit, and both coordinates wherever they are not the same."""
        unit = 1
        for d, (length, _) in enumerate(self.machine.dimensions):
            at, to = here // unit % length, goal // unit % length
            if at != to:
                yield d, unit, at, to
            unit *= length

    def shortest(self, d: int, at: int, to: int) -> list[int]:
        """Return the directions, +1 before -1, that lead to a coordinate in the fewest steps."""
        length, wraps = self.machine.dimensions[d]
        up, down = ((to - at) % length, (at - to) % length) if wraps else (to < at, at < to)
        return [sign for sign, steps in ((1, up), (-1, down)) if steps == min(up, down)]

    def step(self, here: int, d: int, unit: int, sign: int) -> int:
        length, _ = self.machine.dimensions[d]
        at = here // unit % length
        return here + ((at + sign) % length - at) * unit

    def in_order(self, here: int, goal: int, drawn: int, tie: str) -> tuple[int, bool]:
        """Return the next router, and whether the dateline of its ring is not ahead."""
        d, unit, at, to = next(self.unequal(here, goal))
        sign, *other = self.shortest(d, at, to)
        if other and tie != "positive":
            sign = 1 if (drawn >> d & 1 if tie == "split" else at % 2 == 0) else -1
        return self.step(here, d, unit, sign), not (at > to if sign > 0 else at < to)

    def adaptively(self, here: int, goal: int) -> list[int]:
        ahead = self.unequal(here, goal)
        return [self.step(here, d, unit, sign) for d, unit, at, to in ahead for sign in self.shortest(d, at, to)]

    def chooses_again(self, here: int, next_: int, goal: int) -> bool:
        """Return whether an undecided packet that takes a minimal hop decides again behind it."""
        group = self.machine.group
        return self.point.progressive and bool(group) and group[next_] == group[here] != group[goal]

    def decides_at(self, here: int, packet: Packet) -> bool:
        """Return whether a packet may decide at a router of its first group, which is not its last one."""
        group = self.machine.group
        return bool(group) and group[packet.first] == group[here] != group[packet.goal]

    def alternatives(self, here: int, packet: Packet) -> tuple[list[Hop], list[tuple[int, int, list[Hop]]]]:
        """Return the minimal hops, and of each detour its intermediate, length and first hops."""
        goal, first, second = packet.goal, *(self.class_of_hop(packet.hop + more) for more in (0, 1))
        minimal = self.lightest(here, (goal,), first)
        if len(minimal) > 1 or self.cables[minimal[0].link // 2] > 1:
            minimal = [h if self.chooses_again(here, h.next, goal) else replace(h, last_class=second) for h in minimal]
        detours = []
        for intermediate in packet.intermediates:
            length = self.hops_through(here, intermediate, goal)
            if self.point.classes == 1 or packet.hop + length <= self.point.classes:
                detours.append((intermediate, length, self.lightest(here, self.members(intermediate), first)))
        return minimal, detours
