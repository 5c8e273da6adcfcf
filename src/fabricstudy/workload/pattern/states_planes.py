"""States and planes, like OpenAtom."""

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError, Whole

from ..messages import Indices
from .base import MessagePattern, TrafficEstimate
from .sends import Sends, between_ranks, concatenate_phases


@register
class StatesPlanes(MessagePattern):
    """Like OpenAtom: an array of states times planes, whose parts exchange along both in turn.

    Four phases: each part sends to the other planes of its state (the transpose of an FFT); to the one that sums up
    its plane over the states; that one answers; and each part sends to the other states of its plane (overlaps).
    OpenAtom has 15 arrays and ten phases (Bhatele and Kalé 2008, who do not tell the rest), so this is like it, not it.
    """

    has_places: ClassVar[bool] = True

    kind: Literal["states-planes"] = "states-planes"
    states: Whole = Field(ge=1, le=100_000, description="states")
    planes: Whole = Field(ge=1, le=100_000, description="planes of each state")
    group: Literal["states", "planes"] = Field(
        "states", description="which parts a rank has: consecutive planes of a state, or consecutive states of a plane"
    )

    def check_ranks(self, ranks: int) -> None:
        """Refuse more ranks than parts, and numbers that do not divide them evenly."""
        parts = self.states * self.planes
        if parts % ranks:
            problem = f"{parts} parts cannot be dealt evenly to {ranks} ranks"
            remedy = "let the ranks divide states times planes"
            raise ConfigError(problem, remedy, ("states",), self.states, code="does-not-fit")

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages by size (upper estimate: no two parts share a rank)."""
        parts = float(self.states * self.planes)
        messages = parts * (self.planes - 1 + 2 + self.states - 1)
        return (
            TrafficEstimate(min(messages, 4.0 * ranks * (ranks - 1)) * self.iterations, int(self.message_bytes), 4),
        )

    def places(self, ranks: int) -> Indices:
        """State and plane of the first part of each rank, [ranks, 2]."""
        rank = self._ranks(ranks).ravel()
        first = np.unique(rank, return_index=True)[1]
        return np.stack(np.divmod(first, self.planes), axis=1)

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        """Send along the planes, to the sums and back, and along the states; parts of one rank cost nothing."""
        rank, size = self._ranks(ranks), int(self.message_bytes)
        sums = np.broadcast_to(
            rank[np.arange(self.planes) * self.states // self.planes, np.arange(self.planes)], rank.shape
        )
        phases = [
            between_ranks(*_along(rank), size, ranks),
            between_ranks(rank.ravel(), sums.ravel(), size, ranks),
            between_ranks(sums.ravel(), rank.ravel(), size, ranks),
            between_ranks(*_along(rank.T), size, ranks),
        ]
        return concatenate_phases([part for part in phases if len(part.source)], self.iterations)

    def _ranks(self, ranks: int) -> npt.NDArray[np.int64]:
        """Rank of each part, [states, planes]."""
        parts = np.arange(self.states * self.planes) * ranks // (self.states * self.planes)
        return parts.reshape(self.states, self.planes) if self.group == "states" else parts.reshape(-1, self.states).T


def _along(rank: npt.NDArray[np.int64]) -> tuple[Indices, Indices]:
    """Ranks of all ordered pairs of different columns within each row."""
    columns = rank.shape[1]
    other = rank[:, (np.arange(columns)[:, None] + np.arange(1, columns)) % columns]
    return np.repeat(rank.ravel(), columns - 1), other.reshape(-1)
