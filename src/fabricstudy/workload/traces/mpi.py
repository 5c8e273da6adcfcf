"""The MPI calls of ranks, one after another, as operations.

What passes between two calls is computation. A blocking call ends before the next one, a non-blocking one only starts
before it; waiting for requests needs their ends. Collective operations are those of this project (`expansions`), among
all ranks of the trace. Empty messages have one byte, the minimum here.
"""

from array import array
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

from fabricstudy.core.arrays import Ints
from fabricstudy.core.errors import ConfigError
from fabricstudy.core.input_files import InputFileError

from ..matching import Listing
from ..operations import CALC, ENDED, RECEIVE, SEND, STARTED
from ..pattern.base import Pattern

COLLECTIVE_TAG = 2**32
"""First tag of messages of collective operations: tags of programs are below 2^31."""

Phase = tuple[Ints, Ints, Ints]
"""Sources, destinations and bytes."""

_PATTERNS: dict[str, tuple[str, dict[str, str]]] = {
    "allgather": ("all-gather", {}),
    "allreduce": ("all-reduce", {"algorithm": "mpich"}),
    "alltoall": ("all-to-all", {}),
    "barrier": ("barrier", {}),
    "bcast": ("broadcast", {"algorithm": "mpich"}),
    "gather": ("gather", {}),
    "reduce": ("broadcast", {"algorithm": "binomial"}),
    "scatter": ("scatter", {}),
}
"""Pattern of each collective operation; a reduction is a broadcast in reverse."""

EXPANDED = tuple(_PATTERNS)


@cache
def expansion(name: str, size_bytes: int, root: int, ranks: int) -> list[Phase]:
    """Return the messages of a collective operation, by phase, as MPICH would send them.

    `size_bytes` are those of the vector or, of operations with blocks, of the block of a rank. Raises ConfigError if
    the pattern does not exist for so many ranks.
    """
    kind, keys = _PATTERNS[name]
    written: dict[str, Any] = {"kind": kind, **keys}
    if name != "barrier":
        written["message"] = f"{max(1, size_bytes)} B"
    if name in ("bcast", "gather", "reduce", "scatter"):
        written["root"] = root
    pattern = Pattern.model_validate(written, by_alias=True, by_name=False)
    pattern.check_ranks(ranks)
    sends = pattern.sends(ranks, np.random.default_rng(0))
    size = np.full(len(sends.phase), max(1, size_bytes)) if sends.size_bytes is None else sends.size_bytes
    phases = [
        (sends.source[chosen].astype(np.int64), sends.destination[chosen].astype(np.int64), size[chosen])
        for chosen in (sends.phase == phase for phase in np.unique(sends.phase))
    ]
    return [(to, source, size) for source, to, size in reversed(phases)] if name == "reduce" else phases


class Program:
    """Collects the operations of all ranks; `where` of an operation is that of its call."""

    def __init__(self, ranks: int, where: Callable[[int, int], str]) -> None:
        self.ranks, self._where = ranks, where
        # Rank, kind, bytes, peer, tag, line.
        self._rows = tuple(array("q") for _ in range(6))
        self._times = array("d")
        self._waits = tuple(array("q") for _ in range(3))

    def add(self, rank: int, line: int, kind: int, time_ns: float, size: int, peer: int, tag: int) -> int:
        """Add an operation; return its number."""
        self._times.append(time_ns)
        for column, value in zip(self._rows, (rank, kind, size, peer, tag, line), strict=True):
            column.append(value)
        return len(self._times) - 1

    def wait(self, dependent: int, needs: Iterable[tuple[int, int]]) -> None:
        for operation, when in needs:
            for column, value in zip(self._waits, (dependent, operation, when), strict=True):
                column.append(value)

    def listing(self) -> Listing:
        rank, kind, size, peer, tag, line = (np.frombuffer(rows, dtype=np.int64) for rows in self._rows)
        dependent, needs, when = (np.frombuffer(rows, dtype=np.int64) for rows in self._waits)
        return Listing(
            self.ranks, rank.astype(np.int32), np.zeros(len(rank), dtype=np.int32), kind.astype(np.int8),
            np.frombuffer(self._times, dtype=np.float64), size, peer, tag, dependent, needs, when.astype(np.int8),
            lambda operation: self._where(int(rank[operation]), int(line[operation])),
        )  # fmt: skip


class Calls:
    """The calls of one rank, in their order."""

    def __init__(self, program: Program, rank: int) -> None:
        self.program, self.rank, self.line = program, rank, 0
        self._last: list[tuple[int, int]] = []
        self._requests: dict[int, int] = {}
        self._collectives = 0

    def _add(self, kind: int, time_ns: float = 0.0, size: int = 0, peer: int = -1, tag: int = -1) -> int:
        operation = self.program.add(self.rank, self.line, kind, time_ns, size, peer, tag)
        self.program.wait(operation, self._last)
        return operation

    def compute(self, time_ns: float) -> None:
        if time_ns > 0:
            self._last = [(self._add(CALC, time_ns), ENDED)]

    def transfer(self, kind: int, peer: int, size: int, tag: int, request: int | None = None) -> None:
        """Send or receive; with a request the next call follows the start. Messages to itself take no time."""
        if peer == self.rank:
            return
        operation = self._add(kind, 0.0, max(1, size), peer, tag)
        if request is None:
            self._last = [(operation, ENDED)]
        else:
            self._requests[request] = operation
            self._last = [(operation, STARTED)]

    def exchange(self, to: tuple[int, int, int], source: tuple[int, int, int]) -> None:
        """Send and receive at the same time; each is a peer, bytes and a tag."""
        ends = ((SEND, to), (RECEIVE, source))
        both = [self._add(kind, 0.0, max(1, size), peer, tag) for kind, (peer, size, tag) in ends if peer != self.rank]
        self._last = [(operation, ENDED) for operation in both] or self._last

    def wait(self, requests: Iterable[int]) -> None:
        """Wait for requests; those that are not known are null, or completed before."""
        known = [self._requests.pop(request) for request in requests if request in self._requests]
        if known:
            self._last += [(operation, ENDED) for operation in known]
            self._last = [(self._add(CALC), ENDED)]

    def collective(self, name: str, size: int, root: int = 0) -> None:
        """Take part in a collective operation of all ranks."""
        if self.program.ranks == 1:
            return
        try:
            phases = expansion(name, size, root, self.program.ranks)
        except ConfigError as error:
            raise InputFileError(f"MPI_{name.capitalize()}: {error.problem}", error.remedy, str(self.line)) from None
        tag = COLLECTIVE_TAG + self._collectives
        self._collectives += 1
        for source, destination, size_bytes in phases:
            added = [self._add(SEND, 0.0, int(size_bytes[i]), int(destination[i]), tag)
                     for i in np.flatnonzero(source == self.rank)]  # fmt: skip
            added += [self._add(RECEIVE, 0.0, int(size_bytes[i]), int(source[i]), tag)
                      for i in np.flatnonzero(destination == self.rank)]  # fmt: skip
            self._last = [(operation, ENDED) for operation in added] or self._last
