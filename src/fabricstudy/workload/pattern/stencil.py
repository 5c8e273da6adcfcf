"""Neighbours in a Cartesian grid of ranks."""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import Flag

from .rank_grid import RankGrid
from .sends import Sends, both_ways


@register
class Stencil(RankGrid):
    """Each rank sends one message to both neighbours in each dimension of a Cartesian rank grid, all in one phase.

    Ranks are in row-major order, as in ``MPI_Cart_create``. In a periodic dimension of length 2 both neighbours are the
    same rank, which receives two messages.
    """

    kind: Literal["stencil"] = "stencil"
    periodic: Flag = Field(False, description="wrap the grid around in each dimension")

    def traffic_messages(self, ranks: int) -> float:
        """Return the messages in all iterations; an upper estimate, as if every rank had all its neighbours."""
        return 2.0 * self.dimensions * ranks * self.iterations

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        grid = np.arange(ranks, dtype=np.int32).reshape(self.grid(ranks))
        lower, upper = [], []
        for axis, length in enumerate(grid.shape):
            links = range(length if self.periodic and length > 1 else length - 1)
            lower.append(grid.take(links, axis).ravel())
            upper.append(np.roll(grid, -1, axis).take(links, axis).ravel())
        return both_ways(np.concatenate(lower), np.concatenate(upper), self.iterations)
