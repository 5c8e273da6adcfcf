"""The MPI calls of ranks, one after another, as operations.

The time between two calls counts as computation. A blocking call ends before the next call; a non-blocking call only
starts before it; a wait depends on the completion of its requests. Collective operations are those of this project
(`expansion`); those of 0 bytes send nothing, as in MPICH, but for a barrier.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

from fabricstudy.core.arrays import Ints
from fabricstudy.core.errors import ConfigError, suggestion
from fabricstudy.core.input_files import MAX_TRAFFIC_BYTES, InputFileError
from fabricstudy.core.log import warn_once

from ..matching import ANY_TAG_END, MAX_OPERATIONS, Listing
from ..operations import CALC, ENDED, RECEIVE, SEND, STARTED
from ..pattern.base import Pattern

TAGS = ANY_TAG_END
"""Tags of programs are below 2^31. Those of another communicator, and of collective operations, are above."""

COLLECTIVE_TAG = 2**60

MAX_NUMBER = 2**63 - 1

Phase = tuple[Ints, Ints, Ints]
"""Sources, destinations and bytes."""

_PATTERNS: dict[str, tuple[str, str]] = {
    "allgather": ("all-gather", "ring"),
    "allreduce": ("all-reduce", "mpich"),
    "alltoall": ("all-to-all", "linear"),
    "barrier": ("barrier", ""),
    "bcast": ("broadcast", "mpich"),
    "gather": ("gather", "binomial"),
    "reduce": ("broadcast", "binomial"),
    "reduce_scatter": ("reduce-scatter", "mpich"),
    "scatter": ("scatter", "binomial"),
}
"""Pattern and default algorithm of each collective operation; a reduction is a broadcast in reverse."""

EXPANDED = tuple(_PATTERNS)

ROOTED = frozenset({"bcast", "gather", "reduce", "scatter"})

Clock = Literal["wall", "cpu"]

Algorithms = tuple[tuple[str, str], ...]
"""Algorithms of collective operations by the kind of their pattern, sorted; of others the default."""


def algorithms_of(written: object) -> Algorithms:
    """Return the algorithms of the key ``collectives``: ``mpich`` or a mapping from kinds of patterns.

    Raises ConfigError, with the path below the pattern.

    Examples
    --------
    >>> algorithms_of({"all-reduce": "ring"}), algorithms_of("mpich")
    ((('all-reduce', 'ring'),), ())
    """
    if written == "mpich":
        return ()
    if not isinstance(written, Mapping):
        remedy = "write mpich, or algorithms such as {all-reduce: ring}"
        raise ConfigError("not a choice of algorithms", remedy, ("collectives",), written, "invalid-value")
    known = sorted({kind for kind, default in _PATTERNS.values() if default})
    for kind, algorithm in written.items():
        path = ("collectives", str(kind))
        if kind not in known:
            remedy = suggestion(str(kind), known)
            raise ConfigError("no collective operation with a choice", remedy, path, kind, "unknown-value")
        member = Pattern.FAMILY.find(kind)
        assert member is not None
        names = get_args(member.model_fields["algorithm"].annotation)
        if algorithm not in names:
            remedy = suggestion(str(algorithm), names)
            raise ConfigError("unknown algorithm", remedy, path, algorithm, "unknown-value")
    return tuple(sorted(written.items()))


@lru_cache(maxsize=256)
def expansion(name: str, size_bytes: int, root: int, ranks: int, algorithms: Algorithms = ()) -> list[Phase]:
    """Return the messages of a collective operation, by phase; by default as MPICH would send them.

    `size_bytes` are those of the vector or, of operations with blocks, of the block of a rank. Raises ConfigError if
    the pattern does not exist for so many ranks.
    """
    kind, default = _PATTERNS[name]
    written: dict[str, Any] = {"kind": kind}
    if default:
        written["message"] = f"{size_bytes} B"
        # The other algorithms of a broadcast divide the vector, which a reduction in reverse would not.
        written["algorithm"] = default if name == "reduce" else dict(algorithms).get(kind, default)
    if name in ROOTED:
        written["root"] = root
    pattern = Pattern.model_validate(written, by_alias=True, by_name=False)
    pattern.check_ranks(ranks)
    if (messages := sum(part.messages for part in pattern.traffic(ranks))) > MAX_OPERATIONS / 2:
        problem = f"{messages:,.0f} messages in one operation of {ranks} ranks"
        raise ConfigError(problem, "choose another algorithm with collectives, or use fewer ranks", code="out-of-range")
    sends = pattern.sends(ranks, np.random.default_rng(0))
    size = np.full(len(sends.phase), size_bytes) if sends.size_bytes is None else sends.size_bytes
    phases = [
        (sends.source[chosen].astype(np.int64), sends.destination[chosen].astype(np.int64), size[chosen])
        for chosen in (sends.phase == phase for phase in np.unique(sends.phase))
    ]
    return [(to, source, size) for source, to, size in reversed(phases)] if name == "reduce" else phases


@lru_cache(maxsize=256)
def _parts(
    name: str, size_bytes: int, root: int, ranks: int, algorithms: Algorithms
) -> list[list[tuple[list[tuple[int, int]], list[tuple[int, int]]]]]:
    """Return, for each rank, the phases of an `expansion` in which it takes part: (peer, bytes) sent and received."""
    parts: list[list[tuple[list[tuple[int, int]], list[tuple[int, int]]]]] = [[] for _ in range(ranks)]
    for phase in expansion(name, size_bytes, root, ranks, algorithms):
        of_rank: dict[int, tuple[list[tuple[int, int]], list[tuple[int, int]]]] = {}
        for source, to, size in zip(*(column.tolist() for column in phase), strict=True):
            of_rank.setdefault(source, ([], []))[0].append((to, size))
            of_rank.setdefault(to, ([], []))[1].append((source, size))
        for rank, part in of_rank.items():
            parts[rank].append(part)
    return parts


class Program:
    """Collects the operations of all ranks; `where` returns the position of a call, given its rank and line.

    Arrays of machine numbers need a fifth of the memory of lists.
    """

    def __init__(self, ranks: int, where: Callable[[int, int], str], algorithms: Algorithms = ()) -> None:
        self.ranks, self.algorithms, self.where = ranks, algorithms, where
        self.overlapping = array("q")
        """Rank and line of each call that begins before the last one of its rank has ended."""
        # Rank, kind, bytes, peer, tag, line, stream.
        self._rows = tuple(array("q") for _ in range(7))
        self._times = array("d")
        self._waits = tuple(array("q") for _ in range(3))
        self._communicators: dict[tuple[int, ...], int] = {}

    def __len__(self) -> int:
        return len(self._times)

    def add(
        self, rank: int, line: int, kind: int, time_ns: float, size: int, peer: int, tag: int, stream: int = 0
    ) -> int:
        """Add an operation; return its number."""
        row = (rank, kind, size, peer, tag, line, stream)
        if max(row) > MAX_NUMBER or min(row) < -MAX_NUMBER:
            raise InputFileError("a number out of range", f"use numbers up to {MAX_NUMBER}")
        if len(self) == MAX_OPERATIONS:
            raise InputFileError("too many operations", f"use at most {MAX_OPERATIONS:,}, such as fewer iterations")
        self._times.append(time_ns)
        for column, value in zip(self._rows, row, strict=True):
            column.append(value)
        return len(self) - 1

    def change(self, operation: int, kind: int, size: int, peer: int, tag: int) -> None:
        """Change an operation, such as a receive of which the source is known later."""
        for column, value in zip(self._rows[1:5], (kind, size, peer, tag), strict=True):
            column[operation] = value

    def wait(self, dependent: int, needs: Iterable[tuple[int, int]]) -> None:
        for operation, when in needs:
            for column, value in zip(self._waits, (dependent, operation, when), strict=True):
                column.append(value)

    def number_of(self, members: tuple[int, ...]) -> int:
        """Return the number of a group of ranks; equal groups have the same."""
        return self._communicators.setdefault(members, len(self._communicators))

    def listing(self, receives_at_most: bool = True) -> Listing:
        """Return the operations; receives take messages of at most their bytes, or of as many."""
        if self.overlapping:
            problem = f"{len(self.overlapping) // 2} calls begin before the last one of their rank has ended"
            first = self.where(self.overlapping[0], self.overlapping[1])
            warn_once(f"warning: {problem}, such as {first}; no computation is between them")
        rank, kind, size, peer, tag, line, stream = (np.frombuffer(rows, dtype=np.int64) for rows in self._rows)
        dependent, needs, when = (np.frombuffer(rows, dtype=np.int64) for rows in self._waits)
        return Listing(
            self.ranks, rank.astype(np.int32), stream, kind.astype(np.int8),
            np.frombuffer(self._times, dtype=np.float64), size, peer, tag, dependent, needs, when.astype(np.int8),
            lambda operation: self.where(int(rank[operation]), int(line[operation])),
            receives_at_most=receives_at_most,
        )  # fmt: skip


class Calls:
    """The calls of one rank, in their order."""

    def __init__(self, program: Program, rank: int) -> None:
        self.program, self.rank, self.line = program, rank, 0
        self.requests: dict[int, int] = {}
        self.last: list[tuple[int, int]] = []
        """Operations that the next call waits for, each with `ENDED` or `STARTED`."""
        self._collectives: dict[int, int] = {}
        self._span: tuple[float, float] | None = None

    def _add(self, kind: int, time_ns: float = 0.0, size: int = 0, peer: int = -1, tag: int = -1) -> int:
        operation = self.program.add(self.rank, self.line, kind, time_ns, size, peer, tag)
        self.program.wait(operation, self.last)
        return operation

    def compute(self, time_ns: float) -> None:
        if time_ns < 0:
            self.program.overlapping.extend((self.rank, self.line))
        if time_ns > 0:
            self.last = [(self._add(CALC, time_ns), ENDED)]

    def follow(self, start: float, stop: float, tick_ns: float = 1) -> None:
        """Compute from the end of earlier calls to the start of this one, unless their clock was set back.

        Raises InputFileError if this call stops before it starts.
        """
        if stop < start:
            problem, remedy = "a call that ends before it begins", "trace the program again, or take its other clock"
            raise InputFileError(problem, remedy, "", stop)
        if self._span is not None:
            began, ended = self._span
            self.compute((start - ended) * tick_ns)
            stop = max(stop, ended) if start >= began else stop
        self._span = start, stop

    def transfer(self, kind: int, peer: int, size: int, tag: int, request: int | None = None) -> None:
        """Send or receive; with a request the next call follows the start. Messages to itself take no time."""
        if peer == self.rank:
            return
        operation = self._add(kind, 0.0, size, peer, tag)
        if request is None:
            self.last = [(operation, ENDED)]
        else:
            self.requests[request] = operation
            self.last = [(operation, STARTED)]

    def post(self, request: int) -> int:
        """Start a receive of which the message is not known yet; return its operation, for `Program.change`."""
        operation = self.requests[request] = self._add(CALC)
        self.last = [(operation, STARTED)]
        return operation

    def exchange(self, sent: Iterable[tuple[int, int, int]], received: Iterable[tuple[int, int, int]]) -> None:
        """Send and receive at the same time; each is a peer, bytes and a tag."""
        ends = [(SEND, *end) for end in sent] + [(RECEIVE, *end) for end in received]
        added = [self._add(kind, 0.0, size, peer, tag) for kind, peer, size, tag in ends if peer != self.rank]
        self.last = [(operation, ENDED) for operation in added] or self.last

    def wait(self, requests: Iterable[int]) -> None:
        """Wait for requests; those that are not known are null, or completed before."""
        known = [self.requests.pop(request) for request in requests if request in self.requests]
        if known:
            self.last += [(operation, ENDED) for operation in known]
            self.last = [(self._add(CALC), ENDED)]

    def collective_tag(self, members: tuple[int, ...]) -> int:
        """Return the tag of the next collective operation of a group of ranks."""
        group = self.program.number_of(members)
        number = self._collectives[group] = self._collectives.get(group, -1) + 1
        return COLLECTIVE_TAG + group * TAGS + number

    def collective(self, name: str, size: int, root: int = 0, members: tuple[int, ...] = ()) -> None:
        """Take part in a collective operation of `members`, the ranks of a communicator in its order; none: all.

        `root` is a rank of the communicator.
        """
        members = members or tuple(range(self.program.ranks))
        if len(members) == 1 or (size == 0 and name != "barrier"):
            return
        if not 0 <= size <= MAX_TRAFFIC_BYTES or not 0 <= root < len(members):
            problem = f"MPI_{name.capitalize()} of {size} B with root {root} in a communicator of {len(members)}"
            raise InputFileError(problem, f"use up to {MAX_TRAFFIC_BYTES} B, and a root below the number of ranks")
        tag = self.collective_tag(members)
        try:
            parts = _parts(name, size, root, len(members), self.program.algorithms)
        except ConfigError as error:
            raise InputFileError(f"MPI_{name.capitalize()}: {error.problem}", error.remedy) from None
        for ends in parts[members.index(self.rank)]:
            sent, received = ([(members[peer], size_bytes, tag) for peer, size_bytes in end] for end in ends)
            self.exchange(sent, received)
