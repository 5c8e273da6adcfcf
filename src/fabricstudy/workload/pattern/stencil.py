"""Neighbours in a Cartesian grid of ranks."""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import Flag

from ..messages import IntArray
from .rank_grid import RankGrid
from .sends import Sends, one_phase


@register
class Stencil(RankGrid):
    """Each rank sends one message to both neighbours in each dimension of a Cartesian rank grid."""

    kind: Literal["stencil"] = "stencil"
    periodic: Flag = Field(False, description="whether the grid wraps around")

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations (upper estimate: every rank has all its neighbours)."""
        return 2.0 * self.dimensions * ranks * self.iterations

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        """Send once from each rank to both its neighbours in each dimension, all in one phase.

        Ranks stand in the grid in row-major order (the last dimension varies fastest, as in ``MPI_Cart_create``).
        Without `periodic` the ranks at the border have fewer neighbours. In a periodic dimension of length 2 both
        neighbours are the same rank, which gets two messages; a dimension of length 1 has no neighbours.
        """
        grid = np.arange(ranks, dtype=np.int32).reshape(self.grid(ranks))
        pairs = [_upward(grid, axis, self.periodic) for axis in range(grid.ndim)]
        lower = np.concatenate([pair[0] for pair in pairs])
        upper = np.concatenate([pair[1] for pair in pairs])
        return one_phase(np.concatenate([lower, upper]), np.concatenate([upper, lower]), self.iterations)


def _upward(grid: IntArray, axis: int, periodic: bool) -> tuple[IntArray, IntArray]:
    """Ranks with a neighbour at the next higher place along `axis`, and those neighbours."""
    length = grid.shape[axis]
    if length == 1:
        return grid[:0].reshape(-1), grid[:0].reshape(-1)
    if periodic:
        return grid.reshape(-1), np.roll(grid, -1, axis).reshape(-1)
    lower, upper = np.split(grid, [length - 1], axis)[0], np.split(grid, [1], axis)[1]
    return lower.reshape(-1), upper.reshape(-1)
