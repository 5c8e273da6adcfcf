"""Extended generalised fat trees with parallel cables: any number of levels, any taper; leaf-spine has two.

With `down` m_1 .. m_L and `up` w_1 .. w_{L-1}, a leaf has m_1 nodes, a router of level l > 1 joins m_l routers of the
level below, and each router below the top has w_l parents, joined by c_l parallel cables each. A *subtree* of level l
holds m_1 .. m_l nodes, and has W_l = w_1 .. w_{l-1} routers on its top level; there are m_{l+1} .. m_L of them.
Router j on top of subtree s of level l has number s W_l + j within its level; levels are numbered consecutively, leaves
first. Its k-th parent is number j w_l + k on top of the subtree above. Nodes are numbered in the order of the leaves.

* routers of level l: W_l m_{l+1} .. m_L; ports: m_l c_{l-1} + w_l c_l;
* two leaves whose smallest common subtree is of level l are 2 (l - 1) hops apart;
* taper of level l, at equal bandwidths: W_l w_l c_l upward cables over the nodes of a subtree.

References
----------
Öhring, Ibel, Das, Kumar: On generalized fat trees. IPPS 1995, doi:10.1109/IPPS.1995.395911.
Zahavi: D-Mod-K routing providing non-blocking traffic for shift permutations on real life fat trees. Technion 2010,
CCIT report 776 (parallel cables).
"""

from collections.abc import Iterator
from math import prod
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from fabricstudy.core.model import ConfigError, Whole

from .base import LATENCY_DESCRIPTION, LinkClasses, Topology
from .graph import Machine
from .grid import GridBandwidths, GridLatencies, check_length, classes_in_turn, scalar_or_tuple, spread
from .requirements import MachineRequirements, halvings

MAX_LEVELS = 8
MAX_TAPER = 4
"""Largest ratio of children to parents of a candidate for the next machine."""
Count = Annotated[Whole, Field(ge=1, le=100_000)]


def members(down: tuple[int, ...], up: tuple[int, ...]) -> list[int]:
    """Return the number of routers of each level, leaves first.

    Examples
    --------
    >>> members((2, 2, 4), (2, 2))
    [8, 8, 4]
    """
    return [prod(down[level + 1 :]) * prod(up[:level]) for level in range(len(down))]


