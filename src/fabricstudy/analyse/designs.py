"""How large a machine of each topology can be with routers of a given radix."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..study.analyses.design import (
    DragonflyFamily,
    ExpressMeshFamily,
    FamilyConfig,
    FatTreeFamily,
    SlimFlyFamily,
)
from .partitions import Geometry


@dataclass(frozen=True)
class System:
    """A machine of a family.

    Parameters
    ----------
    shape : str
        Its parameters.
    routers, nodes_per_router : int
        All routers, and the nodes of one that carries nodes.
    nodes : int
        All nodes.
    links : int
        Ports of a router that lead to other routers.
    mean_hops : float, optional
        Mean hops between distinct routers, where it is known.
    """

    shape: str
    routers: int
    nodes_per_router: int
    nodes: int
    links: int
    mean_hops: float | None = None

    @property
    def radix(self) -> int:
        """Ports in use of the largest router."""
        return self.links + self.nodes_per_router

    @property
    def node_share(self) -> float:
        """Part of these ports that leads to nodes."""
        return self.nodes_per_router / self.radix

    @property
    def balance(self) -> float | None:
        """Nodes a router that its links can serve when all nodes send to all others (Jain et al., Equation 3)."""
        return self.links / self.mean_hops if self.mean_hops else None


def largest_system(family: FamilyConfig, ports: int, balanced: bool) -> System | None:
    """Give the machine of a family that has most nodes with routers of at most `ports` ports, or None.

    Examples
    --------
    >>> largest_system(FatTreeFamily(), 48, True).nodes, largest_system(DragonflyFamily(), 48, True).nodes
    (27648, 83232)
    """
    return max(_SYSTEMS[type(family)](family, ports, balanced), key=lambda system: system.nodes, default=None)


def _fat_trees(family: FatTreeFamily, ports: int, balanced: bool) -> Iterator[System]:
    half = ports // 2
    if half:
        # Leaves have half of their ports for nodes, core routers have none.
        yield System(f"radix {2 * half}", 5 * half**2, half, 2 * half**3, half)


def _dragonflies(family: DragonflyFamily, ports: int, balanced: bool) -> Iterator[System]:
    for global_ports in range(1, ports):
        if balanced:
            sizes: Iterable[tuple[int, int]] = [(2 * global_ports, global_ports)]
        else:
            sizes = ((ports + 1 - global_ports - nodes, nodes) for nodes in range(1, ports - global_ports + 1))
        for in_group, nodes in sizes:
            if in_group < 1 or nodes + in_group - 1 + global_ports > ports:
                continue
            groups = in_group * global_ports + 1
            shape = f"{groups} groups of {in_group} routers"
            routers = groups * in_group
            yield System(shape, routers, nodes, routers * nodes, in_group - 1 + global_ports)


def _slim_flies(family: SlimFlyFamily, ports: int, balanced: bool) -> Iterator[System]:
    for q in filter(_is_prime_power, range(3, ports)):
        links = (3 * q - {0: 0, 1: 1, 3: -1}[q % 4]) // 2 if q % 4 != 2 else ports
        routers = 2 * q * q
        # Diameter 2: whatever is no neighbour is two hops away.
        mean_hops = 2 - links / (routers - 1)
        nodes = ports - links
        if balanced:
            nodes = min(nodes, round(links / mean_hops))
        if nodes > 0:
            yield System(f"q = {q}", routers, nodes, routers * nodes, links, mean_hops)


def _is_prime_power(number: int) -> bool:
    """Tell powers of primes.

    Examples
    --------
    >>> [number for number in range(2, 20) if _is_prime_power(number)]
    [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19]
    """
    prime = next(divisor for divisor in range(2, number + 1) if number % divisor == 0)
    while number % prime == 0:
        number //= prime
    return number == 1


def _express_meshes(family: ExpressMeshFamily, ports: int, balanced: bool) -> Iterator[System]:
    lengths = [length for length in range(2, family.gap * ports + 3) if line_ports(length, family.gap) < ports]
    # Lengths of the same degree: the longest has most routers.
    longest = {line_ports(length, family.gap): length for length in lengths}
    most = 0
    for shape in itertools.combinations_with_replacement(sorted(longest.values(), reverse=True), family.dimensions):
        links = sum(line_ports(length, family.gap) for length in shape)
        nodes, routers = ports - links, math.prod(shape)
        if nodes * routers <= most:
            continue
        mean_hops = express_mesh_mean_hops(shape, family.gap)
        if balanced:
            nodes = min(nodes, round(links / mean_hops))
        most = max(most, nodes * routers)
        yield System("x".join(map(str, shape)), routers, nodes, routers * nodes, links, mean_hops)


@cache
def line_ports(length: int, gap: int) -> int:
    """Most links of a router along one dimension of an express mesh.

    About 2 + (length - 3) / gap (Jain et al.); counted here.

    Examples
    --------
    >>> line_ports(12, 1), line_ports(14, 2), line_ports(2, 2)
    (11, 7, 1)
    """
    spans = [1, *range(1 + gap, length, gap)]
    degrees: list[int] = [sum((at >= span) + (at + span < length) for span in spans) for at in range(length)]
    return max(degrees)


def express_mesh_mean_hops(shape: Geometry, gap: int) -> float:
    """Mean hops between distinct routers of an express mesh; distances along the dimensions add up.

    Examples
    --------
    >>> [round(express_mesh_mean_hops(*mesh), 2) for mesh in (((12, 10, 10), 1), ((14, 12, 12), 2))]
    [2.72, 4.03]
    """
    routers = math.prod(shape)
    hops = sum(_line_hops(length, gap) / length**2 for length in shape)
    return hops * routers / (routers - 1)


@cache
def _line_hops(length: int, gap: int) -> int:
    """Sum of the distances between all ordered pairs of routers of one dimension."""
    spans = [1, *range(1 + gap, length, gap)]
    total = 0
    for start in range(length):
        seen, border, hops = {start}, {start}, 0
        while border:
            total += hops * len(border)
            ends = {at + step for at in border for span in spans for step in (span, -span)}
            border = {at for at in ends if 0 <= at < length} - seen
            seen |= border
            hops += 1
    return total


_SYSTEMS: dict[type, Callable[[Any, int, bool], Iterator[System]]] = {
    FatTreeFamily: _fat_trees,
    DragonflyFamily: _dragonflies,
    SlimFlyFamily: _slim_flies,
    ExpressMeshFamily: _express_meshes,
}
