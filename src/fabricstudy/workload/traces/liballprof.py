"""Traces of liballprof: one file a rank, and one line a call, ``MPI_Send:START:arguments:END``.

Times are in us. A datatype is ``type,size,extent``, a communicator ``handle,rank,size``; see `mpi` for the meaning of
the calls. The files have the numbers of their ranks before the suffix, as ``trace-0.txt``.

References
----------
Hoefler, Schneider and Lumsdaine: LogGOPSim. HPDC 2010, doi:10.1145/1851476.1851564.
"""

from pathlib import Path

from fabricstudy.core.input_files import InputFileError, finite_number, numbered_lines, whole

from ..matching import Listing
from ..operations import RECEIVE, SEND
from .mpi import EXPANDED, ROOTED, Algorithms, Calls, Program
from .rank_files import rank_files, read_unpacked

_IGNORED = frozenset(
    {"Comm_rank", "Comm_size", "Get_count", "Iprobe", "Probe", "Test", "Testall", "Wtime", "Initialized"}
)
files = rank_files
REQUEST_BYTES = 8
NOBODY = -2
"""MPI_PROC_NULL of MPICH is -1, which liballprof writes for any source; of Open MPI it is -2."""


def read(first: Path, algorithms: Algorithms = ()) -> Listing:
    """Read the trace of all ranks, given the file of rank 0; raises InputFileError, with file and line."""
    paths = files(first)
    program = Program(len(paths), lambda rank, line: f"{paths[rank].name}, line {line}", algorithms)
    for rank, path in enumerate(paths):
        calls = Calls(program, rank)
        for line, text in numbered_lines(read_unpacked(path)):
            if not text.strip() or text.startswith("#"):
                continue
            calls.line = line
            name, *words = (word.strip() for word in text.split(":"))
            try:
                if not name.startswith("MPI_"):
                    raise IndexError
                _take(calls, name[4:], words)
            except InputFileError as error:
                raise error.within(program.where(rank, line)) from None
            except (ValueError, IndexError):
                where = program.where(rank, line)
                raise InputFileError("not a call of liballprof", "write it again", where, text[:80]) from None
    return program.listing()


def _take(calls: Calls, name: str, words: list[str]) -> None:
    """Add a call."""
    if name == "Init":
        calls.follow(_time_us(words[-1]), _time_us(words[-1]))
    if name in ("Init", "Finalize") or name in _IGNORED:
        return
    start_us, end_us = _time_us(words[0]), _time_us(words[-1])
    calls.follow(start_us, end_us, 1000)
    arguments = words[1:-1]
    if name.lower() in EXPANDED and name != "Reduce_scatter":
        _collective(calls, name.lower(), arguments)
    elif name in ("Send", "Rsend", "Ssend", "Recv", "Isend", "Irecv"):
        peer, size, tag = _end(calls, arguments[1:6])
        if peer != NOBODY:
            request = _int(arguments[6]) if name[0] == "I" else None
            calls.transfer(RECEIVE if name.lower().endswith("recv") else SEND, peer, size, tag, request)
    elif name == "Sendrecv":
        communicator = arguments[10]
        ends = (_end(calls, [*arguments[at : at + 4], communicator]) for at in (1, 6))
        calls.exchange(*([end] if end[0] != NOBODY else [] for end in ends))
    elif name == "Wait":
        calls.wait([_int(arguments[0])])
    elif name == "Waitall":
        first = _int(arguments[1])
        waited = range(first, first + REQUEST_BYTES * _int(arguments[0]), REQUEST_BYTES)
        # A count may be far above that of the requests.
        calls.wait(waited if len(waited) <= len(calls.requests) else sorted(set(calls.requests).intersection(waited)))
    else:
        raise InputFileError(f"the call MPI_{name} is not supported", "trace a program without it")


def _end(calls: Calls, arguments: list[str]) -> tuple[int, int, int]:
    """Return partner, bytes and tag of count, type, partner, tag and communicator."""
    count, datatype, peer, tag, communicator = arguments
    _check_world(calls, communicator)
    return whole(peer, NOBODY, calls.program.ranks - 1, "partner"), _size(count, datatype), _int(tag)


def _int(word: str) -> int:
    """Return a whole number; `int` also takes underscores and other digits."""
    return whole(word, -(2**62), 2**62, "")


def _time_us(word: str) -> float:
    return finite_number(word, 0, 1e17, "")


def _size(count: str, datatype: str) -> int:
    """Return the bytes of a buffer."""
    return whole(count, 0, 2**40, "count") * whole(datatype.split(",")[1], 0, 2**20, "bytes of the datatype")


def _check_world(calls: Calls, communicator: str) -> None:
    rank, ranks = (_int(part) for part in communicator.split(",")[1:3])
    if ranks > calls.program.ranks:
        problem = f"a communicator of {ranks} ranks in a trace of {calls.program.ranks}"
        raise InputFileError(problem, "add the file of each rank")
    if (rank, ranks) != (calls.rank, calls.program.ranks):
        problem = f"rank {rank} of another communicator of {ranks} ranks, whose members are not in the trace"
        raise InputFileError(problem, "trace a program that uses MPI_COMM_WORLD")


def _collective(calls: Calls, name: str, arguments: list[str]) -> None:
    _check_world(calls, arguments[-1])
    if name == "barrier":
        calls.collective(name, 0)
        return
    # Buffers come before count and datatype.
    count = 1 if name in ("allgather", "alltoall", "bcast", "gather", "scatter") else 2
    size = _size(arguments[count], arguments[count + 1])
    calls.collective(name, size, _int(arguments[-2]) if name in ROOTED else 0)
