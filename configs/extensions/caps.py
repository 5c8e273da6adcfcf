"""CAPS, a parallel Strassen algorithm: the traffic of its breadth-first steps, and checks of its runs."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from fabricstudy.analysis.base import Analysis, Row
from fabricstudy.core.model import ConfigError, Model, Whole
from fabricstudy.core.quantities import Size
from fabricstudy.workload.pattern.base import (
    MessagePattern,
    Sends,
    TrafficEstimate,
    all_to_all_along,
    concatenate_phases,
)


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


def _facts(run: CapsRun) -> Row:
    factor, power = run.ranks, 0  # ranks = factor * 7**power
    while factor % 7 == 0:
        factor, power = factor // 7, power + 1
    return {
        "factor": factor, "power": power, "ranks_fit": int(factor <= 6),
        "dimension_fits": int(run.dimension % (factor * 7 ** (-(-power // 2))) == 0),
        "ranks_per_node": run.ranks / run.nodes,
        "memory_bytes": None if run.steps is None else 3 * (7 / 4) ** run.steps * 8 * run.dimension**2,
    }  # fmt: skip


class CapsRun(Model):
    """One run."""

    ranks: Whole = Field(ge=1, le=10**9, description="MPI ranks")
    nodes: Whole = Field(ge=1, le=10**9, description="nodes that they run on")
    dimension: Whole = Field(ge=1, le=10**9, description="rows of the square matrices (n)")
    steps: Whole | None = Field(None, ge=0, le=20, description="breadth-first steps, for `memory_bytes`")


class Caps(Analysis, kind="caps"):
    """Check of runs of CAPS: they need f 7^k ranks, 1 <= f <= 6, and a dimension divisible by f 7^ceil(k / 2).

    (Ballard et al., SPAA 2012; the dimension is also divisible by 2 for each recursive step.) The columns:

    * `run`: label of the row
    * `factor`, `power`: f, and the largest k
    * `ranks_fit`, `dimension_fits`: 1 or 0
    * `ranks_per_node`
    * `memory_bytes`: three matrices of 8-byte numbers, 7/4 as large after each breadth-first step
    """

    keys = ("run",)
    numbers = (
        "factor", "power", "ranks_fit", "dimension_fits", "ranks_per_node", "memory_bytes",
    )  # fmt: skip

    runs: dict[str, CapsRun] = Field(min_length=1, max_length=1000, description="{label: run}")

    def rows(self) -> list[Row]:
        return [{"run": label, **_facts(run)} for label, run in self.runs.items()]
