"""Breadth-first steps of Strassen's matrix multiplication."""

import numpy as np
from pydantic import Field

from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.core.quantities import Size

from .base import MessagePattern, Sends, TrafficEstimate, all_to_all_along, concatenate_phases


class StrassenBfs(MessagePattern, kind="strassen-bfs"):
    """The traffic of the breadth-first steps of CAPS (Ballard, Demmel, Holtz, Lipshitz and Schwartz, SPAA 2012).

    In each step each set of cooperating ranks splits into 7 groups of consecutive ranks, and each rank exchanges with
    its 6 counterparts in the others: factors on the way down, each step 7/4 times as much as the previous, and products
    on the way up, half as much. An iteration has 2 `steps` phases.
    """

    message_bytes: Size = Field(alias="message", description="size of a message in the first step")
    steps: Whole = Field(1, ge=1, le=10, description="breadth-first steps; the ranks are a multiple of 7 to this power")

    def step_bytes(self, step: int) -> tuple[int, int]:
        """Return the size of a message with factors, and with products, in a step (from 0)."""
        factors = int(self.message_bytes) * 7**step / 4**step
        return max(1, round(factors)), max(1, round(factors / 2))

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        messages = 6.0 * ranks * self.iterations
        return tuple(TrafficEstimate(messages, size) for step in range(self.steps) for size in self.step_bytes(step))

    def check_ranks(self, ranks: int) -> None:
        if ranks % 7**self.steps:
            problem = f"{self.steps} steps need a multiple of {7**self.steps} ranks, not {ranks}"
            remedy = "change the job's size, or use fewer steps"
            raise ConfigError(problem, remedy, ("steps",), self.steps, "does-not-fit")

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        down, up = [], []
        for step in range(self.steps):
            # The 7^step sets of cooperating ranks.
            sets = np.arange(ranks, dtype=np.int32).reshape(7**step, 7, -1)
            factors, products = self.step_bytes(step)
            down.append(all_to_all_along(sets, 1, factors))
            up.append(all_to_all_along(sets, 1, products))
        return concatenate_phases(down + up[::-1], self.iterations)
