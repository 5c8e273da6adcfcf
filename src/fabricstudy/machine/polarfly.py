"""PolarFly: the polarity graphs of Erdős and Rényi, of diameter 2.

The routers are the q^2 + q + 1 points of the projective plane over the field of q elements, represented by vectors
whose first non-zero element is 1, in lexical order: (0, 0, 1), (0, 1, z), (1, y, z). Two routers are joined if the dot
product of their vectors is 0. The q + 1 self-orthogonal routers, the *quadrics*, have q cables, all others q + 1; the
total is q (q + 1)^2 / 2. Two lines of the plane meet in one point, so routers that are not joined have one common
neighbour: the diameter is 2.

References
----------
Erdős, Rényi: On a problem in the theory of graphs. Publ. Math. Inst. Hungar. Acad. Sci. 7A, 1962.
Brown: On graphs that do not contain a Thomsen graph. Canad. Math. Bull. 9, 1966, doi:10.4153/CMB-1966-036-2.
Lakhotia, Besta, Monroe, Isham, Iff, Hoefler, Petrini: PolarFly: a cost-effective and flexible low-diameter topology.
SC 2022, arXiv:2208.01695.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Ints
from fabricstudy.core.model import Whole

from .base import UniformTopology
from .finite_field import check_prime_power, galois_field_of_order, prime_of
from .requirements import MachineRequirements

ROWS_AT_ONCE = 1024
"""Limits the memory of the dot products."""


def points(q: int) -> Ints:
    """Return the points of the projective plane, int64 [points, 3].

    Examples
    --------
    >>> points(2).tolist()
    [[0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]]
    """
    y, z = np.indices((q, q)).reshape(2, -1)
    zero, one = np.zeros_like(z), np.ones_like(z)
    line = np.stack([zero[:q], one[:q], np.arange(q)], axis=1)
    return np.concatenate([np.array([[0, 0, 1]]), line, np.stack([one, y, z], axis=1)])


def polar_pairs(q: int) -> tuple[Ints, Ints]:
    """Return the routers at both ends of each cable, the lower one first."""
    elements, vectors = galois_field_of_order(q), points(q)
    tails, heads = [], []
    for start in range(0, len(vectors), ROWS_AT_ONCE):
        block = vectors[start : start + ROWS_AT_ONCE, None]
        first, second, third = (elements.times[block[..., k], vectors[None, :, k]] for k in range(3))
        tail, head = np.nonzero(elements.plus[elements.plus[first, second], third] == 0)
        once = start + tail < head
        tails.append(start + tail[once])
        heads.append(head[once])
    return np.concatenate(tails), np.concatenate(heads)


class PolarFlyConfig(UniformTopology, kind="polarfly"):
    """PolarFly: polarity graphs of diameter 2, near the Moore bound (Lakhotia et al., SC 2022)."""

    q: Whole = Field(
        ge=2, le=256, description="a prime power: 2, 3, 4, 5, 7, 8, ...; q^2 + q + 1 routers of q or q + 1 cables"
    )

    @classmethod
    def configurations(cls, wanted: MachineRequirements) -> Iterator[dict[str, Any]]:
        for q in filter(prime_of, range(2, wanted.radix - 1)):
            for nodes in wanted.shares(q * q + q + 1, wanted.radix - q - 1):
                yield {"q": q, "nodes_per_router": nodes}

    @property
    def routers(self) -> int:
        return self.q**2 + self.q + 1

    @property
    def cables(self) -> int:
        return self.q * (self.q + 1) ** 2 // 2

    @property
    def typical_hops(self) -> float:
        """Mean hops between distinct routers: 1 if joined, else 2."""
        return 2 - 2 * self.cables / (self.routers * (self.routers - 1))

    def _check(self) -> None:
        check_prime_power(self.q)

    def pairs(self) -> tuple[Ints, Ints]:
        return polar_pairs(self.q)
