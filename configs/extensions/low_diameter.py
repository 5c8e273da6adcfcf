"""Patterns of a study of low-diameter networks (Jain et al., IPDPS 2017)."""

from typing import Annotated

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Int32s
from fabricstudy.core.model import ConfigError, Whole, model_check
from fabricstudy.workload.pattern.base import (
    MessagePattern,
    Sends,
    TrafficEstimate,
    all_to_all_along,
    concatenate_phases,
    one_phase,
)
from fabricstudy.workload.pattern.stencil import RankGrid

Degree = Annotated[Whole, Field(ge=1, le=100_000)]


class RandomPartners(MessagePattern):
    """Base of patterns whose ranks draw partners once, for all iterations."""

    degree: tuple[Degree, Degree] = Field(
        (6, 20), description="minimum and maximum number of partners of a rank, drawn uniformly"
    )

    @model_check
    def _degree_ascends(self) -> None:
        if self.degree[0] > self.degree[1]:
            problem = "the minimum is above the maximum"
            raise ConfigError(problem, "write [minimum, maximum]", ("degree",), list(self.degree), "out-of-range")

    def traffic_messages(self, ranks: int) -> float:
        """Return the mean number of messages in all iterations."""
        return ranks * sum(self.degree) / 2 * self.iterations

    def draw(self, source: Int32s, ranks: int, rng: np.random.Generator) -> Int32s:
        """Draw a partner for each of `source`; `sends` redraws partners equal to their source."""
        raise NotImplementedError

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        least, most = self.degree
        source = np.repeat(np.arange(ranks, dtype=np.int32), rng.integers(least, most + 1, size=ranks))
        partner = self.draw(source, ranks, rng)
        while len(to_self := np.flatnonzero(partner == source)):
            partner[to_self] = self.draw(source[to_self], ranks, rng)
        return one_phase(source, partner, self.iterations)


class SpreadPattern(RandomPartners, kind="spread"):
    """Each rank sends to partners drawn from the next `neighbourhood` ranks (Jain et al., IPDPS 2017).

    A partner drawn twice receives two messages. The source does not state `degree` and `neighbourhood`.
    """

    neighbourhood: Whole | None = Field(
        None, ge=1, description="maximum distance of partners in ranks, cyclically; default: all ranks"
    )

    def draw(self, source: Int32s, ranks: int, rng: np.random.Generator) -> Int32s:
        reach = min(self.neighbourhood or ranks - 1, ranks - 1)
        return ((source + rng.integers(1, reach + 1, size=len(source))) % ranks).astype(np.int32)


class UnstructuredMesh(RankGrid, RandomPartners, kind="unstructured-mesh"):
    """Each rank sends to partners drawn from its neighbourhood in a periodic rank grid (Jain et al., IPDPS 2017).

    A partner drawn twice receives two messages. The source does not state `degree` and `neighbourhood`.
    """

    neighbourhood: Whole = Field(2, ge=1, description="maximum distance of partners in each dimension")

    def draw(self, source: Int32s, ranks: int, rng: np.random.Generator) -> Int32s:
        shape, reach = self.grid(ranks), self.neighbourhood
        steps = rng.integers(-reach, reach + 1, size=(len(shape), len(source)))
        coordinates = tuple(np.array(np.unravel_index(source, shape)) + steps)
        partner: Int32s = np.ravel_multi_index(coordinates, shape, mode="wrap").astype(np.int32)
        return partner


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
