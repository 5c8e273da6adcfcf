"""Free nodes nearly in order: pairs of nodes have swapped places."""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import Number

from ..messages import Indices
from .base import Allocation
from .request import Grant, Request


@register
class SwappedCluster(Allocation):
    """The first free nodes in an order in which pairs of nodes have swapped places (Jain et al., IPDPS 2017)."""

    kind: Literal["swapped-cluster"] = "swapped-cluster"
    swaps: Number = Field(
        0.05,
        ge=0,
        le=10,
        description="pairs of nodes drawn, as a share of the machine's nodes, one after the other and the same for "
        "all jobs; 0.05 displaces 9.5 % of the nodes",
    )

    def allocate(self, request: Request) -> Grant:
        """Take the first free nodes in an order in which pairs of nodes have swapped places.

        All jobs of a point see the same order, so that with as many nodes as the machine has, jobs exchange nodes.
        """
        order = swapped(request.machine.nodes, self.swaps, request.common_rng)
        return Grant(order[request.free[order]][: request.wanted])


def swapped(nodes: int, share: float, rng: np.random.Generator) -> Indices:
    """Number the nodes in order, then draw ``share * nodes`` pairs one after the other and swap their places.

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
