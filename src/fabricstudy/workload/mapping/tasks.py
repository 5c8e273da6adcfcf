"""What a mapping may know of the ranks: what they send, and where they stand in the application."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..messages import Indices, Messages, WorkloadError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TaskGraph:
    """Undirected graph of the ranks in compressed rows, each edge in the rows of both its ends."""

    first: Ints
    """Where the row of each rank begins; int64 [ranks + 1]."""
    partner: Ints
    """Partners, ascending within a row; int64 [2 * edges]."""
    size_bytes: Floats
    sent_bytes: Floats
    """Bytes exchanged with them, both ways together, and those of them that go to the partner; float64 [2 * edges]
    each."""

    @staticmethod
    def of_messages(messages: Messages, ranks: int) -> TaskGraph:
        """Add up the messages between each two ranks."""
        return TaskGraph.of_edges(messages.source, messages.destination, messages.size_bytes, ranks)

    @staticmethod
    def of_edges(tail: Indices, head: Indices, size_bytes: npt.NDArray[np.number], ranks: int) -> TaskGraph:
        """Add up edges from tail to head in any order; those of a rank to itself are left out."""
        apart = np.asarray(tail) != np.asarray(head)
        one, other = np.asarray(tail, dtype=np.int64)[apart], np.asarray(head, dtype=np.int64)[apart]
        key = np.concatenate([one * ranks + other, other * ranks + one])
        size = np.asarray(size_bytes, dtype=np.float64)[apart]
        pairs, place = np.unique(key, return_inverse=True)
        total, sent = (
            np.bincount(place, weights=weight, minlength=len(pairs)).astype(np.float64)
            for weight in (np.tile(size, 2), np.concatenate([size, np.zeros_like(size)]))
        )
        first = np.searchsorted(pairs, np.arange(ranks + 1) * ranks)
        return TaskGraph(first.astype(np.int64), pairs % ranks, total, sent)

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.first) - 1

    @property
    def row(self) -> Ints:
        """Rank to whose row each entry belongs, int64 [2 * edges]."""
        return np.repeat(np.arange(self.ranks), np.diff(self.first))

    @property
    def bytes_of_rank(self) -> Floats:
        """Bytes that each rank sends and gets, float64 [ranks]."""
        return np.bincount(self.row, weights=self.size_bytes, minlength=self.ranks).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Tasks:
    """The ranks of a job as a mapping sees them.

    `messages` is what they send, None if that depends on where they sit; `places` (integers [ranks, dimensions]) where
    they stand in the application, such as in its grid, None where the pattern has no such thing.
    """

    ranks: int
    messages: Messages | None = None
    places: Indices | None = None

    @cached_property
    def graph(self) -> TaskGraph:
        """Who exchanges how much with whom; raises ValueError if the messages depend on where the ranks sit."""
        if self.messages is None:
            raise ValueError("what these ranks send depends on where they sit")
        return TaskGraph.of_messages(self.messages, self.ranks)

    @property
    def known_places(self) -> Indices:
        """Where the ranks stand in the application, integers [ranks, dimensions].

        Raises WorkloadError if the pattern has no such thing.
        """
        if self.places is None:
            raise WorkloadError("this mapping needs a pattern whose ranks have coordinates; take another mapping")
        return self.places
