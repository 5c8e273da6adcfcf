"""Greedy placement next to partners."""

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Integers
from fabricstudy.core.model import Whole

from .base import Mapping
from .tasks import Slots, Tasks

GREEDY_CPU_S_PER_PARTNER = 2e-6


class GreedyMapping(Mapping, kind="greedy"):
    """Places the rank with the most traffic to placed ranks on the nearby free node that adds the fewest hop-bytes.

    After Hoefler and Snir (Generic topology mapping strategies, ICS 2011). The result depends on the start: the best of
    `starts` is selected, which begin in turn with the rank with the least traffic on the first node, with a random rank
    on the first node, and with a random rank on a random node.
    """

    needs_traffic = True
    starts: Whole = Field(16, ge=1, le=10_000, description="number of starts, of which the best result is selected")

    def predict_cpu_s(self, ranks: int, degree: float) -> float:
        return GREEDY_CPU_S_PER_PARTNER * self.starts * ranks * (1 + degree)

    def warm_up(self) -> None:
        from .kernels import compile_kernels

        compile_kernels()

    def map_ranks(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> Integers:
        # Imported here because numba loads slowly.
        from .kernels import grow, mapping_hop_bytes, slot_topology

        graph, topology = tasks.graph, slot_topology(slots)
        best, least = np.arange(slots.ranks), np.inf
        bytes_of_rank = graph.bytes_of_rank
        lightest = np.flatnonzero(bytes_of_rank == bytes_of_rank.min())
        for start in range(self.starts):
            task_tie, router_tie = rng.random(slots.ranks), rng.random(slots.machine.routers)
            task, first_core = rng.integers(slots.ranks, size=2)
            if start % 3 == 0:
                task = lightest[np.argmin(task_tie[lightest])]
            router = topology.router[first_core if start % 3 == 2 else 0]
            core = grow(graph, topology, int(task), int(router), task_tie, router_tie)
            cost = mapping_hop_bytes(graph, topology, core)
            if cost < least:
                best, least = core, cost
        return best
