"""Input of mappings: the cores of the allocation, and the ranks with their messages and coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fabricstudy.core.arrays import Floats, Int32s, Integers, Ints, Numbers
from fabricstudy.machine.graph import Machine

from ..messages import Messages, WorkloadError


class TaskGraph(NamedTuple):
    """Undirected graph of the ranks in compressed rows, each edge in the rows of both its ends."""

    first: Ints
    """Start of the row of each rank; int64 [ranks + 1]."""
    partner: Ints
    """Partners, ascending within a row; int64 [2 * edges]."""
    size_bytes: Floats
    sent_bytes: Floats
    """Bytes exchanged with each partner in both directions, and those sent to it; float64 [2 * edges] each."""

    @staticmethod
    def of_messages(messages: Messages, ranks: int) -> TaskGraph:
        """Sum up the messages between each two ranks."""
        return TaskGraph.of_edges(messages.source, messages.destination, messages.size_bytes, ranks)

    @staticmethod
    def of_edges(tail: Integers, head: Integers, size_bytes: Numbers, ranks: int) -> TaskGraph:
        """Sum up edges from tail to head in any order; those from a rank to itself are ignored."""
        apart = np.asarray(tail) != np.asarray(head)
        source, destination = np.asarray(tail, dtype=np.int64)[apart], np.asarray(head, dtype=np.int64)[apart]
        key = np.concatenate([source * ranks + destination, destination * ranks + source])
        size = np.asarray(size_bytes, dtype=np.float64)[apart]
        pairs, pair_of_edge = np.unique(key, return_inverse=True)
        total, sent = (
            np.bincount(pair_of_edge, weights=weight, minlength=len(pairs)).astype(np.float64)
            for weight in (np.tile(size, 2), np.concatenate([size, np.zeros_like(size)]))
        )
        first = np.searchsorted(pairs, np.arange(ranks + 1) * ranks)
        return TaskGraph(first.astype(np.int64), pairs % ranks, total, sent)

    @property
    def ranks(self) -> int:
        return len(self.first) - 1

    @property
    def row(self) -> Ints:
        """Rank of each entry's row, int64 [2 * edges]."""
        return np.repeat(np.arange(self.ranks), np.diff(self.first))

    @property
    def bytes_of_rank(self) -> Floats:
        """Bytes sent and received by each rank, float64 [ranks]."""
        return np.bincount(self.row, weights=self.size_bytes, minlength=self.ranks).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Tasks:
    """The ranks of a job.

    `messages` is None if they depend on the placement; `coordinates` (integers [ranks, dimensions]) are the ranks'
    coordinates in the application, such as in its grid, or None.
    """

    ranks: int
    messages: Messages | None = None
    coordinates: Integers | None = None

    @cached_property
    def graph(self) -> TaskGraph:
        """Graph of the traffic; raises ValueError if the messages depend on the placement."""
        if self.messages is None:
            raise ValueError("the messages of these ranks depend on the placement")
        return TaskGraph.of_messages(self.messages, self.ranks)

    @property
    def known_coordinates(self) -> Integers:
        """Coordinates of the ranks, integers [ranks, dimensions]; raises WorkloadError if the pattern has none."""
        if self.coordinates is None:
            raise WorkloadError("this mapping needs a pattern whose ranks have coordinates; use another mapping")
        return self.coordinates


@dataclass(frozen=True, eq=False)
class Slots:
    """The nodes of a job in the order of its allocation, int32 [nodes], and the cores it uses of each.

    With several ranks per core, a core here is the slot of one of them.
    """

    machine: Machine
    nodes: Int32s
    ranks_per_node: int

    @property
    def ranks(self) -> int:
        """Number of cores the job uses, and of its ranks."""
        return len(self.nodes) * self.ranks_per_node

    @property
    def node_of_core(self) -> Int32s:
        """Node of each core, int32 [ranks]; the cores of a node are consecutive."""
        return np.repeat(self.nodes, self.ranks_per_node)

    @cached_property
    def router_of_core(self) -> Ints:
        """Router of each core, int64 [ranks]."""
        return self.machine.node_router[self.node_of_core].astype(np.int64)

    @property
    def coordinates_of_core(self) -> Ints:
        """Coordinates of each core's router, int64 [ranks, dimensions]; off a grid the router's number.

        Routers with consecutive numbers are near each other in every topology: in a group, under a switch.
        """
        coordinates = self.machine.coordinates
        if coordinates is None or not self.machine.dimensions:
            return self.router_of_core[:, None]
        return coordinates[self.router_of_core].astype(np.int64)
