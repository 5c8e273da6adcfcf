"""Slim Fly: the graphs of McKay, Miller and Siran of diameter 2.

Router `(s q + x) q + y` is element y of group x on side s, for elements x, y of the field of q elements and s in
0, 1. With sets X, X' of elements, closed under negation,

* (0, x, y) is joined to (0, x, y') if y - y' is in X;
* (1, m, c) is joined to (1, m, c') if c - c' is in X';
* (0, x, y) is joined to (1, m, c) if y = m x + c.

With a primitive element e and q = 4 w + delta:

* delta = 1: X is the even powers of e (the squares), X' the odd ones;
* delta = -1: X = {1, e^2, .., e^(2w-2), e^(2w-1), e^(2w+1), .., e^(4w-3)}, X' = e X;
* delta = 0: X = {1, e^2, .., e^(q-2)}, X' = e X; both hold 1.

Each router has (3 q - delta) / 2 cables; two that are not joined have a common neighbour, so the diameter is 2
and the mean distance of N = 2 q^2 routers of degree d is 2 - d / (N - 1).

References
----------
McKay, Miller, Siran: A note on large graphs of diameter two and given maximum degree. J. Combin. Theory B 74, 1998.
Hafner: Geometric realisation of the graphs of McKay-Miller-Siran. J. Combin. Theory B 90, 2004,
doi:10.1016/j.jctb.2003.07.002.
Besta, Hoefler: Slim Fly: a cost effective low-diameter network topology. SC 2014, doi:10.1109/SC.2014.34.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Ints
from fabricstudy.core.model import Whole

from .base import LATENCY_DESCRIPTION, ClassBandwidths, ClassLatencies, NodesPerRouter, Topology, link_classes
from .finite_field import GaloisField, check_prime_power, galois_field_of_order, prime_of
from .graph import Machine
from .requirements import MachineRequirements

LOCAL, GLOBAL = 0, 1


def generator_sets(elements: GaloisField, delta: int) -> tuple[Ints, Ints]:
    """Return the generator sets X and X': differences within the groups of each side."""
    q = len(elements.plus)
    if delta == -1:
        w = (q + 1) // 4
        exponents = np.concatenate([np.arange(0, 2 * w - 1, 2), np.arange(2 * w - 1, 4 * w - 2, 2)])
    else:
        exponents = np.arange(0, q - 1, 2)
    return elements.powers[exponents], elements.powers[(exponents + 1) % (q - 1)]


def _local(elements: GaloisField, members: Ints, side: int) -> Ints:
    """Return the router pairs within the groups of a side, [cables, 2]."""
    q = len(elements.plus)
    low = np.repeat(np.arange(q), len(members))
    high = elements.plus[low, np.tile(members, q)]
    once = low < high
    first_router = (side * q + np.arange(q)) * q
    pairs = np.stack([low[once], high[once]], axis=1)
    return (first_router[:, None, None] + pairs[None]).reshape(-1, 2)


def delta_of(q: int) -> int:
    """Return delta, -1, 0 or 1, of a prime power q = 4 w + delta above 2.

    Examples
    --------
    >>> delta_of(7), delta_of(8), delta_of(9)
    (-1, 0, 1)
    """
    return (q + 1) % 4 - 1


def router_degree(q: int) -> int:
    """Return the number of cables per router in the Slim Fly of a prime power q."""
    return (3 * q - delta_of(q)) // 2


class SlimFlyConfig(Topology, kind="slim-fly"):
    """Slim Fly: McKay-Miller-Siran graphs of diameter 2, near the Moore bound (Besta and Hoefler, SC 2014).

    Two sides of q groups of q routers; a router is joined to half the routers of its group and to one of each group
    of the other side.
    """

    traits = frozenset({"groups"})

    q: Whole = Field(ge=3, le=1_000, description="a prime power: 3, 4, 5, 7, 8, 9, 11, ...; there are 2 q^2 routers")
    nodes_per_router: NodesPerRouter
    bandwidth: ClassBandwidths = Field(description="bandwidth of a cable in one direction; one value or one per class")
    latency: ClassLatencies = Field(default_factory=ClassLatencies, description=LATENCY_DESCRIPTION)

    @classmethod
    def configurations(cls, wanted: MachineRequirements) -> Iterator[dict[str, Any]]:
        for q in filter(prime_of, range(3, wanted.radix)):
            for nodes in wanted.shares(2 * q * q, wanted.radix - router_degree(q)):
                yield {"q": q, "nodes_per_router": nodes}

    @property
    def delta(self) -> int:
        """The number -1, 0 or 1 for which q = 4 w + delta."""
        return delta_of(self.q)

    @property
    def degree(self) -> int:
        """Cables per router."""
        return router_degree(self.q)

    @property
    def routers(self) -> int:
        return 2 * self.q**2

    @property
    def nodes(self) -> int:
        return self.routers * self.nodes_per_router

    @property
    def group_nodes(self) -> int:
        return self.q * self.nodes_per_router

    @property
    def cables(self) -> int:
        return self.routers * self.degree // 2

    def _check(self) -> None:
        check_prime_power(self.q)

    def build(self) -> Machine:
        """Build a Slim Fly with the link classes "local" (within a group) and "global", local rows first."""
        q = self.q
        elements = galois_field_of_order(q)
        sets = generator_sets(elements, self.delta)
        local = np.concatenate([_local(elements, members, side) for side, members in enumerate(sets)])
        x, m, c = np.indices((q, q, q)).reshape(3, -1)
        y = elements.plus[elements.times[m, x], c]
        across = np.stack([x * q + y, (q + m) * q + c], axis=1)
        ends, kinds = np.concatenate([local, across]).T, np.repeat([0, 1], [len(local), len(across)])
        group = np.arange(self.routers, dtype=np.int32) // q
        return self.assemble(ends, kinds, 1, link_classes(self.bandwidth, self.latency), group=group)
