"""Jellyfish: a random regular graph.

All cable ends are shuffled and joined in pairs. A self-loop or duplicate cable swaps an end with a random cable for
which both become valid. Graphs that are not connected are redrawn. For a dense graph the complement is drawn. The same
seed yields the same graph.

References
----------
Singla, Hong, Popa, Godfrey: Jellyfish: networking data centers randomly. NSDI 2012.
Bollobás: A probabilistic proof of an asymptotic formula for the number of labelled regular graphs. European J.
Combinatorics 1, 1980, doi:10.1016/S0195-6698(80)80030-8.
"""

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Ints
from fabricstudy.core.model import ConfigError, Whole

from .base import UniformTopology
from .requirements import MachineRequirements
from .search import component_labels

MAX_SWAPS_OF_CABLE = 1000
"""Swaps attempted for one cable before the graph is redrawn."""


def random_regular(routers: int, degree: int, seed: int) -> tuple[Ints, Ints]:
    """Return the ends of the cables of a random connected simple graph, the lower router first.

    Examples
    --------
    >>> tail, head = random_regular(6, 3, seed=1)
    >>> np.bincount(np.concatenate([tail, head])).tolist()
    [3, 3, 3, 3, 3, 3]
    """
    rng = np.random.default_rng(seed)
    if 2 * degree >= routers:
        # Swaps would rarely find an unjoined pair; the complement is equally random.
        joined = np.triu(np.ones((routers, routers), dtype=np.bool_), k=1)
        joined[_simple(routers, routers - 1 - degree, rng)] = False
        tail, head = np.nonzero(joined)
        return tail, head
    while True:
        tail, head = _simple(routers, degree, rng)
        if not component_labels(tail, head, routers).any():
            return tail, head


def _simple(routers: int, degree: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Draw a simple graph; return cables sorted by their ends."""
    while True:
        ends: list[list[int]] = rng.permutation(np.repeat(np.arange(routers), degree)).reshape(-1, 2).tolist()
        if _repair(ends, routers, rng):
            low, high = np.sort(np.array(ends, dtype=np.int64).reshape(-1, 2), axis=1).T
            tail, head = np.divmod(np.sort(low * routers + high), routers)
            return tail, head


def _repair(ends: list[list[int]], routers: int, rng: np.random.Generator) -> bool:
    """Swap ends until the graph is simple; return False if `MAX_SWAPS_OF_CABLE` swaps did not suffice for a cable."""

    def key(tail: int, head: int) -> int:
        return min(tail, head) * routers + max(tail, head)

    joined = Counter(itertools.starmap(key, ends))
    for cable in ends:
        tries = 0
        while cable[0] == cable[1] or joined[key(*cable)] > 1:
            if tries == MAX_SWAPS_OF_CABLE:
                return False
            tries += 1
            partner = ends[int(rng.integers(len(ends)))]
            new = key(cable[0], partner[1]), key(partner[0], cable[1])
            is_loop = cable[0] == partner[1] or partner[0] == cable[1]
            if is_loop or new[0] == new[1] or joined[new[0]] or joined[new[1]]:
                continue
            joined.subtract([key(*cable), key(*partner)])
            joined.update(new)
            cable[1], partner[1] = partner[1], cable[1]
    return True


class JellyfishConfig(UniformTopology, kind="jellyfish"):
    """Jellyfish: a connected random regular graph (Singla et al., NSDI 2012)."""

    routers_total: Whole = Field(ge=4, le=1_000_000, alias="routers", description="routers (N)")
    degree: Whole = Field(ge=3, le=10_000, description="cables per router (r), fewer than routers")
    graph_seed: Whole = Field(1, ge=0, le=2**31 - 1, description="seed of the random graph")

    @classmethod
    def configurations(cls, wanted: MachineRequirements) -> Iterator[dict[str, Any]]:
        # The smallest graph for each number of nodes per router, with at most one unused port.
        for nodes in range(1, wanted.radix - 2):
            degree = wanted.radix - nodes
            routers = max(-(-wanted.least_nodes // nodes), degree + 1)
            if routers * nodes <= wanted.max_nodes and degree - routers * degree % 2 >= 3:
                yield {"routers": routers, "degree": degree - routers * degree % 2, "nodes_per_router": nodes}

    @property
    def routers(self) -> int:
        return self.routers_total

    @property
    def cables(self) -> int:
        return self.routers * self.degree // 2

    def _check(self) -> None:
        if self.degree >= self.routers:
            remedy = f"use at most {self.routers - 1}"
            problem = f"{self.routers} routers are too few for {self.degree} neighbours"
            raise ConfigError(problem, remedy, ("degree",), self.degree, "invalid-machine")
        if self.routers * self.degree % 2:
            problem = f"{self.routers} routers of {self.degree} cables have an odd number of cable ends"
            raise ConfigError(problem, "make one of them even", ("degree",), self.degree, "invalid-machine")

    def pairs(self) -> tuple[Ints, Ints]:
        return random_regular(self.routers, self.degree, self.graph_seed)
