"""Random partners, drawn once for all iterations."""

from __future__ import annotations

from collections.abc import Callable
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
            raise ConfigError(
                "the least is above the most", "write [least, most]", ("degree",), list(self.degree), "empty-range"
            )
        return self

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations, on average."""
        return ranks * sum(self.degree) / 2 * self.iterations


Draw = Callable[[IntArray, np.random.Generator], IntArray]


def sends_to_partners(config: RandomPartners, ranks: int, rng: np.random.Generator, draw: Draw) -> Sends:
    """Send once from each rank to each of its partners, in one phase an iteration.

    How many partners a rank has is drawn from the study's `degree`. `draw` gives a partner for each rank of an
    array; where that is the rank itself, it is asked again.
    """
    least, most = config.degree
    source = np.repeat(np.arange(ranks, dtype=np.int32), rng.integers(least, most + 1, size=ranks))
    partner = draw(source, rng)
    while len(to_self := np.flatnonzero(partner == source)):
        partner[to_self] = draw(source[to_self], rng)
    return one_phase(source, partner, config.iterations)
