"""Swaps of two ranks at falling temperature."""

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Floats, Ints
from fabricstudy.core.model import Whole

from .base import Mapping, Refinement
from .random import RandomMapping
from .tasks import Slots, Tasks

CPU_S_OF_A_MOVE, CPU_S_OF_A_LOAD_MOVE = 1e-7, 1.5e-6
"""Per partner of the rank."""

LOWEST_START, HIGHEST_START, COLD = 1 / 10, 1.0, 1 / 100
"""Limits of the first temperature, and the last one, relative to the mean loss by swaps near partners at the start."""
HOT_LOAD, COLD_LOAD = 1 / 2000, 1 / 200_000
"""First and last temperature for link loads, relative to the sum at the start."""
SAMPLED_SWAPS = 4000
"""Random swaps from which the temperature of the start is measured."""


class AnnealingMapping(Refinement, kind="annealing"):
    """Simulated annealing by swaps of two ranks; never worse than the initial mapping.

    Seven of ten swaps are with a rank on or next to a partner's node, the others with any rank; the temperature falls
    geometrically (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983; for mapping Bhanot et al., IBM J. Research and
    Development 49(2/3), 2005). For hop-bytes it begins at the temperature of the start (`temperatures`), to preserve a
    good one. Good and slow: seconds for thousands of ranks, minutes for tens of thousands.
    """

    start: Mapping = Field(default_factory=RandomMapping, description="initial mapping")
    moves_per_task: Whole = Field(1000, ge=1, le=1_000_000, description="attempted swaps per rank")

    def predict_cpu_s(self, ranks: int, degree: float) -> float:
        move_cpu_s = CPU_S_OF_A_MOVE if self.objective == "hop-bytes" else CPU_S_OF_A_LOAD_MOVE
        return move_cpu_s * self.moves_per_task * ranks * (1 + degree) + self.start.predict_cpu_s(ranks, degree)

    def refine(self, core: Ints, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> None:
        # Imported here because numba loads slowly.
        from .kernels import anneal, anneal_link_load, mapping_state, near_changes, route_table

        state, moves = mapping_state(slots, tasks.graph, core), self.moves_per_task * slots.ranks
        draw_seed, seed = (int(seed) for seed in rng.integers(2**31, size=2))
        if self.objective == "link-load":
            anneal_link_load(state, route_table(slots.machine, self.routing.tie), moves, HOT_LOAD, COLD_LOAD, seed)
        else:
            anneal(state, moves, *temperatures(near_changes(state, SAMPLED_SWAPS, draw_seed)), seed)


def temperatures(changes: Floats) -> tuple[float, float]:
    """Return the first and the last temperature, from the changes in cost by random swaps at the start.

    A state is in equilibrium at the temperature at which the expected change of a swap is zero: gains, which are always
    accepted, balance losses, which are accepted with probability exp(-loss / temperature). A higher one undoes a good
    start, a lower one does not leave it (Rose, Klebsch and Wolf, Temperature measurement and equilibrium dynamics of
    simulated annealing placements, IEEE Trans. CAD 9(3), 1990). At a local optimum there are no gains, so that
    temperature is 0; for random mappings, no temperature balances gains and losses. The result is therefore limited to
    the range from a tenth of the mean loss to the mean loss.

    `changes` (float64 [draws]) are above 0 for losses; both temperatures are in their unit, and 0 without any loss.

    Examples
    --------
    Half of the swaps lose 10, and a quarter gain 2: exp(-10 / T) = 0.1.

    >>> hot, cold = temperatures(np.array([10.0, 10.0, -2.0, 0.0]))
    >>> bool(np.isclose(np.exp(-10 / hot), 0.1)), cold
    (True, 0.1)
    """
    loss, gain = changes[changes > 0], -changes[changes < 0].sum()
    if not len(loss):
        return 0.0, 0.0
    low, high = LOWEST_START * loss.mean(), HIGHEST_START * loss.mean()
    for _ in range(60):
        middle = (low * high) ** 0.5
        drift = loss @ np.exp(-loss / middle) - gain
        low, high = (middle, high) if drift < 0 else (low, middle)
    return float(low), float(COLD * loss.mean())
