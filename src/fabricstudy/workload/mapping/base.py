"""Base classes of mappings."""

from typing import ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Integers, Ints
from fabricstudy.core.kinds import Kind
from fabricstudy.core.model import ConfigError, at_path
from fabricstudy.machine.base import Topology
from fabricstudy.routing.dimension_order import DimensionOrder

from ..pattern.base import Pattern
from .tasks import Slots, Tasks

MAX_CPU_S = 600.0
"""Mappings predicted to take longer are refused when the study is planned."""


class MappingResult(NamedTuple):
    """The core of each rank, integers [ranks], and the selected start if the mapping tries several."""

    core: Integers
    start: str | None = None


class Mapping(Kind, family="mapping"):
    """A mapping of ranks to the cores of a job."""

    needs_traffic: ClassVar[bool] = False
    """It uses the messages; those of a pattern that depends on the placement are unknown."""

    needs_coordinates: ClassVar[bool] = False
    """It uses the coordinates of the ranks in the application."""

    def check_ranks(self, ranks: int) -> None:
        """Raise ConfigError, with the path below the mapping, for an unsupported number of ranks."""

    def check_fit(self, machine: Topology, pattern: Pattern, ranks: int) -> None:
        """Raise ConfigError, with the path below the mapping, for a wrong machine, pattern or number of ranks."""
        if self.needs_traffic and pattern.follows_placement:
            problem = f"{self.kind} maps ranks by their traffic, but that of {pattern.kind} depends on the placement"
            remedy = "use another mapping, such as linear or random"
            raise ConfigError(problem, remedy, (), self.kind, "unsupported")
        if self.needs_coordinates and not pattern.has_coordinates:
            problem = f"{self.kind} maps ranks by their coordinates in the application, but {pattern.kind} has none"
            raise ConfigError(problem, "use another mapping, such as greedy", (), self.kind, "unsupported")
        predicted = self.predict_cpu_s(ranks, max_partners_estimate(pattern, ranks))
        if predicted > MAX_CPU_S:
            problem = f"{self.kind} would take about {predicted:.2g} s for {ranks} ranks; the limit is {MAX_CPU_S:g} s"
            remedy = "lower its effort, or use greedy or exchange with neighbourhood: near"
            raise ConfigError(problem, remedy, (), self.kind, "unsupported")
        self.check_ranks(ranks)

    def predict_cpu_s(self, ranks: int, degree: float) -> float:
        """Predict the CPU time for ranks with `degree` partners each, to an order of magnitude."""
        return 0.0

    def warm_up(self) -> None:
        """Load compiled code, so that its time does not count as that of the mapping."""

    def map_ranks(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> Integers:
        """Return the core of each rank, a permutation of the job's cores, integers [ranks].

        A mapping overrides this or `map_ranks_with_start`. Raises WorkloadError if it is not applicable.
        """
        return self.map_ranks_with_start(slots, tasks, rng).core

    def map_ranks_with_start(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> MappingResult:
        """Return the result of `map_ranks`, and the selected start if the mapping tries several."""
        return MappingResult(self.map_ranks(slots, tasks, rng))


def max_partners_estimate(pattern: Pattern, ranks: int) -> float:
    """Return an upper estimate of the partners of a rank.

    Examples
    --------
    >>> from fabricstudy.workload.pattern.stencil import Stencil
    >>> max_partners_estimate(Stencil.model_validate({"message": "1 kB", "iterations": 10}), 64)
    12.0
    """
    if pattern.is_idle or pattern.follows_placement or ranks < 2:
        return 0.0
    return min(ranks - 1.0, 2 * pattern.traffic_messages(ranks) / ranks / float(getattr(pattern, "iterations", 1)))


class Refinement(Mapping):
    """Base of mappings that improve another one, their `start`, by swaps."""

    needs_traffic = True

    start: Mapping
    objective: Literal["hop-bytes", "link-load"] = Field(
        "hop-bytes",
        description="objective to minimise: bytes times hops, or the sum over links of (bytes per cable)^8, dominated "
        "by the bottleneck links; link-load needs a machine with dimensions",
    )
    routing: DimensionOrder = Field(
        default_factory=lambda: DimensionOrder(tie="split"),
        description="routing used by link-load; not that of the point, so that mappings do not depend on it",
    )

    def check_fit(self, machine: Topology, pattern: Pattern, ranks: int) -> None:
        super().check_fit(machine, pattern, ranks)
        if self.objective == "link-load" and "dimensions" not in machine.traits:
            problem = f"link loads need dimensions, but a machine of kind {machine.kind} has none"
            remedy = "use objective: hop-bytes"
            raise ConfigError(problem, remedy, ("objective",), self.objective, "unsupported")
        with at_path("start"):
            self.start.check_fit(machine, pattern, ranks)

    def warm_up(self) -> None:
        from .kernels import compile_kernels

        compile_kernels()

    def map_ranks_with_start(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> MappingResult:
        initial = self.start.map_ranks_with_start(slots, tasks, rng)
        core = np.array(initial.core, dtype=np.int64)
        self.refine(core, slots, tasks, rng)
        return MappingResult(core, initial.start)

    def refine(self, core: Ints, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> None:
        """Swap ranks in place; `core` (int64 [ranks]) is the core of each rank."""
        raise NotImplementedError