def build_tree(
    config: Topology, links: LinkClasses, down: tuple[int, ...], up: tuple[int, ...], parallel: tuple[int, ...]
) -> Machine:
    """Return a tree with rows by level; groups are the subtrees below the top, and the routers of the top."""
    count = members(down, up)
    first = np.cumsum([0, *count])
    tails, heads, above = [], [], 1
    for level, parents in enumerate(up):
        child = np.repeat(np.arange(count[level]), parents)
        subtree, index = np.divmod(child, above)
        above *= parents
        parent = np.tile(np.arange(parents), count[level])
        tails.append(first[level] + child)
        heads.append(first[level + 1] + subtree // down[level + 1] * above + index * parents + parent)
    rows = [len(part) for part in tails]
    groups = down[-1]
    inside = [np.repeat(np.arange(groups), routers // groups) for routers in count[:-1]]
    return config.assemble(
        [np.concatenate(tails), np.concatenate(heads)],
        np.repeat(np.arange(len(up)), rows),
        np.repeat(parallel, rows),
        links,
        node_router=np.repeat(np.arange(count[0], dtype=np.int32), down[0]),
        group=np.concatenate([*inside, np.full(count[-1], groups)]).astype(np.int32),
        level=np.repeat(np.arange(len(count), dtype=np.int32), count),
    )


def _tapered(
    wanted: MachineRequirements, levels: int, down: tuple[int, ...] = (), up: tuple[int, ...] = ()
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield trees whose routers below the top use half of their ports at least; the top has the fewest children."""
    nodes = prod(down)
    if len(down) == levels - 1:
        top = -(-wanted.least_nodes // nodes)
        if 2 <= top <= wanted.radix and nodes * top <= wanted.max_nodes:
            yield (*down, top), up
        return
    for children in range(2, min(wanted.radix, wanted.max_nodes // (2 * nodes) + 1)):
        for parents in sorted({-(-children // taper) for taper in range(1, MAX_TAPER + 1)}):
            if wanted.radix <= 2 * (children + parents) <= 2 * wanted.radix:
                yield from _tapered(wanted, levels, (*down, children), (*up, parents))


class XgftConfig(Topology, kind="xgft"):
    """Generalised fat tree (XGFT): any levels, children, parents and parallel cables (Öhring et al., 1995).

    With two levels it is a leaf-spine network; with fewer cables up than down it is tapered. The groups are the
    subtrees below the top, such as pods.
    """

    traits = frozenset({"groups", "levels"})

    down: Annotated[tuple[Count, ...], Field(min_length=2, max_length=MAX_LEVELS)] = Field(
        description="nodes per leaf, then children of a router of each higher level"
    )
    up: Annotated[tuple[Count, ...], Field(min_length=1, max_length=MAX_LEVELS - 1)] = Field(
        description="parents of a router of each level below the top, leaves first"
    )
    parallel: scalar_or_tuple(Count, "whole number", 1, "level") = Field(  # type: ignore[valid-type]
        (1,), description="parallel cables to each parent; one value, or one per level below the top"
    )
    bandwidth: GridBandwidths = Field(
        description="bandwidth of a cable in one direction; one value or one per class, from the leaves upwards"
    )
    latency: GridLatencies = Field(default_factory=GridLatencies, description=LATENCY_DESCRIPTION)

    @classmethod
    def configurations(cls, wanted: MachineRequirements) -> Iterator[dict[str, Any]]:
        # Two levels: all free ports of a leaf lead up, or a half, a quarter or an eighth of them.
        radix = wanted.radix
        for nodes in range(1, radix):
            for leaves in range(max(2, -(-wanted.least_nodes // nodes)), min(wanted.max_nodes // nodes, radix) + 1):
                for parallel in range(1, radix // leaves + 1):
                    for spines in halvings((radix - nodes) // parallel):
                        yield {"down": [nodes, leaves], "up": [spines], "parallel": parallel}
        # Routers that leave ports free, with up to three levels, or as many as the nodes need; each tapered by 1 to 4.
        levels = 3
        while radix * (radix // 2) ** (levels - 1) < wanted.least_nodes and levels < MAX_LEVELS:
            levels += 1
        for number in range(2, levels + 1):
            for down, up in _tapered(wanted, number):
                if number > 2 or up[0] not in halvings(radix - down[0]):
                    yield {"down": list(down), "up": list(up)}

    @property
    def routers(self) -> int:
        return sum(members(self.down, self.up))

    @property
    def nodes(self) -> int:
        return prod(self.down)

    @property
    def group_nodes(self) -> int:
        return prod(self.down[:-1])

    @property
    def cables_of_class(self) -> tuple[int, ...]:
        """Number of upward cables of each level."""
        upward = zip(members(self.down, self.up), self.up, spread(self.parallel, len(self.up)), strict=False)
        return tuple(prod(counts) for counts in upward)

    @property
    def cables(self) -> int:
        return sum(self.cables_of_class)

    @property
    def typical_hops(self) -> float:
        """Mean hops between leaves, equal ones included: twice the levels up to a common router."""
        leaves = prod(self.down[1:])
        below = [prod(self.down[1 : level + 1]) for level in range(len(self.down))]
        return sum(2.0 * (1 - leaves_below / leaves) for leaves_below in below[:-1])

    def _check(self) -> None:
        levels = len(self.down) - 1
        if len(self.up) != levels:
            problem = f"{len(self.up)} numbers of parents for {levels} levels below the top"
            raise ConfigError(problem, "write one per level below the top", ("up",), list(self.up), "out-of-range")
        check_length(self.parallel, levels, ("parallel",), "levels below the top")
        check_length(self.bandwidth.links_Bps, levels, ("bandwidth", "links"), "levels below the top")
        check_length(self.latency.links_ns, levels, ("latency", "links"), "levels below the top")

    def build(self) -> Machine:
        """Build the tree with the link classes "up1" from the leaves, "up2" from the level above, ..."""
        levels = len(self.up)
        names = (f"up{level}" for level in range(1, levels + 1))
        links = classes_in_turn(names, levels, self.bandwidth, self.latency)
        return build_tree(self, links, self.down, self.up, spread(self.parallel, levels))
