"""OTF2 archives of Score-P: the MPI events of processes; see `mpi` for the meaning of the calls.

The time between MPI regions counts as computation. Processes are the ranks of MPI_COMM_WORLD; of their threads only
those that call MPI are read. The package ``otf2`` reads the archive. Bytes of collective operations are totals as
Score-P counts them, p times the vector of a rank; in place they are p - 1 times, which an archive does not say.

References
----------
Eschweiler et al.: Open Trace Format 2: the next generation of scalable trace formats and support libraries. PARCO 2011,
doi:10.3233/978-1-61499-041-3-481.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from fabricstudy.core.input_files import InputFileError
from fabricstudy.core.log import warn_once

from ..matching import Listing
from ..operations import RECEIVE, SEND
from .mpi import EXPANDED, ROOTED, TAGS, Algorithms, Calls, Program

_REFUSED = ("NonBlockingCollective", "Rma", "MpiRequestCancelled")
"""Prefixes of the names of events that communicate but are not supported."""

_WRONG: tuple[type[Exception], ...] = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a damaged archive raises where a definition is missing or of another kind."""

_SILENT = ("CREATE_HANDLE", "DESTROY_HANDLE", "CREATE_HANDLE_AND_ALLOCATE", "DESTROY_HANDLE_AND_DEALLOCATE")


def files(first: Path) -> list[Path]:
    """Return all files of an archive, given its anchor file."""
    if not first.is_file():
        raise InputFileError("no such file", "check its name", "", str(first), "file-not-found")
    folder = first.with_suffix("")
    inner = sorted(file for file in folder.rglob("*") if file.suffix in (".def", ".evt", ".snap"))
    return [first, *(file for file in (first.with_suffix(".def"),) if file.is_file()), *inner]


def _missing(first: Path, suffix: str, of: str) -> str | None:
    """Return the name of a file of a location that has the one with the suffix `of`, but not with this one."""
    folder = first.with_suffix("")
    alone = {file.stem for file in folder.glob(f"*{of}")} - {file.stem for file in folder.glob(f"*{suffix}")}
    return f"{folder.name}/{min(alone)}{suffix}" if alone else None


def _package() -> tuple[ModuleType, tuple[type[Exception], ...]]:
    """Return the package, and its exceptions."""
    try:
        import _otf2.ErrorCodes
        import otf2.error
    except ImportError:
        remedy = "install it: pip install fabricstudy[otf2]"
        raise InputFileError("OTF2 archives need the Python package otf2", remedy) from None
    return otf2, (otf2.error.Error, _otf2.ErrorCodes.Error)


def read(first: Path, algorithms: Algorithms = ()) -> Listing:
    """Read an archive; raises InputFileError, with process and event."""
    package, mistakes = _package()
    if any(first.with_suffix("").glob("*.def")) and (missing := _missing(first, ".def", ".evt")):
        warn_once(f"warning: a location without definitions of its own, as others have: {missing}; is it complete?")
    try:
        with _without_messages(), package.reader.open(str(first)) as trace:
            return _read(trace, algorithms)
    except InputFileError:
        raise
    except mistakes as error:
        if missing := _missing(first, ".evt", ".def"):
            problem = "an OTF2 archive without the events of a location"
            raise InputFileError(problem, "copy all its files again", "", missing) from None
        problem = f"no complete OTF2 archive: {str(error).strip().partition(chr(10))[0]}"
        raise InputFileError(problem, "name the file .otf2 beside its folder, or copy all its files again") from None
    except _WRONG:
        problem = "an OTF2 archive with a definition that is missing or of another kind"
        raise InputFileError(problem, "copy all its files again") from None


@contextmanager
def _without_messages() -> Iterator[None]:
    """Keep what the library in C writes about its errors, which it also raises, from standard error."""
    saved, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)


def _read(trace: Any, algorithms: Algorithms) -> Listing:
    world = _world(trace)
    rank_of = {location.group: rank for rank, location in enumerate(world)}
    if len(rank_of) < len(world):
        raise InputFileError("several ranks in one process", "trace one rank a process")
    if not trace.timer_resolution:
        raise InputFileError("a timer of resolution 0", "record the archive again")
    program = Program(len(world), lambda rank, line: f"{world[rank].group.name}, event {line}", algorithms)
    ranks = [_Rank(program, rank, 1e9 / trace.timer_resolution, rank_of) for rank in range(len(world))]
    for location, event in trace.events:
        if location.group in rank_of:
            reader = ranks[rank_of[location.group]]
            try:
                reader.take(location, event)
            except InputFileError as error:
                raise error.within(program.where(reader.rank, reader.calls.line)) from None
    return program.listing()


def _world(trace: Any) -> list[Any]:
    """Return a location of each rank of the largest communicator of MPI."""
    mpi = [comm for comm in trace.definitions.comms if _name(comm.group.paradigm) == "MPI"]
    if not mpi:
        raise InputFileError("no communicator of MPI", "trace a program that uses MPI")
    members: list[Any] = list(max(mpi, key=lambda comm: len(comm.group.members)).group.members)
    return members


