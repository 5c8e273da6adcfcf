"""Largest machines of families of topologies for routers of a given radix."""

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fabricstudy.analysis.base import IN_ORDER, Analysis, Row
from fabricstudy.core.kinds import Kind
from fabricstudy.core.model import Whole
from fabricstudy.machine.dimension import Dimension
from fabricstudy.machine.finite_field import prime_of
from fabricstudy.machine.slim_fly import router_degree
from fabricstudy.structure.partitions import Geometry


@dataclass(frozen=True)
class System:
    """A machine of a family, with the parameters `shape`."""

    shape: str
    routers: int
    nodes_per_router: int
    """Nodes of a router with nodes."""
    nodes: int
    links: int
    """Ports of a router to other routers."""
    mean_hops: float | None = None
    """Mean hops between distinct routers, where known."""

    @property
    def radix(self) -> int:
        """Ports in use of the largest router."""
        return self.links + self.nodes_per_router

    @property
    def node_share(self) -> float:
        """Share of these ports that lead to nodes."""
        return self.nodes_per_router / self.radix

    @property
    def balance(self) -> float | None:
        """Nodes a router that its links can serve in an all-to-all (Jain et al., Equation 3)."""
        return self.links / self.mean_hops if self.mean_hops else None


class DesignFamily(Kind, family="family of topologies"):
    """A family of topologies whose largest machine is computed."""

    def systems(self, ports: int, balanced: bool) -> Iterator[System]:
        """Yield machines with routers of at most `ports` ports, among them the largest."""
        raise NotImplementedError


class FatTreeFamily(DesignFamily, kind="fat-tree"):
    """Three-level fat trees with full bisection: r^3 / 4 nodes on 5 r^2 / 4 routers (Al-Fares et al., 2008)."""

    def systems(self, ports: int, balanced: bool) -> Iterator[System]:
        half = ports // 2
        if half:
            # Leaves have half of their ports for nodes.
            yield System(f"radix {2 * half}", 5 * half**2, half, 2 * half**3, half)


class DragonflyFamily(DesignFamily, kind="dragonfly"):
    """Dragonflies with one link between two groups; balanced ones have a = 2 p = 2 h (Kim et al., ISCA 2008)."""

    def systems(self, ports: int, balanced: bool) -> Iterator[System]:
        for global_ports in range(1, ports):
            if balanced:
                sizes: Iterable[tuple[int, int]] = [(2 * global_ports, global_ports)]
            else:
                sizes = ((ports + 1 - global_ports - nodes, nodes) for nodes in range(1, ports - global_ports + 1))
            for in_group, nodes in sizes:
                links, groups = in_group - 1 + global_ports, in_group * global_ports + 1
                if in_group >= 1 and nodes + links <= ports:
                    shape, routers = f"{groups} groups of {in_group} routers", groups * in_group
                    yield System(shape, routers, nodes, routers * nodes, links)


class SlimFlyFamily(DesignFamily, kind="slim-fly"):
    """Slim Flies: 2 q^2 routers of (3 q - delta) / 2 links, q = 4 w + delta a prime power (Besta and Hoefler 2014)."""

    def systems(self, ports: int, balanced: bool) -> Iterator[System]:
        for q in filter(prime_of, range(3, ports)):
            links, routers = router_degree(q), 2 * q * q
            # Diameter 2: all other routers are two hops away.
            mean_hops = 2 - links / (routers - 1)
            nodes = ports - links
            if balanced:
                nodes = min(nodes, round(links / mean_hops))
            if nodes > 0:
                yield System(f"q = {q}", routers, nodes, routers * nodes, links, mean_hops)


