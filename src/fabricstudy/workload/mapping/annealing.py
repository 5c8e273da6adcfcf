"""Swaps of two ranks at falling temperature."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.kinds import register
from fabricstudy.model import Whole

from ..messages import Indices
from .base import Mapping, Refinement
from .random import RandomMapping
from .slots import Slots
from .tasks import Tasks

CPU_S_OF_A_MOVE, CPU_S_OF_A_LOAD_MOVE = 1e-7, 1.5e-6
"""For a partner of the rank."""

HOT, COLD = 1 / 2, 1 / 200
"""First and last temperature, as shares of the mean change by random swaps (for link loads: of the sum, by 1000)."""


@register
class AnnealingMapping(Refinement):
    """Swaps of two ranks at falling temperature: losses pass at first, ever fewer later; never worse than its start.

    Seven of ten swaps are with a rank on or next to a partner's node, the others with any; the temperature falls
    geometrically (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983; for mapping Bhanot et al., IBM J. Research and
    Development 49(2/3), 2005). Good and slow: seconds for thousands of ranks, minutes for tens of thousands.
    """

    kind: Literal["annealing"] = "annealing"
    start: Mapping = Field(default_factory=RandomMapping, description="the mapping that is bettered")
    moves_per_task: Whole = Field(1000, ge=1, le=1_000_000, description="swaps tried for each rank")

    @property
    def first(self) -> Mapping:
        """The mapping that is bettered."""
        return self.start

    def predict_cpu_s(self, ranks: int, degree: float) -> float:
        """Predict the CPU seconds, those of the start included."""
        of_move = CPU_S_OF_A_MOVE if self.objective == "hop-bytes" else CPU_S_OF_A_LOAD_MOVE
        return of_move * self.moves_per_task * ranks * (1 + degree) + self.start.predict_cpu_s(ranks, degree)

    def warm_up(self) -> None:
        """Load the compiled loops."""
        from .ground import warm_up

        warm_up()

    def by_traffic(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> Indices:
        """Better the start."""
        # Loads numba, which planning does without.
        from .ground import ground_of, plain, tasks_of, ways_of
        from .kernels import anneal, mean_change, swap_loads

        seat = np.array(self.start.map_ranks(slots, tasks, rng), dtype=np.int64)
        graph, ground, task = plain(tasks.graph), ground_of(slots), tasks_of(seat)
        moves, seeds = self.moves_per_task * slots.ranks, [int(seed) for seed in rng.integers(2**31, size=2)]
        if self.objective == "link-load":
            ways = ways_of(slots.machine, self.routing.tie)
            swap_loads(graph, ground, ways, seat, task, moves, HOT / 1000, COLD / 1000, seeds[1])
        else:
            change = mean_change(graph, ground, seat, task, seeds[0])
            anneal(graph, ground, seat, task, moves, HOT * change, COLD * change, seeds[1])
        return seat
