"""States and planes, as in OpenAtom."""

from typing import Literal

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Integers, Ints
from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.core.quantities import Size
from fabricstudy.workload.pattern.base import (
    MessagePattern,
    Sends,
    TrafficEstimate,
    all_to_all_along,
    between_ranks,
    concatenate_phases,
)


class StatesPlanes(MessagePattern, kind="states-planes"):
    """OpenAtom-like traffic: an array of states times planes, whose parts exchange along both in turn.

    Four phases: each part sends to the other planes of its state (the transpose of an FFT); to the part that sums its
    plane over the states; that part replies; and each part sends to the other states of its plane (overlaps).
    OpenAtom has 15 arrays and ten phases (Bhatele and Kalé 2008, who do not state the rest): an approximation.
    """

    has_coordinates = True
    message_bytes: Size = Field(alias="message", description="size of each message")
    states: Whole = Field(ge=1, le=100_000, description="number of states")
    planes: Whole = Field(ge=1, le=100_000, description="planes of each state")
    group: Literal["states", "planes"] = Field(
        "states", description="parts of a rank: consecutive planes of a state, or consecutive states of a plane"
    )

    def check_ranks(self, ranks: int) -> None:
        parts = self.states * self.planes
        if parts % ranks:
            problem = f"{parts} parts cannot be distributed evenly over {ranks} ranks"
            remedy = "use a number of ranks that divides states times planes"
            raise ConfigError(problem, remedy, ("states",), self.states, code="does-not-fit")

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages by size; an upper estimate, as if no two parts shared a rank."""
        parts = float(self.states * self.planes)
        messages = min(parts * (self.planes - 1 + 2 + self.states - 1), 4.0 * ranks * (ranks - 1))
        return (TrafficEstimate(messages * self.iterations, int(self.message_bytes), 4),)

    def coordinates(self, ranks: int) -> Integers:
        """Return state and plane of the first part of each rank, integers [ranks, 2]."""
        rank = self._ranks(ranks).ravel()
        first = np.unique(rank, return_index=True)[1]
        return np.stack(np.divmod(first, self.planes), axis=1)

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        rank, size = self._ranks(ranks), int(self.message_bytes)
        plane = np.arange(self.planes)
        sums = np.broadcast_to(rank[plane * self.states // self.planes, plane], rank.shape)
        along_states, along_planes = (all_to_all_along(rank, axis) for axis in (0, 1))
        phases = [
            between_ranks(along_planes.source, along_planes.destination, size, ranks),
            between_ranks(rank.ravel(), sums.ravel(), size, ranks),
            between_ranks(sums.ravel(), rank.ravel(), size, ranks),
            between_ranks(along_states.source, along_states.destination, size, ranks),
        ]
        return concatenate_phases([part for part in phases if len(part.source)], self.iterations)

    def _ranks(self, ranks: int) -> Ints:
        """Rank of each part, [states, planes]."""
        parts = np.arange(self.states * self.planes) * ranks // (self.states * self.planes)
        return parts.reshape(self.states, self.planes) if self.group == "states" else parts.reshape(-1, self.states).T
