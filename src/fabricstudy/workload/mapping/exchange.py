"""Local search by swaps of two ranks."""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Ints
from fabricstudy.core.model import Whole

from .base import Mapping, Refinement
from .greedy import GreedyMapping
from .tasks import Slots, Tasks

CPU_S_OF_A_PARTNER, CPU_S_OF_A_PAIR, CPU_S_OF_A_TRY = 2e-6, 1e-7, 1.5e-6
"""For hop-bytes near and all, and for link loads; each per partner of the rank."""


class ExchangeMapping(Refinement, kind="exchange"):
    """Local search: swaps of two ranks until no swap improves the objective.

    With `neighbourhood: near` a rank is swapped with the best rank on or next to its partners' nodes; with `all` with
    the best of all ranks, which takes 50 times as long and gains little (Bokhari: On the mapping problem, IEEE
    Trans. Computers C-30(3), 1981). For link loads, swaps are drawn at random, `tries` per rank, as in the
    refinement of congestion by Deveci, Kaya, Uçar and Çatalyürek (Fast and high quality topology-aware task mapping,
    IPDPS 2015).
    """

    start: Mapping = Field(default_factory=GreedyMapping, description="initial mapping")
    neighbourhood: Literal["near", "all"] = Field("near", description="swap partners of a rank, for hop-bytes")
    tries: Whole = Field(300, ge=1, le=1_000_000, description="attempted swaps per rank, for link-load")

    def predict_cpu_s(self, ranks: int, degree: float) -> float:
        exchange_cpu_s = CPU_S_OF_A_PARTNER * ranks * degree * (1 + degree)
        if self.objective == "link-load":
            exchange_cpu_s = CPU_S_OF_A_TRY * self.tries * ranks * degree
        elif self.neighbourhood == "all":
            exchange_cpu_s = CPU_S_OF_A_PAIR * float(ranks) ** 2 * degree
        return exchange_cpu_s + self.start.predict_cpu_s(ranks, degree)

    def refine(self, core: Ints, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> None:
        # Imported here because numba loads slowly.
        from .kernels import anneal_link_load, exchange_all, exchange_near, mapping_state, route_table

        state = mapping_state(slots, tasks.graph, core)
        if self.objective == "link-load":
            routes, seed = route_table(slots.machine, self.routing.tie), int(rng.integers(2**31))
            anneal_link_load(state, routes, self.tries * slots.ranks, 0.0, 0.0, seed)
        else:
            (exchange_near if self.neighbourhood == "near" else exchange_all)(state, rng.permutation(slots.ranks))
