"""Free nodes nearly in order: some pairs of nodes are swapped."""

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Integers
from fabricstudy.core.model import Number

from .base import Allocation, Grant, Request


class SwappedCluster(Allocation, kind="swapped-cluster"):
    """The first free nodes in an order in which pairs of nodes are swapped (Jain et al., IPDPS 2017).

    All jobs of a point see the same order, so that jobs that fill the machine exchange nodes.
    """

    swaps: Number = Field(
        0.05,
        ge=0,
        le=10,
        description="pairs of nodes swapped, one after another and the same for all jobs, as a share of the machine's "
        "nodes; 0.05 displaces 9.5 % of the nodes",
    )

    def allocate(self, request: Request) -> Grant:
        order = swapped(request.machine.nodes, self.swaps, request.common_rng)
        return Grant(order[request.free[order]][: request.wanted])


def swapped(nodes: int, share: float, rng: np.random.Generator) -> Integers:
    """Return the node numbers after ``share * nodes`` swaps of random pairs, one after another.

    Examples
    --------
    >>> order = swapped(10_000, 0.05, np.random.default_rng(1))
    >>> int(np.count_nonzero(order != np.arange(10_000)))
    958
    """
    order = np.arange(nodes)
    for pair in rng.integers(nodes, size=(round(share * nodes), 2)):
        order[pair] = order[pair[::-1]]
    return order
