"""DUMPI: the MPI calls of a program in binary, one file a rank; see `mpi` for the meaning of the calls."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fabricstudy.core.input_files import MAX_RANKS, InputFileError, text_of, whole

from ..matching import ANY, Listing
from ..operations import CALC, RECEIVE, SEND
from .communicators import Communicator, Created, Creation, Grouping, created
from .dumpi_records import CLOCKS as CLOCKS
from .dumpi_records import DAMAGED, END_OF_STREAM, LAYOUT_OF, Call, File
from .mpi import EXPANDED, ROOTED, TAGS, Algorithms, Calls, Clock, Program
from .rank_files import rank_files, read_unpacked

_NULL, _WORLD, _SELF, _UNKNOWN = 1, 2, 3, -1

_LOCAL = frozenset(
    {
        "Comm_rank", "Comm_size", "Finalized", "Get_count", "Initialized", "Iprobe", "Pack", "Pack_size", "Unpack",
        "Wtick", "Wtime",
    }
)  # fmt: skip
"""Calls that are computation: they are frequent, and wait for nothing."""

_CONSTRUCTORS = frozenset(
    {
        "Cart_create", "Cart_sub", "Comm_create", "Comm_dup", "Comm_split", "Graph_create", "Intercomm_create",
        "Intercomm_merge",
    }
)  # fmt: skip
_GROUPINGS = frozenset(
    f"Group_{how}" for how in ("incl", "excl", "range_incl", "range_excl", "union", "intersection", "difference")
) | {"Comm_group"}
_SENDS = ("Send", "Bsend", "Ssend", "Rsend", "Isend", "Ibsend", "Issend", "Irsend")
_TRANSFERS = dict.fromkeys(_SENDS, SEND) | {"Recv": RECEIVE, "Irecv": RECEIVE}
_OF_BLOCKS = ("allgatherv", "alltoallv", "gatherv", "scatterv")
_REFUSED = frozenset({"Scan", "Cancel"})
_ROOTS = {"bcast": 2, "gather": 3, "reduce": 3, "scatter": 3}
_COMMUNICATOR = {"gather": 4, "scatter": 4, "gatherv": 5, "scatterv": 6}
"""Arguments that are the root, and the communicator if it is not the last one."""

_Status = tuple[int, int]
"""Source and tag."""

_End = tuple[int, int, int]
"""Partner, bytes and tag."""

_WAITS = tuple(f"{how}{which}" for how in ("Wait", "Test") for which in ("", "any", "all", "some"))


def _completed(name: str, arguments: list[Any]) -> list[tuple[int, _Status | None]]:
    """Return the requests that a call has found to be complete, with their statuses."""
    # A test, but Testsome, has a flag before the statuses.
    if name not in _WAITS or (name in ("Test", "Testany", "Testall") and not arguments[-2]):
        return []
    requests, statuses = [arguments[0]] if name in ("Wait", "Test") else arguments[1], arguments[-1]
    if name.endswith(("any", "some")):
        indices = [arguments[2]] if name.endswith("any") else arguments[3]
        requests = [requests[index] for index in indices if 0 <= index < len(requests)]
    known = statuses if len(statuses) == len(requests) else [None] * len(requests)
    return list(zip(requests, known, strict=True))


_TYPES: dict[str, Callable[..., int]] = {
    "Type_contiguous": lambda sizes, count, old: count * sizes.get(old, 0),
    "Type_dup": lambda sizes, old: sizes.get(old, 0),
    "Type_indexed": lambda sizes, _, lengths, at, old: sum(lengths) * sizes.get(old, 0),
    "Type_struct": lambda sizes, _, lengths, at, old: sum(
        n * sizes.get(of, 0) for n, of in zip(lengths, old, strict=True)
    ),
    "Type_vector": lambda sizes, count, length, stride, old: count * length * sizes.get(old, 0),
}
_TYPES |= {"Type_hindexed": _TYPES["Type_indexed"], "Type_hvector": _TYPES["Type_vector"]}
"""Bytes of datatypes that a program makes; those of others are in the table if they were used."""


def files(first: Path) -> list[Path]:
    """Return all files of a trace, given the ``.meta`` file or the one of rank 0."""
    return [first, *_of_ranks(first)] if first.suffix == ".meta" else rank_files(first)


def _of_ranks(first: Path) -> list[Path]:
    if first.suffix != ".meta":
        found = rank_files(first)
        meta = first.with_name(re.sub(r"-0+\.bin(\.gz)?$", "", first.name) + ".meta")
        if meta.is_file() and (ranks := _facts(meta)[0]) != len(found):
            problem = f"{ranks} ranks of {meta.name}, and {len(found)} files"
            raise InputFileError(problem, "add the file of each rank", "numprocs", len(found))
        return found
    ranks, prefix = _facts(first)
    if not prefix or Path(prefix).name != prefix:
        raise InputFileError("not the name of files in its folder", "write fileprefix=NAME", "fileprefix", prefix)
    files: list[Path] = []
    for rank in range(ranks + 1):
        path = first.with_name(f"{prefix}-{rank:04d}.bin")
        packed = path.with_name(f"{path.name}.gz")
        path = packed if packed.is_file() and not path.is_file() else path
        if path.is_file() != (rank < ranks):
            problem = f"{ranks} ranks, and {'no' if rank < ranks else 'a'} file of rank {rank}"
            raise InputFileError(problem, "let all ranks write into one folder", "numprocs", path.name)
        files.append(path)
    return files[:-1]


def _facts(meta: Path) -> tuple[int, str]:
    """Return the number of ranks and the prefix of the files' names."""
    lines = (line.partition("=") for line in text_of(read_unpacked(meta)).splitlines())
    facts = {key.strip(): value.strip() for key, _, value in lines}
    return whole(facts.get("numprocs", ""), 1, MAX_RANKS, "numprocs"), facts.get("fileprefix", "")


