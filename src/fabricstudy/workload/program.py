"""Construction of operations: computation, messages and collectives in groups of ranks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fabricstudy.core.arrays import Array, Integers, Ints

from .operations import CALC, ENDED, RECEIVE, SEND, Operations


@dataclass(frozen=True, eq=False)
class GroupCollective:
    """Operations of one collective in several groups of ranks, all at once; their numbers begin at 0.

    A rank performs the steps of the collective one after the other: the sends and receives of a step begin when those
    of its previous step have ended. A last calc of no duration for each rank ends when its part of the collective has.
    """

    rank: Ints
    kind: Integers
    size_bytes: Ints
    partner: Ints
    dependent: Ints
    needs: Ints
    first: Ints
    """Operations of the first step of each rank, which need what precedes the collective."""
    last: Ints
    """The last calc of each rank."""


def in_groups(groups: Ints, steps: Iterable[tuple[Ints, Ints, Ints]]) -> GroupCollective:
    """Return a collective in each row of `groups` (ranks, int64 [groups, members]).

    `steps` are sources, destinations and bytes of the messages of each step, by position in the group.
    """
    members = groups.shape[1]
    sent = [[column[step[2] > 0] for column in step] for step in steps]
    messages = [len(source) for source, _, _ in sent]
    # Of each step the sends, then the receives; behind them the last calcs.
    of_parts = np.array([*np.repeat(messages, 2), members])
    kind = np.repeat([*[SEND, RECEIVE] * len(sent), CALC], of_parts)
    member = np.concatenate([*(ends for step in sent for ends in step[:2]), np.arange(members)])
    size_bytes = np.concatenate([*(np.tile(size, 2) for _, _, size in sent), np.zeros(members, dtype=np.int64)])
    number, distance = np.arange(len(kind)), np.repeat([*np.repeat(messages, 2), 0], of_parts)
    partner = np.select([kind == SEND, kind == RECEIVE], [number + distance, number - distance], -1)
    # Operations by member and step; those of a step need all of the member's step before.
    step = np.repeat(np.arange(len(of_parts)) // 2, of_parts)
    order = np.lexsort((step, member))
    begins = np.flatnonzero(np.diff(step[order], prepend=-1) | np.diff(member[order], prepend=-1))
    lengths = np.diff(begins, append=len(order))
    is_first = np.diff(member[order][begins], prepend=-1) != 0
    before = np.where(is_first, 0, np.roll(lengths, 1))
    count = np.repeat(before, lengths)
    dependent = np.repeat(order, count)
    within = np.arange(len(dependent)) - np.repeat(np.cumsum(count) - count, count)
    needs = order[np.repeat(np.repeat(begins - before, lengths), count) + within]
    offset = np.arange(len(groups))[:, None] * len(kind)

    def everywhere(numbers: Array) -> Ints:
        return np.where(numbers < 0, -1, numbers + offset).ravel()

    return GroupCollective(
        groups[:, member].ravel(),
        np.tile(kind.astype(np.int8), len(groups)),
        np.tile(size_bytes, len(groups)),
        everywhere(partner),
        everywhere(dependent),
        everywhere(needs),
        everywhere(order[np.repeat(is_first, lengths)]),
        everywhere(number[-members:]),
    )


class Program:
    """Builder of operations: methods take arrays of ranks, and return the numbers of the new operations."""

    def __init__(self, ranks: int, mark_names: tuple[str, ...]) -> None:
        self.ranks, self.mark_names, self.count = ranks, mark_names, 0
        self._columns: list[tuple[Array, ...]] = []
        self._dependencies: list[tuple[Array, Array]] = []

    def _add(
        self,
        rank: Ints,
        stream: int,
        kind: Array | int,
        duration_ns: float,
        size: Array | int,
        partner: Array,
        mark: int,
    ) -> Ints:
        full = (np.broadcast_to(np.asarray(value), rank.shape) for value in (stream, kind, duration_ns, size))
        self._columns.append((rank, *full, partner, np.broadcast_to(np.asarray(mark), rank.shape)))
        number = np.arange(self.count, self.count + len(rank))
        self.count += len(rank)
        return number

    def wait(self, operations: Ints, needs: Ints) -> None:
        """Let operations start when what they need has ended; -1 needs nothing."""
        real = needs >= 0
        self._dependencies.append((operations[real], needs[real]))

    def compute(self, rank: Ints, stream: int, duration_ns: float, mark: str) -> Ints:
        """Add a calc for each rank."""
        nobody = np.full(len(rank), -1, dtype=np.int64)
        return self._add(rank, stream, CALC, duration_ns, 0, nobody, self.mark_names.index(mark))

    def send(self, source: Ints, destination: Ints, stream: int, size_bytes: int, mark: str) -> tuple[Ints, Ints]:
        """Add a message of each source to its destination; return the sends and the receives."""
        messages = len(source)
        number = self.count + np.arange(2 * messages)
        kind = np.repeat([SEND, RECEIVE], messages)
        ends = np.concatenate([source, destination])
        added = self._add(ends, stream, kind, 0.0, size_bytes, np.roll(number, messages), self.mark_names.index(mark))
        return added[:messages], added[messages:]

    def collective(self, part: GroupCollective, stream: int, mark: str, after: Ints) -> Ints:
        """Add a collective, which each rank begins when ``after[rank]`` has ended; return `after` with its ends."""
        start = self.count
        partner = np.where(part.partner < 0, -1, part.partner + start)
        self._add(part.rank, stream, part.kind, 0.0, part.size_bytes, partner, self.mark_names.index(mark))
        self._dependencies.append((part.dependent + start, part.needs + start))
        self.wait(part.first + start, after[part.rank[part.first]])
        ended = after.copy()
        ended[part.rank[part.last]] = part.last + start
        return ended

    def operations(self) -> Operations:
        """Return all operations, sorted by rank."""
        types = (np.int32, np.int32, np.int8, np.float64, np.int64, np.int64, np.int16)
        rank, stream, kind, duration_ns, size, partner, mark = (
            np.concatenate(column).astype(dtype)
            for column, dtype in zip(zip(*self._columns, strict=True), types, strict=True)
        )
        dependent, needs = (np.concatenate(ends) for ends in zip(*self._dependencies, strict=True))
        when = np.full(len(dependent), ENDED, dtype=np.int8)
        operations = Operations(
            self.ranks, rank, stream, kind, duration_ns, size, partner, dependent, needs, when,
            mark=mark, mark_names=self.mark_names,
        )  # fmt: skip
        return operations.in_order(np.argsort(rank, kind="stable"))