def _name(constant: object) -> str:
    return str(constant).rpartition(".")[2]


class _Rank:
    """Takes the events of one process."""

    def __init__(self, program: Program, rank: int, tick_ns: float, rank_of: dict[Any, int]) -> None:
        self.calls, self.rank, self.tick_ns, self.rank_of = Calls(program, rank), rank, tick_ns, rank_of
        self.location: Any = None
        self.left: int | None = None
        self.depth = 0
        # Receives, whose messages are known when they are complete, by request.
        self.posted: dict[int, int] = {}
        self.done: list[int] = []
        self.sent: list[tuple[int, int, int]] = []
        self.received: list[tuple[int, int, int]] = []

    def take(self, location: Any, event: Any) -> None:
        self.calls.line += 1
        name = type(event).__name__
        if name in ("Enter", "Leave"):
            if not event.region.name.startswith("MPI_"):
                return
            if self.location not in (None, location):
                raise InputFileError("several threads of a process call MPI", "trace with MPI_THREAD_FUNNELED")
            self.location = location
            self.enter(event.time) if name == "Enter" else self.leave(event)
        elif name in _EVENTS:
            _EVENTS[name](self, event)
        elif name.startswith(_REFUSED):
            raise InputFileError(f"the event {name} is not supported", "trace a program without it")

    def enter(self, time: int) -> None:
        if not self.depth and self.left is not None:
            self.calls.compute((time - self.left) * self.tick_ns)
        self.depth += 1

    def leave(self, event: Any) -> None:
        self.depth -= 1
        if self.depth:
            return
        self.left = event.time
        if self.sent or self.received:
            # Blocking calls of a region happen at the same time, as in MPI_Sendrecv.
            self.calls.exchange(self.sent, self.received)
            self.sent, self.received = [], []
        self.calls.wait(self.done)
        self.done = []

    def end(self, event: Any, other: int) -> tuple[int, int, int]:
        """Return partner in the world, bytes and tag."""
        members = self.members(event.communicator)
        if not 0 <= other < len(members):
            raise InputFileError("no such rank in the communicator", f"it has {len(members)}", "", other)
        world = members == tuple(range(self.calls.program.ranks))
        context = 0 if world else 1 + self.calls.program.number_of(members)
        return members[other], event.msg_length, event.msg_tag + context * TAGS

    def members(self, communicator: Any) -> tuple[int, ...]:
        if _name(communicator.group.group_type) == "COMM_SELF":
            return (self.rank,)
        return tuple(self.rank_of[location.group] for location in communicator.group.members)

    def send(self, event: Any) -> None:
        self.sent.append(self.end(event, event.receiver))

    def receive(self, event: Any) -> None:
        self.received.append(self.end(event, event.sender))

    def isend(self, event: Any) -> None:
        self.calls.transfer(SEND, *self.end(event, event.receiver), event.request_id)

    def irecv_request(self, event: Any) -> None:
        # Its source is in the event of its completion.
        self.posted[event.request_id] = self.calls.post(event.request_id)

    def irecv(self, event: Any) -> None:
        operation = self.posted.pop(event.request_id, None)
        peer, size, tag = self.end(event, event.sender)
        if operation is None:
            raise InputFileError("the end of a receive without its begin", "trace the whole program")
        if peer != self.rank:
            self.calls.program.change(operation, RECEIVE, size, peer, tag)
        self.complete(event)

    def complete(self, event: Any) -> None:
        self.done.append(event.request_id)

    def collective(self, event: Any) -> None:
        name = _name(event.collective_op)
        members = self.members(event.communicator)
        if name in _SILENT or len(members) == 1:
            return
        known, ranks = name.lower(), len(members)
        if known not in EXPANDED or known == "reduce_scatter":
            raise InputFileError(f"the collective operation {name} is not supported", "trace a program without it")
        # Each rank sends its vector or block to all, and the root to each or from each; 0 is that of a root in place.
        size = -(-event.size_sent // ranks)
        if known in ("gather", "reduce"):
            size = event.size_sent or event.size_received // (ranks - 1)
        elif known in ("bcast", "scatter"):
            size = event.size_received or event.size_sent // (ranks - 1)
        self.calls.collective(known, size, event.root if known in ROOTED else 0, members)


_EVENTS: dict[str, Callable[[_Rank, Any], None]] = {
    "MpiCollectiveEnd": _Rank.collective, "MpiIrecv": _Rank.irecv, "MpiIrecvRequest": _Rank.irecv_request,
    "MpiIsend": _Rank.isend, "MpiIsendComplete": _Rank.complete, "MpiRecv": _Rank.receive, "MpiSend": _Rank.send,
}  # fmt: skip