def read(first: Path, algorithms: Algorithms = (), clock: Clock = "wall") -> Listing:
    """Read the trace of all ranks, with computation by a clock; raises InputFileError, with file and call."""
    paths = _of_ranks(first)
    program = Program(len(paths), lambda rank, line: f"{paths[rank].name}, call {line}", algorithms)
    traces, creations = list[File](), list[list[Creation | Grouping]]()
    for path in paths:
        try:
            traces.append(File(read_unpacked(path)))
            creations.append(_creations(traces[-1], clock))
        except InputFileError as error:
            raise error if error.where == path.name else error.within(path.name) from None
        except DAMAGED:
            raise InputFileError("a damaged file", "copy it again", path.name) from None
    constructed = created(len(paths), {_WORLD: "world", _SELF: "self"}, creations)
    for rank, trace in enumerate(traces):
        reader, number = _Rank(program, rank, trace, constructed[rank]), 0
        try:
            for number, call in enumerate(trace.calls(clock), 1):
                reader.take(number, call)
        except InputFileError as error:
            raise error.within(program.where(rank, number)) from None
        except DAMAGED:
            raise InputFileError("a damaged call", "copy the file again", program.where(rank, number + 1)) from None
    return program.listing()


def _creations(trace: File, clock: Clock) -> list[Creation | Grouping]:
    """Return the calls of a rank that create communicators, and groups for them."""
    counts = trace.take(trace.footer + 8, f"{END_OF_STREAM}I")
    if not any(counts[number] for number, (name, _) in LAYOUT_OF.items() if name in _CONSTRUCTORS):
        return []
    calls = (call for call in trace.calls(clock) if call.name in _CONSTRUCTORS | _GROUPINGS)
    return [_creation(call) if call.name in _CONSTRUCTORS else _grouping(call) for call in calls]


def _creation(call: Call) -> Creation:
    values = call.arguments
    if call.name == "Comm_split":
        return Creation(values[0], values[3], values[1], values[2])
    if call.name == "Comm_dup":
        return Creation(values[0], values[1])
    if call.name == "Cart_create":
        # The first ranks are in it; MPI libraries do not reorder.
        return Creation(values[0], values[5], 0 if values[5] != _NULL else -1)
    if call.name == "Comm_create":
        return Creation(values[0], values[2], group=values[1])
    return Creation(_UNKNOWN, values[-1])


