"""The best of several mappings."""

import numpy as np
from pydantic import Field

from fabricstudy.core.model import Whole, at_path
from fabricstudy.machine.base import Topology

from ..pattern.base import Pattern
from .annealing import AnnealingMapping
from .base import Mapping, MappingResult
from .curve import CurveMapping
from .exchange import ExchangeMapping
from .greedy import GreedyMapping
from .linear import LinearMapping
from .orb import OrbMapping
from .tasks import Slots, Tasks

ANNEALED = 2


class BestMapping(Mapping, kind="best"):
    """The lowest hop-bytes of several initial mappings, all refined by exchange, the best two also by annealing.

    The effort is limited by swaps, not by time, so that the result is the same on each host. The default of `starts` is
    `greedy` twice, with 64 starts each, `linear`, and for patterns with coordinates `orb` and `curve`. Optional
    mappings such as `scotch` must be listed, so that the result does not depend on the installation. The column
    `mapping_start` of the table `jobs` names the start of the result.
    """

    needs_traffic = True
    starts: tuple[Mapping, ...] | None = Field(
        None,
        min_length=1,
        max_length=20,
        description="initial mappings; default: greedy twice, linear, and with coordinates orb and curve",
    )
    moves_per_task: Whole = Field(
        1000, ge=1, le=1_000_000, description="attempted swaps per rank by annealing, for each of the best two starts"
    )

    def check_fit(self, machine: Topology, pattern: Pattern, ranks: int) -> None:
        super().check_fit(machine, pattern, ranks)
        for index, start in enumerate(self.starts or ()):
            with at_path("starts", str(index)):
                start.check_fit(machine, pattern, ranks)

    def predict_cpu_s(self, ranks: int, degree: float) -> float:
        starts = self._starts(with_coordinates=True)
        exchanges = [ExchangeMapping(start=start).predict_cpu_s(ranks, degree) for start in starts]
        return sum(exchanges) + ANNEALED * self._annealing.predict_cpu_s(ranks, degree)

    def warm_up(self) -> None:
        self._annealing.warm_up()

    def map_ranks_with_start(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> MappingResult:
        # Imported here because numba loads slowly.
        from .kernels import mapping_hop_bytes, slot_topology

        graph, topology, exchange = tasks.graph, slot_topology(slots), ExchangeMapping()
        starts = self._starts(tasks.coordinates is not None)
        # One stream per start, so that starts are independent.
        streams = rng.spawn(len(starts))
        begun = [start.map_ranks(slots, tasks, start_rng) for start, start_rng in zip(starts, streams, strict=True)]
        cores = [np.array(core, dtype=np.int64) for core in begun]
        for core, start_rng in zip(cores, streams, strict=True):
            exchange.refine(core, slots, tasks, start_rng)
        cost = [mapping_hop_bytes(graph, topology, core) for core in cores]
        for index in np.argsort(cost, kind="stable")[:ANNEALED]:
            # From the unrefined start: the local optimum of exchange is harder to leave.
            core = np.array(begun[index], dtype=np.int64)
            for refinement in (self._annealing, exchange):
                refinement.refine(core, slots, tasks, streams[index])
            if (annealed := mapping_hop_bytes(graph, topology, core)) < cost[index]:
                cores[index], cost[index] = core, annealed
        best, kinds = int(np.argmin(cost)), [start.kind for start in starts]
        return MappingResult(cores[best], kinds[best] if kinds.count(kinds[best]) == 1 else f"{kinds[best]} {best + 1}")

    @property
    def _annealing(self) -> AnnealingMapping:
        return AnnealingMapping(moves_per_task=self.moves_per_task)

    def _starts(self, with_coordinates: bool) -> tuple[Mapping, ...]:
        if self.starts is not None:
            return self.starts
        placed: tuple[Mapping, ...] = (OrbMapping(), CurveMapping()) if with_coordinates else ()
        return (GreedyMapping(starts=64), GreedyMapping(starts=64), LinearMapping(), *placed)
