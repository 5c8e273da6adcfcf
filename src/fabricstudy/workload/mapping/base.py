"""What every mapping has."""

from typing import ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fabricstudy.core.kinds import Family, Kind
from fabricstudy.core.model import ConfigError
from fabricstudy.machine.base import Topology
from fabricstudy.routing.dimension_order import DimensionOrder

from ..messages import Indices, WorkloadError
from ..pattern.base import Pattern
from .slots import Slots
from .tasks import Tasks

MAX_CPU_S = 600.0
"""A mapping that is predicted to take longer is refused when the study is planned."""


class MappingResult(NamedTuple):
    """The core of each rank, integers [ranks], and the start that it is from where a mapping tries several."""

    core: Indices
    start: str | None = None


class Mapping(Kind):
    """Which rank sits where on the nodes of a job."""

    FAMILY: ClassVar[Family] = Family("mapping")

    needs_traffic: ClassVar[bool] = False
    """Whether it goes by the messages; a pattern that follows the placement has none before."""

    needs_places: ClassVar[bool] = False
    """Whether it goes by where the ranks stand in the application."""

    def check_ranks(self, ranks: int) -> None:
        """Refuse a number of ranks that the mapping cannot place.

        Raises ConfigError, with the path below the mapping.
        """

    def check_fit(self, machine: Topology, pattern: Pattern, ranks: int) -> None:
        """Refuse a machine, pattern or number of ranks that the mapping cannot have, before anything is built.

        Raises ConfigError, with the path below the mapping.
        """
        if self.needs_traffic and pattern.follows_placement:
            problem = f"{self.kind} places ranks by their traffic, and {pattern.kind} gets its traffic by placement"
            remedy = "take another mapping, such as linear or random"
            raise ConfigError(problem, remedy, (), self.kind, "unsupported")
        if self.needs_places and not pattern.has_places:
            problem = f"{self.kind} goes by where ranks stand in the application, and {pattern.kind} has no coordinates"
            raise ConfigError(problem, "take another mapping, such as greedy", (), self.kind, "unsupported")
        predicted = self.predict_cpu_s(ranks, max_partners_estimate(pattern, ranks))
        if predicted > MAX_CPU_S:
            problem = f"{self.kind} would take about {predicted:.2g} s on {ranks} ranks, and at most {MAX_CPU_S:g} s"
            remedy = "lower its effort, or take greedy or exchange with neighbourhood: near"
            raise ConfigError(problem, remedy, (), self.kind, "unsupported")
        self.check_ranks(ranks)

    def predict_cpu_s(self, ranks: int, degree: float) -> float:
        """Predict the CPU seconds for ranks with so many partners each, well enough to tell hours from seconds."""
        return 0.0

    def warm_up(self) -> None:
        """Load what has been compiled, so that the time for it is not taken for that of the mapping."""

    def map_ranks(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> Indices:
        """Return the core of each rank, a permutation of the job's cores, integers [ranks].

        Raises WorkloadError if it cannot be done.
        """
        raise NotImplementedError

    def map_ranks_with_start(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> MappingResult:
        """Return what `map_ranks` does, and the start that it is from where the mapping tries several."""
        return MappingResult(self.map_ranks(slots, tasks, rng))


def max_partners_estimate(pattern: Pattern, ranks: int) -> float:
    """Return an upper estimate of the partners of a rank.

    Examples
    --------
    >>> from fabricstudy.workload.pattern.stencil import Stencil
    >>> max_partners_estimate(Stencil.model_validate({"message": "1 kB", "iterations": 10}), 64)
    12.0
    """
    if pattern.silent or pattern.follows_placement or ranks < 2:
        return 0.0
    return min(ranks - 1.0, 2 * pattern.traffic_messages(ranks) / ranks / float(getattr(pattern, "iterations", 1)))


class TrafficMapping(Mapping):
    """What the mappings have that go by the messages."""

    needs_traffic: ClassVar[bool] = True

    def map_ranks(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> Indices:
        return self.map_ranks_with_start(slots, tasks, rng).core

    def map_ranks_with_start(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> MappingResult:
        if tasks.messages is None:
            raise WorkloadError(
                f"the mapping {self.kind} needs a pattern that does not depend on where the ranks sit; "
                "take another mapping for the patterns bisection and furthest-pairing"
            )
        seating = self.map_by_traffic(slots, tasks, rng)
        return seating if isinstance(seating, MappingResult) else MappingResult(seating)

    def map_by_traffic(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> Indices | MappingResult:
        """Return the core of each rank, and maybe its start; `tasks` has messages."""
        raise NotImplementedError


class Refinement(TrafficMapping):
    """What the mappings have that better another one, their `start`, by swaps."""

    start: Mapping
    objective: Literal["hop-bytes", "link-load"] = Field(
        "hop-bytes",
        description="what is lowered: bytes times hops, or the sum over links of (bytes per cable)^8, so mostly the "
        "bottleneck links; link-load needs a machine with dimensions",
    )
    routing: DimensionOrder = Field(
        default_factory=lambda: DimensionOrder(tie="split"),
        description="routes by which link-load counts; never those of the point, so that seats stay when these change",
    )

    def check_fit(self, machine: Topology, pattern: Pattern, ranks: int) -> None:
        """Refuse also link loads on a machine without dimensions, and what the start cannot have."""
        super().check_fit(machine, pattern, ranks)
        if self.objective == "link-load" and "dimensions" not in machine.traits:
            problem = f"link loads go by dimension order, and a machine of kind {machine.kind} has no dimensions"
            remedy = "take objective: hop-bytes"
            raise ConfigError(problem, remedy, ("objective",), self.objective, "unsupported")
        try:
            self.start.check_fit(machine, pattern, ranks)
        except ConfigError as error:
            raise error.below("start") from None

    def warm_up(self) -> None:
        from .kernel_inputs import compile_kernels

        compile_kernels()

    def map_by_traffic(self, slots: Slots, tasks: Tasks, rng: np.random.Generator) -> MappingResult:
        """Return the start after its refinement."""
        core, start = self.start.map_ranks_with_start(slots, tasks, rng)
        seat = np.array(core, dtype=np.int64)
        self.refine(seat, slots, tasks, rng)
        return MappingResult(seat, start)

    def refine(self, seat: npt.NDArray[np.int64], slots: Slots, tasks: Tasks, rng: np.random.Generator) -> None:
        """Swap ranks in place; `seat` (int64 [ranks]) is the core of each rank."""
        raise NotImplementedError
