"""Breadth-first steps of Strassen's multiplication."""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.core.quantities import Size

from .base import MessagePattern, TrafficEstimate
from .sends import Sends, all_to_all_along, concatenate_phases


@register
class StrassenBfs(MessagePattern):
    """What CAPS sends in its breadth-first steps (Ballard, Demmel, Holtz, Lipshitz and Schwartz, SPAA 2012).

    In each step the ranks that work together are split into 7 groups and each exchanges with its 6 counterparts in
    the others: going down factors, each step 7/4 times as much as the one before, and coming back products, half as
    much. So an iteration has 2 `steps` phases. Groups hold consecutive ranks.
    """

    kind: Literal["strassen-bfs"] = "strassen-bfs"
    message_bytes: Size = Field(alias="message", description="size of a message in the first step")
    steps: Whole = Field(1, ge=1, le=10, description="breadth-first steps; the ranks are a multiple of 7 to this power")

    def step_bytes(self, step: int) -> tuple[int, int]:
        """Size of a message with factors, and of one with products, in a step (counted from 0)."""
        factors = int(self.message_bytes) * 7**step / 4**step
        return max(1, round(factors)), max(1, round(factors / 2))

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        messages = 6.0 * ranks * self.iterations
        return tuple(TrafficEstimate(messages, size) for step in range(self.steps) for size in self.step_bytes(step))

    def check_ranks(self, ranks: int) -> None:
        """Refuse a number of ranks that is no multiple of 7 to the power of the steps."""
        if ranks % 7**self.steps:
            problem = f"{self.steps} steps need a multiple of {7**self.steps} ranks and get {ranks}"
            remedy = "change the job's size, or take fewer steps"
            raise ConfigError(problem, remedy, ("steps",), self.steps, "does-not-fit")

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        """Send in each step once from each rank to its counterparts in the other 6 groups, down and then up again."""
        down, up = [], []
        for step in range(self.steps):
            # The 7^step sets of ranks that work together.
            sets = np.arange(ranks, dtype=np.int32).reshape(7**step, 7, -1)
            factors, products = self.step_bytes(step)
            down.append(all_to_all_along(sets, 1, factors))
            up.append(all_to_all_along(sets, 1, products))
        return concatenate_phases(down + up[::-1], self.iterations)
