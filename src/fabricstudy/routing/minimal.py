"""Minimal: paths of least total `Machine.hop_weight`; bytes split hop by hop in proportion to parallel cables."""

from functools import cached_property

import numpy as np

from fabricstudy.core.arrays import Bools, Floats, Ints
from fabricstudy.machine.distances import Adjacency, adjacency, path_weights
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.search import starts

from .base import PACKETS_AT_ONCE, ChannelScheme, Flows, NextHops, ObliviousMemorylessRoutes, PathGraph, Routes, Routing

MAX_PATH_STATES = 1 << 25
"""Limit of goals times cables for storing all paths, with 8 bytes each."""


class MinimalRoutes(ObliviousMemorylessRoutes):
    """Minimal routes on any machine."""

    def loads(self, flows: Flows) -> Floats:
        order = np.argsort(flows.goal, kind="stable")
        size_bytes = flows.size_bytes[order].astype(np.float64, copy=False)
        return self._add_loads(np.zeros(self.machine.links), flows.goal, flows.source[order], size_bytes)

    def loads_between(self, traffic_bytes: Floats) -> Floats:
        load, goals = np.zeros(self.machine.links), max(1, PACKETS_AT_ONCE // self.machine.routers)
        for first in range(0, self.machine.routers, goals):
            to_goal = np.array(traffic_bytes[:, first : first + goals].T, dtype=np.float64, order="C")
            np.fill_diagonal(to_goal[:, first:], 0.0)
            goal, source = np.nonzero(to_goal)
            self._add_loads(load, goal + first, source, to_goal[goal, source])
        return load

    def _add_loads(self, load: Floats, goal: Ints, source: Ints, size_bytes: Floats) -> Floats:
        """Add the loads of messages, with sources and sizes in the order of goals, to `load`, and return it."""
        from .kernels import minimal_loads

        of_goal = starts(goal, self.machine.routers)
        if not minimal_loads(self.links, weight_of_class(self.machine), of_goal, source, size_bytes, load):
            raise ValueError("the machine is not connected")
        return load

    def support(self, flows: Flows) -> Bools:
        return Routes.support(self, flows)  # by the kernel of loads, in place of next hops

    def path_graph(self, flows: Flows) -> PathGraph | None:
        from .kernels import minimal_ways

        goals, number = np.unique(flows.goal, return_inverse=True)
        if len(goals) * self.machine.links > 2 * MAX_PATH_STATES:
            return None
        begin, link, to, state = minimal_ways(self.links, weight_of_class(self.machine), goals)
        return PathGraph(begin, link, to, state[number, flows.source], flows.size_bytes)

    def next_hops(self, at: Ints, goal: Ints) -> NextHops:
        links, distance = self.links, self.distance
        count = np.where(at == goal, 0, np.diff(links.first)[at])
        packet = np.repeat(np.arange(len(at)), count)
        index = np.arange(len(packet)) - np.repeat(np.cumsum(count) - count, count) + links.first[at[packet]]
        nearer = distance[links.head[index], goal[packet]] + self.weight[index] == distance[at[packet], goal[packet]]
        packet, index = packet[nearer], index[nearer]
        ways = np.bincount(packet, weights=links.cables[index], minlength=len(at))
        return NextHops(packet, links.link[index], links.cables[index] / ways[packet])

    @cached_property
    def links(self) -> Adjacency:
        """Links by tail router."""
        return adjacency(self.machine)

    @cached_property
    def weight(self) -> Ints:
        """Weight of each of `links`, int64 [links]."""
        return weight_of_class(self.machine)[self.links.kind]

    @cached_property
    def distance(self) -> Ints:
        """Least path weights, int64 [from, to]."""
        return path_weights(self.links, self.weight)


def weight_of_class(machine: Machine) -> Ints:
    """Weight of a hop of each link class, int64 [classes]."""
    return np.array(machine.hop_weight, dtype=np.int64)


class Minimal(Routing, kind="minimal"):
    """Shortest paths; on a dragonfly at most one global hop. Packets are sprayed over ties, hop by hop.

    Analyses, bounds and flow split ties equally. On packet and CAMINOS a packet takes a tied output that has room, so
    that a slow path carries less than that; `ecmp` has flows on one path each.
    """

    def routes(self, machine: Machine) -> Routes:
        return MinimalRoutes(machine)

    def channel_scheme(self, machine: Machine) -> ChannelScheme:
        # On a tree all paths lead up, then down.
        return "hops" if machine.level is None else "one"
