"""Metrics of a machine."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fabricstudy.core.arrays import Ints
from fabricstudy.machine.distances import adjacency
from fabricstudy.machine.graph import Machine
from fabricstudy.machine.search import bfs_levels

from .bisection import BisectionBounds, bisection_bounds


@dataclass(frozen=True)
class Structure:
    """Metrics of a machine."""

    kind: str
    nodes: int
    routers: int
    cables: int
    radix: int
    """Cables are router-to-router, counting parallel ones; the radix is the maximum number of ports."""
    diameter: int
    mean_hops: float
    """Maximum, and mean over ordered pairs, of hops between distinct routers with nodes; 0 if there is only one."""
    classes: list[dict[str, Any]]
    """Name and cables of each link class, bandwidth (one direction) and latency of a cable; host links last."""
    bisection: BisectionBounds

    def to_json(self) -> dict[str, Any]:
        """Return plain values, without the best cut."""
        return vars(self) | {"bisection": self.bisection.to_json()}


def describe_machine(machine: Machine) -> Structure:
    """Return the metrics of a machine; raises ValueError if it is not connected, or as `bisection_bounds`."""
    diameter, mean_hops = hop_figures(machine)
    cables = np.bincount(machine.cable_class, machine.cable_count, len(machine.classes)).astype(int)
    links = [*zip(machine.classes, cables.tolist(), strict=True), (machine.host, machine.nodes)]
    sizes = machine.kind, machine.nodes, machine.routers, machine.cables, machine.radix
    classes = [
        {"name": link.name, "cables": count, "bandwidth_Bps": link.bandwidth_Bps, "latency_ns": link.latency_ns}
        for link, count in links
    ]
    return Structure(*sizes, diameter, mean_hops, classes, bisection_bounds(machine))


def hop_figures(machine: Machine, sources: Ints | None = None, sources_at_a_time: int = 4096) -> tuple[int, float]:
    """Return the most and the mean hops from some routers with nodes, by default all, to all others with nodes.

    In a grid hops are sums over dimensions; elsewhere searches from blocks of routers limit the memory.

    Raises ValueError if routers with nodes are not connected.
    """
    ends = np.flatnonzero(machine.nodes_of_router)
    sources = ends if sources is None else sources
    if machine.dimensions and len(sources) == machine.routers:
        lines = [dimension.hops() for dimension in machine.dimensions]
        diameter = sum(int(line.max()) for line in lines)
        hops = sum(int(line.sum(dtype=np.int64)) * (machine.routers // len(line)) ** 2 for line in lines)
    else:
        links, diameter, hops = adjacency(machine), 0, 0
        for start in range(0, len(sources), sources_at_a_time):
            block = sources[start : start + sources_at_a_time]
            at_first = np.zeros((machine.routers, -(-len(block) // 64) * 64), dtype=np.bool_)
            at_first[block, np.arange(len(block))] = True
            left = []
            for reached in bfs_levels(np.packbits(at_first, axis=1).view(np.uint64), links.first, links.head):
                # A pair that is not connected after h hops has more than h.
                left.append(len(ends) * len(block) - int(np.bitwise_count(reached[ends]).sum(dtype=np.int64)))
                if not left[-1]:
                    break
            else:
                raise ValueError("the machine is not connected")
            diameter, hops = max(diameter, len(left) - 1), hops + sum(left)
    return diameter, hops / max(1, len(sources) * (len(ends) - 1))
