"""Random partners, drawn once for all iterations."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from fabricstudy.core.model import ConfigError, Whole

from ..messages import IntArray
from .base import MessagePattern
from .sends import Sends, one_phase

Degree = Annotated[Whole, Field(ge=1, le=100_000)]


class RandomPartners(MessagePattern):
    """What the patterns have whose ranks draw partners once, for all iterations."""

    degree: tuple[Degree, Degree] = Field(
        (6, 20), description="least and most partners of a rank, drawn for each with equal chance"
    )

    @model_validator(mode="after")
    def _degree_ascends(self) -> RandomPartners:
        if self.degree[0] > self.degree[1]:
            problem = "the least is above the most"
            raise ConfigError(problem, "write [least, most]", ("degree",), list(self.degree), "out-of-range")
        return self

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations, on average."""
        return ranks * sum(self.degree) / 2 * self.iterations

    def draw(self, source: IntArray, ranks: int, rng: np.random.Generator) -> IntArray:
        """Draw a partner for each of `source`; where that is the rank itself, it is drawn again."""
        raise NotImplementedError

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        """Send once from each rank to each of its partners, as many as drawn from `degree`, in one phase."""
        least, most = self.degree
        source = np.repeat(np.arange(ranks, dtype=np.int32), rng.integers(least, most + 1, size=ranks))
        partner = self.draw(source, ranks, rng)
        while len(to_self := np.flatnonzero(partner == source)):
            partner[to_self] = self.draw(source[to_self], ranks, rng)
        return one_phase(source, partner, self.iterations)
