"""All-to-alls within the lines of a grid of ranks."""

import numpy as np

from .base import Sends, TrafficEstimate, all_to_all_along, concatenate_phases
from .stencil import RankGrid


class SubAllToAll(RankGrid, kind="sub-all-to-all"):
    """All-to-alls along the lines of a rank grid: one phase per dimension longer than 1, the last dimension first.

    As in multi-dimensional FFTs; ``MPI_Alltoall`` in sub-communicators (Jain et al., IPDPS 2017).
    """

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        lines = [length for length in self.grid(ranks) if length > 1]
        messages = float(ranks) * sum(length - 1 for length in lines) * self.iterations
        return (TrafficEstimate(messages, int(self.message_bytes), max(1, len(lines))),)

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        grid = np.arange(ranks, dtype=np.int32).reshape(self.grid(ranks))
        axes = [axis for axis in reversed(range(grid.ndim)) if grid.shape[axis] > 1]
        return concatenate_phases([all_to_all_along(grid, axis) for axis in axes], self.iterations)