def _grouping(call: Call) -> Grouping:
    *values, new = call.arguments
    how = call.name.removeprefix("Group_")
    if call.name == "Comm_group" or len(values) == 2:
        return Grouping(new, how, *values)
    ranks = values[2]
    if how.startswith("range_"):
        ranges = [range(first, last + (1 if step > 0 else -1), step) for first, last, step in ranks]
        if sum(map(len, ranges)) > MAX_RANKS:
            raise IndexError
        ranks = [rank for part in ranges for rank in part]
    return Grouping(new, how.removeprefix("range_"), values[0], ranks=tuple(ranks))


class _Rank:
    """Takes the calls of one rank."""

    def __init__(self, program: Program, rank: int, trace: File, made: Created) -> None:
        self.program, self.rank, self.calls = program, rank, Calls(program, rank)
        self.sizes, self.made = dict(enumerate(trace.sizes)), iter(made)
        world = Communicator(0, tuple(range(program.ranks)))
        self.communicators: dict[int, Communicator | None] = {_WORLD: world, _SELF: Communicator(-1, (rank,))}
        self.persistent: dict[int, tuple[int, list[_End]]] = {}
        # Receives whose source or tag is known when they have ended.
        self.open: dict[int, tuple[Communicator, int]] = {}

    def take(self, number: int, call: Call) -> None:
        name, values = call.name, call.arguments
        completed = _completed(name, values)
        if name in _LOCAL or (name.startswith("Test") and not completed):
            return
        self.calls.line = number
        self.calls.follow(call.start_ns, call.stop_ns)
        if name in _CONSTRUCTORS:
            self.communicators[_creation(call).new] = next(self.made, None)
        elif name in _TRANSFERS:
            self.transfer(_TRANSFERS[name], values, values[5] if name[0] == "I" else None)
        elif name.endswith("_init"):
            self.persistent[values[5]] = RECEIVE if name == "Recv_init" else SEND, self.ends(*values[:5])
        elif name in ("Start", "Startall"):
            for request in values if name == "Start" else values[1]:
                kind, ends = self.persistent.get(request, (CALC, []))
                for end in ends:
                    self.calls.transfer(kind, *end, request)
        elif name == "Request_free":
            self.calls.requests.pop(values[0], None)
        elif completed:
            for request, status in completed:
                self.learn(self.calls.requests.get(request, -1), status)
            self.calls.wait(request for request, _ in completed)
        elif name == "Sendrecv":
            sent, received = (values[at : at + 4] + values[8:9] for at in (0, 4))
            self.calls.exchange(self.ends(*sent), self.ends(*received))
        elif name == "Sendrecv_replace":
            sent, received = (values[:2] + values[at : at + 2] + values[6:7] for at in (2, 4))
            self.calls.exchange(self.ends(*sent), self.ends(*received))
        elif name.lower() in (*EXPANDED, *_OF_BLOCKS):
            self.collective(name.lower(), values)
        elif name in _TYPES:
            *_, new = values
            self.sizes[new] = _TYPES[name](self.sizes, *values[:-1]) or self.sizes.get(new, 0)
        elif name in _REFUSED:
            raise InputFileError(f"the call MPI_{name} is not supported", "trace a program without it")

    def transfer(self, kind: int, values: list[Any], request: int | None) -> None:
        for peer, size, tag in self.ends(*values[:5]):
            before = len(self.program)
            self.calls.transfer(kind, peer, size, tag, request)
            if kind == RECEIVE and min(peer, tag) < 0:
                self.open[before] = self.communicator(values[4]), size
                if request is None:
                    self.learn(before, next(iter(values[5]), None))

    def ends(self, count: int, datatype: int, peer: int, tag: int, communicator: int) -> list[_End]:
        """Return partner in the world, bytes and tag, or nothing for MPI_PROC_NULL."""
        of = self.communicator(communicator)
        if peer < ANY or of.number < 0:
            return []
        if peer >= len(of.members):
            raise InputFileError("no such rank in the communicator", f"it has {len(of.members)}", "", peer)
        of_tag = tag + of.number * TAGS if tag >= 0 else ANY
        return [(of.members[peer] if peer >= 0 else ANY, self.size(count, datatype), of_tag)]

    def communicator(self, number: int) -> Communicator:
        of = self.communicators.get(number)
        if of is None:
            problem = "a communicator whose members are not known"
            raise InputFileError(problem, "use MPI_Comm_dup, _split, _create or MPI_Cart_create", "", number)
        return of

    def size(self, count: int, datatype: int) -> int:
        if count < 0:
            raise InputFileError("a negative count", "copy the file again", "", count)
        if count and self.sizes.get(datatype, 0) <= 0:
            raise InputFileError("the trace has no size of a datatype", "let DUMPI write the sizes", "", datatype)
        return count * self.sizes.get(datatype, 0)

    def learn(self, operation: int, status: _Status | None) -> None:
        """Take the source and tag of the message that an operation has received."""
        if operation not in self.open or status is None:
            return
        of, size = self.open.pop(operation)
        source, tag = status
        if 0 <= source < len(of.members) and tag >= 0 and of.members[source] != self.rank:
            self.program.change(operation, RECEIVE, size, of.members[source], tag + of.number * TAGS)
        elif source < 0 or (source < len(of.members) and of.members[source] == self.rank):
            # MPI_PROC_NULL of MPICH is DUMPI's number of any source; messages to itself take no time.
            self.program.change(operation, CALC, 0, ANY, ANY)

    def collective(self, name: str, values: list[Any]) -> None:
        of = self.communicator(values[_COMMUNICATOR.get(name, -1)])
        if len(of.members) == 1:
            return
        if name in _OF_BLOCKS:
            self.of_blocks(name, values, of)
            return
        root, size = values[_ROOTS[name]] if name in ROOTED else 0, 0
        if name == "reduce_scatter":
            size = self.size(sum(values[1]), values[2])
        elif name in ("bcast", "reduce", "allreduce"):
            size = self.size(*values[:2])
        elif name in ("gather", "scatter"):
            # The root may have its block in place.
            size = self.size(*(values[5:7] or values[1:3]))
        elif name != "barrier":
            size = self.size(*values[2:4])
        self.calls.collective(name, size, root, of.members)

    def of_blocks(self, name: str, values: list[Any], of: Communicator) -> None:
        """Take part in a collective operation with blocks of different sizes, without the empty ones."""
        members, ranks = of.members, len(of.members)
        me, tag = members.index(self.rank), self.calls.collective_tag(of.members)

        def blocks(counts: Iterable[int], datatype: int) -> list[_End]:
            sizes = (self.size(count, datatype) for count in counts)
            return [(members[peer], size, tag) for peer, size in enumerate(sizes) if size and peer != me]

        if name == "allgatherv":
            sizes = [self.size(count, values[5]) for count in values[3]]
            after, before = members[(me + 1) % ranks], members[(me - 1) % ranks]
            for step in range(ranks - 1):
                sent, received = sizes[(me - step) % ranks], sizes[(me - 1 - step) % ranks]
                self.calls.exchange([(after, sent, tag)][: bool(sent)], [(before, received, tag)][: bool(received)])
        elif name == "alltoallv":
            self.calls.exchange(blocks(values[1], values[3]), blocks(values[4], values[6]))
        else:
            at, count, datatype = (4, 2, 3) if name == "gatherv" else (5, 3, 4)
            own = self.size(*values[count : datatype + 1])
            ends = [(members[values[at]], own, tag)][: bool(own)]
            if me == values[at]:
                ends = blocks(values[6 if name == "gatherv" else 7], values[-1 if name == "gatherv" else 2])
            sends = (name == "gatherv") != (me == values[at])
            self.calls.exchange(ends if sends else [], [] if sends else ends)
