"""Who sends what to whom.

Each pattern can tell its traffic for a number of ranks in closed form, because costs are predicted before any
workload exists, and what is wrong with a number of ranks.
"""

from typing import ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from fabricstudy.core.kinds import Family, Kind
from fabricstudy.core.model import Whole
from fabricstudy.core.quantities import Size
from fabricstudy.machine.base import Topology

from ..messages import Indices
from .job_placement import JobPlacement
from .sends import Sends

SendOrder = Literal["shift", "ascending", "random"]
"""Order in which a rank sends within a phase: to rank+1, rank+2, ...; to rank 0, 1, ...; or shuffled by seed."""


class TrafficEstimate(NamedTuple):
    """Messages of one size in all iterations, and over how many phases of an iteration they are spread."""

    messages: float
    size_bytes: int
    phases: int = 1


class Pattern(Kind):
    """What every pattern has: it tells its traffic in closed form, and makes its sends.

    A pattern has `sends`, or, where who sends to whom depends on where the ranks are, `sends_at`.
    """

    FAMILY: ClassVar[Family] = Family("pattern")

    follows_placement: ClassVar[bool] = False
    """Whether it has `sends_at`; its ranks cannot be mapped by their traffic then."""

    has_places: ClassVar[bool] = False
    """Whether it has `places`, by which some mappings go."""

    silent: ClassVar[bool] = False
    """Whether it never sends anything, whatever the number of ranks."""

    def is_near(self, ranks: int) -> bool:
        """Whether ranks send most to those beside them: in the application, or by number."""
        return self.has_places

    def traffic_messages(self, ranks: int) -> float:
        """Messages in all iterations."""
        return sum(part.messages for part in self.traffic(ranks))

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages by size."""
        raise NotImplementedError

    def check_ranks(self, ranks: int) -> None:
        """Refuse a number of ranks, 2 or more, that the pattern cannot have.

        Raises ConfigError, with the path below the pattern.
        """

    def check_machine(self, machine: Topology) -> None:
        """Refuse a machine that the pattern cannot run on; raises ConfigError, with the path below the pattern."""

    def places(self, ranks: int) -> Indices | None:
        """Return where the ranks stand in the application, integers [ranks, dimensions] from 0 on, if that is known."""
        return None

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        """Return all messages, in any order, none from a rank to itself."""
        raise NotImplementedError

    def sends_at(self, site: JobPlacement) -> Sends:
        """Return all messages of ranks that are on the nodes of `site`."""
        raise NotImplementedError


class MessagePattern(Pattern):
    """What the patterns have that send messages."""

    message_bytes: Size = Field(alias="message", description="size of each message")
    iterations: Whole = Field(1, ge=1, le=1_000_000, description="times the pattern is repeated, one after the other")
    numbering: Literal["natural", "shuffled"] = Field(
        "natural",
        description="which rank has which part of the pattern: as the pattern says, or drawn at random, since natural "
        "numbers flatter mappings that live off them",
    )
    order: SendOrder = Field(
        "random",
        description="order in which a rank sends: shift (to rank+1, rank+2, ...), ascending (to rank 0, 1, ...) or "
        "random (shuffled by seed)",
    )

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages by size; a pattern overrides this or `traffic_messages`."""
        return (TrafficEstimate(self.traffic_messages(ranks), int(self.message_bytes)),)
