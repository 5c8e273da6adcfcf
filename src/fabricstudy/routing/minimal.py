"""Minimal: the paths of least total `Machine.hop_weight`.

Where several links lead on, the bytes split in proportion to their parallel cables, hop by hop.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np

from fabricstudy.kinds import register
from fabricstudy.machine.distances import Adjacency, adjacency, path_weights
from fabricstudy.machine.graph import Machine

from .base import Bools, Floats, Flows, Hops, Ints, ObliviousMemoryless, Routes, Routing


class MinimalRoutes(ObliviousMemoryless):
    """Minimal routes on any machine."""

    kind = "minimal"

    def loads(self, flows: Flows) -> Floats:
        """Follow the paths backwards from each destination, all its bytes at once."""
        from .kernels import group_by_destination, minimal_loads

        messages = group_by_destination(flows.source, flows.goal, flows.size_bytes, self.machine.routers)
        weight = np.array(self.machine.hop_weight, dtype=np.int64)
        load: Floats = minimal_loads(*self._links, weight, *messages)
        return connected(load)

    def support(self, flows: Flows) -> Bools:
        """Give the links that get some of one byte."""
        return self.loads(Flows(flows.source, flows.goal, np.ones(len(flows.source)))) > 0

    def next_hops(self, at: Ints, goal: Ints) -> Hops:
        """Give all links that come nearer to the goal by their weight."""
        links, distance = self._links, self._distance
        count = np.where(at == goal, 0, np.diff(links.first)[at])
        packet = np.repeat(np.arange(len(at)), count)
        place = np.arange(len(packet)) - np.repeat(np.cumsum(count) - count, count) + links.first[at[packet]]
        weight = np.array(self.machine.hop_weight, dtype=np.int64)[links.kind[place]]
        nearer = distance[links.head[place], goal[packet]] + weight == distance[at[packet], goal[packet]]
        packet, place = packet[nearer], place[nearer]
        ways = np.bincount(packet, weights=links.cables[place], minlength=len(at))
        return Hops(packet, links.link[place], links.cables[place] / ways[packet])

    @cached_property
    def _links(self) -> Adjacency:
        return adjacency(self.machine)

    @cached_property
    def _distance(self) -> Ints:
        return path_weights(self._links, np.array(self.machine.hop_weight, dtype=np.int64)[self._links.kind])


def traffic_of(flows: Flows, routers: int) -> Floats:
    """Bytes [source, destination] between routers."""
    traffic = np.zeros((routers, routers))
    traffic[flows.source, flows.goal] = flows.size_bytes
    return traffic


def connected(result: Floats) -> Floats:
    """Give what a kernel found, unless it found no path."""
    if np.isnan(result.flat[0] if result.size else 0.0):
        raise ValueError("the machine is not connected")
    return result


@register
class Minimal(Routing):
    """Shortest paths; on a dragonfly at most one global hop. Ties are split equally hop by hop."""

    kind: Literal["minimal"] = "minimal"

    def routes(self, machine: Machine) -> Routes:
        """Give the routes on a machine."""
        return MinimalRoutes(machine)