class ExpressMeshFamily(DesignFamily, kind="express-mesh"):
    """Express meshes; with gap 1 they are HyperX (Jain et al., IPDPS 2017)."""

    dimensions: Whole = Field(3, ge=1, le=4, description="dimensions (n)")
    gap: Whole = Field(1, ge=1, le=8, description="gap (g)")

    def systems(self, ports: int, balanced: bool) -> Iterator[System]:
        lengths = [length for length in range(2, self.gap * ports + 3) if _line_ports(length, self.gap) < ports]
        # Lengths of the same degree: the longest has most routers.
        longest = {_line_ports(length, self.gap): length for length in lengths}
        most = 0
        for shape in itertools.combinations_with_replacement(sorted(longest.values(), reverse=True), self.dimensions):
            links = sum(_line_ports(length, self.gap) for length in shape)
            nodes, routers = ports - links, math.prod(shape)
            if nodes * routers <= most:
                continue
            mean_hops = express_mesh_mean_hops(shape, self.gap)
            if balanced:
                nodes = min(nodes, round(links / mean_hops))
            most = max(most, nodes * routers)
            yield System("x".join(map(str, shape)), routers, nodes, routers * nodes, links, mean_hops)


def largest_system(family: DesignFamily, ports: int, balanced: bool) -> System | None:
    """Return the largest machine of a family with routers of at most `ports` ports, or None.

    Examples
    --------
    >>> largest_system(FatTreeFamily(), 48, True).nodes, largest_system(DragonflyFamily(), 48, True).nodes
    (27648, 83232)
    """
    return max(family.systems(ports, balanced), key=lambda system: system.nodes, default=None)


@cache
def _line_ports(length: int, gap: int) -> int:
    """Return the most links of a router along one dimension: about 2 + (length - 3) / gap (Jain et al.)."""
    return Dimension(length, gap=gap).ports


@cache
def _line_hops(length: int, gap: int) -> int:
    """Return the sum of the distances between all ordered pairs of routers of one dimension."""
    return int(Dimension(length, gap=gap).hops().sum(dtype=np.int64))


def express_mesh_mean_hops(shape: Geometry, gap: int) -> float:
    """Return the mean hops between distinct routers of an express mesh; hops along the dimensions add up.

    Examples
    --------
    >>> [round(express_mesh_mean_hops(*mesh), 2) for mesh in (((12, 10, 10), 1), ((14, 12, 12), 2))]
    [2.72, 4.03]
    """
    routers = math.prod(shape)
    hops = sum(_line_hops(length, gap) / length**2 for length in shape)
    return hops * routers / (routers - 1)


Radix = Annotated[Whole, Field(ge=4, le=128)]
RadixRange = Annotated[tuple[Radix, Radix], IN_ORDER]


class Design(Analysis, kind="design"):
    """The largest machine of each family of topologies with routers of each radix.

    Balanced machines have at most as many nodes a router as its links can serve in an all-to-all: p <= (links of a
    router) / (mean hops), rounded to the nearest integer (Jain et al., Equation 3); the balanced dragonfly and fat tree
    have their own rules. The columns:

    * `family`, `ports`: label of the row, and the ports that a router may use
    * `shape`: parameters of the machine
    * `nodes`, `routers`, `nodes_per_router`
    * `radix`: ports in use; `node_share`: the share of them that leads to nodes
    * `mean_hops`: between distinct routers, where it is computed
    * `balance`: nodes a router that its links can serve
    """

    keys = ("family", "ports")
    labels = ("shape",)
    numbers = (
        "ports", "nodes", "routers", "nodes_per_router", "radix", "node_share", "mean_hops", "balance",
    )  # fmt: skip

    families: dict[str, DesignFamily] = Field(min_length=1, max_length=100, description="{label: family}")
    ports: RadixRange = Field(description="smallest and largest number of ports of a router")
    concentration: Literal["balanced", "free"] = Field(
        "balanced", description="nodes a router: as many as the links can serve, or those of the largest machine"
    )

    def rows(self) -> list[Row]:
        names = (*self.labels, *self.numbers[1:])
        return [
            {"family": label, "ports": ports, **{name: getattr(system, name) for name in names}}
            for label, family in self.families.items()
            for ports in range(self.ports[0], self.ports[1] + 1)
            if (system := largest_system(family, ports, self.concentration == "balanced")) is not None
        ]
