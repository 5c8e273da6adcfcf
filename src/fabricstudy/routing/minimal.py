"""Minimal: paths of least total `Machine.hop_weight`; bytes split hop by hop in proportion to parallel cables."""

from functools import cached_property

import numpy as np

from fabricstudy.core.arrays import Bools, Floats, Ints
from fabricstudy.machine.distances import Adjacency, adjacency, path_weights
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.search import starts

from .base import ChannelScheme, Flows, NextHops, ObliviousMemorylessRoutes, Routes, Routing
from .path_graph import PathGraph

MAX_PATH_STATES = 1 << 25
"""Limit of goals times cables for storing all paths, with 8 bytes each."""


class MinimalRoutes(ObliviousMemorylessRoutes):
    """Minimal routes on any machine."""

    def loads(self, flows: Flows) -> Floats:
        from .kernels import minimal_loads

        order, of_goal = np.argsort(flows.goal, kind="stable"), starts(flows.goal, self.machine.routers)
        weight = weight_of_class(self.machine)
        load: Floats = minimal_loads(self.links, weight, of_goal, flows.source[order], flows.size_bytes[order])
        return connected(load)

    def loads_between(self, traffic_bytes: Floats) -> Floats:
        from .kernels import minimal_loads_between

        traffic = np.ascontiguousarray(traffic_bytes, dtype=np.float64)
        load: Floats = minimal_loads_between(self.links, weight_of_class(self.machine), traffic)
        return connected(load)

    def support(self, flows: Flows) -> Bools:
        return self.loads(Flows(flows.source, flows.goal, np.ones(len(flows.source)))) > 0

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


def connected(result: Floats) -> Floats:
    """Return the result of a kernel; raises ValueError if it is NaN: the machine is not connected."""
    if np.isnan(result.flat[0] if result.size else 0.0):
        raise ValueError("the machine is not connected")
    return result


class Minimal(Routing, kind="minimal"):
    """Shortest paths; on a dragonfly at most one global hop. Ties are split equally hop by hop.

    That is equal-cost multipath per packet, without the collisions of flows that `ecmp` has.
    """

    def routes(self, machine: Machine) -> Routes:
        return MinimalRoutes(machine)

    def channel_scheme(self, machine: Machine) -> ChannelScheme:
        # On a tree all paths lead up, then down.
        return "hops" if machine.level is None else "one"
