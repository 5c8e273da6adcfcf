"""Messages and nodes of the packet engine's reference: which message sends the next packet."""

from __future__ import annotations

from collections import deque

from .packet_points import Message, Point


class Transfer:
    """A message that is under way, or will be."""

    def __init__(self, point: Point, message: Message) -> None:
        self.number, self.rank, self.size = 0, message.sender, message.size
        self.nodes = point.ranks[message.sender], point.ranks[message.receiver]
        self.to_leave = self.to_arrive = message.size
        self.posted_at = self.left_at = self.arrived_at = message.posted_ps


class Node:
    """Messages of a node: those of each rank that wait for a slot, and those in flight at each interface."""

    def __init__(self, point: Point, node: int) -> None:
        self.waiting = {rank: deque[Transfer]() for rank, at in enumerate(point.ranks) if at == node}
        self.in_flight: list[deque[Transfer]] = [deque() for _ in range(1 if point.striped else point.ports)]
        self.slots, self.turns, self.interface = point.injection, deque(self.waiting), 0

    def fill_slots(self) -> None:
        while any(self.waiting.values()) and len(self.in_flight[self.interface]) < self.slots:
            if self.waiting[self.turns[0]]:
                self.in_flight[self.interface].append(self.waiting[self.turns[0]].popleft())
                self.interface = (self.interface + 1) % len(self.in_flight)
            self.turns.rotate(-1)

    def sent(self, interface: int, size: int) -> None:
        """Take a packet off the first message; the next one has its turn if there are several slots."""
        messages = self.in_flight[interface]
        messages[0].to_leave -= size
        if messages[0].to_leave == 0:
            messages.popleft()
        elif self.slots > 1:
            messages.rotate(-1)
