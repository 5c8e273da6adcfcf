"""Rank after rank next to its partners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import Whole

from ..messages import Indices
from .base import TrafficMapping
from .slots import Slots
from .tasks import Tasks

if TYPE_CHECKING:
    from .kernels import GraphArrays, SlotTopology

CPU_S_OF_A_PARTNER = 2e-6


@register
class GreedyMapping(TrafficMapping):
    """The rank most connected to those that sit goes to the free node nearby where it adds least bytes times hops.

    After Hoefler and Snir (Generic topology mapping strategies, ICS 2011). Where it begins decides much: the best of
    `starts` is kept, which begin in turn with the rank that sends least on the first node, with any on the first node,
    and with any on any.
    """

    kind: Literal["greedy"] = "greedy"
    starts: Whole = Field(16, ge=1, le=10_000, description="places to begin with; the best result is kept")

    def predict_cpu_s(self, ranks: int, degree: float) -> float:
        return CPU_S_OF_A_PARTNER * self.starts * ranks * (1 + degree)

    def warm_up(self) -> None:
        from .kernel_inputs import compile_kernels

        compile_kernels()

    def map_by_traffic(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> Indices:
        """Keep the start with the least bytes times hops, the first of equal ones."""
        # Loads numba, which planning does without.
        from .kernel_inputs import graph_arrays, slot_topology
        from .kernels import mapping_hop_bytes

        graph, ground = graph_arrays(tasks.graph), slot_topology(slots)
        best, least = np.arange(slots.ranks), np.inf
        for start in range(self.starts):
            seat = _grown(graph, ground, tasks.graph.bytes_of_rank, start % 3, rng)
            cost = mapping_hop_bytes(graph, ground, seat)
            if cost < least:
                best, least = seat, cost
        return best


def _grown(
    graph: GraphArrays, ground: SlotTopology, bytes_of_rank: npt.NDArray[np.float64], way: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    from .kernels import grow

    ranks, routers = len(ground.router), len(ground.seats_first) - 1
    task_tie, router_tie = rng.random(ranks), rng.random(routers)
    task, seat = rng.integers(ranks, size=2)
    if way == 0:
        lightest = np.flatnonzero(bytes_of_rank == bytes_of_rank.min())
        task = lightest[np.argmin(task_tie[lightest])]
    if way < 2:
        seat = 0
    return grow(graph, ground, int(task), int(ground.router[seat]), task_tie, router_tie)
