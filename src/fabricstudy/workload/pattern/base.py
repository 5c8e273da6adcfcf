"""Base classes of communication patterns.

Each pattern has its traffic for a number of ranks in closed form, because costs are predicted before any workload
exists.
"""

from typing import ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Integers
from fabricstudy.core.kinds import Family, Kind
from fabricstudy.core.model import Whole
from fabricstudy.core.quantities import Size
from fabricstudy.machine.base import Topology

from .job_placement import JobPlacement
from .sends import Sends

SendOrder = Literal["shift", "ascending", "random"]
"""Order of the sends of a rank within a phase; see `in_send_order`."""


class TrafficEstimate(NamedTuple):
    """Number of messages of one size in all iterations, and the number of phases of an iteration that send them."""

    messages: float
    size_bytes: int
    phases: int = 1


class Pattern(Kind):
    """A communication pattern.

    A pattern defines `sends`, or, if partners depend on the placement of the ranks, `sends_at`.
    """

    FAMILY: ClassVar[Family] = Family("pattern")

    follows_placement: ClassVar[bool] = False
    """It defines `sends_at`; its ranks cannot be mapped by traffic."""

    has_places: ClassVar[bool] = False
    """It defines `places`, the coordinates used by some mappings."""

    silent: ClassVar[bool] = False
    """It never sends anything."""

    def is_near(self, ranks: int) -> bool:
        """Return whether ranks send most to their neighbours, in the application or by number."""
        return self.has_places

    def traffic_messages(self, ranks: int) -> float:
        """Return the number of messages in all iterations."""
        return sum(part.messages for part in self.traffic(ranks))

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Return the number of messages by size."""
        raise NotImplementedError

    def check_ranks(self, ranks: int) -> None:
        """Raise ConfigError, with the path below the pattern, for an unsupported number of ranks, 2 or more."""

    def check_machine(self, machine: Topology) -> None:
        """Raise ConfigError, with the path below the pattern, for an unsupported machine."""

    def places(self, ranks: int) -> Integers | None:
        """Return the ranks' coordinates in the application, integers [ranks, dimensions] from 0, or None."""
        return None

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        """Return all messages, in any order, none from a rank to itself."""
        raise NotImplementedError

    def sends_at(self, site: JobPlacement) -> Sends:
        """Return all messages of ranks placed at `site`."""
        raise NotImplementedError


class MessagePattern(Pattern):
    """Base of patterns with messages of a given size."""

    message_bytes: Size = Field(alias="message", description="size of each message")
    iterations: Whole = Field(1, ge=1, le=1_000_000, description="number of consecutive repetitions of the pattern")
    numbering: Literal["natural", "shuffled"] = Field(
        "natural",
        description="numbering of the ranks: natural (that of the pattern) or shuffled (random), since natural "
        "numbering favours mappings that rely on it",
    )
    order: SendOrder = Field(
        "random",
        description="send order of a rank: shift (to rank+1, rank+2, ...), ascending (to rank 0, 1, ...) or "
        "random (shuffled by seed)",
    )

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Return the number of messages by size; a pattern overrides this or `traffic_messages`."""
        return (TrafficEstimate(self.traffic_messages(ranks), int(self.message_bytes)),)
