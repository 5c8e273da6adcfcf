"""Base of patterns with random partners, drawn once for all iterations."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from fabricstudy.core.arrays import Int32s
from fabricstudy.core.model import ConfigError, Whole

from .base import MessagePattern
from .sends import Sends, one_phase

Degree = Annotated[Whole, Field(ge=1, le=100_000)]


class RandomPartners(MessagePattern):
    """Base of patterns whose ranks draw partners once, for all iterations."""

    degree: tuple[Degree, Degree] = Field(
        (6, 20), description="minimum and maximum number of partners of a rank, drawn uniformly"
    )

    @model_validator(mode="after")
    def _degree_ascends(self) -> RandomPartners:
        if self.degree[0] > self.degree[1]:
            problem = "the minimum is above the maximum"
            raise ConfigError(problem, "write [minimum, maximum]", ("degree",), list(self.degree), "out-of-range")
        return self

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
