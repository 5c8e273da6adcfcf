"""Traces of liballprof: one file a rank, and one line a call, ``MPI_Send:START:arguments:END``.

Times are in us. A datatype is ``type,size,extent``, a communicator ``handle,rank,size``; see `mpi` for the meaning of
the calls. The files have the numbers of their ranks before the suffix, as ``trace-0.txt``.

References
----------
Hoefler, Schneider and Lumsdaine: LogGOPSim. HPDC 2010, doi:10.1145/1851476.1851564.
"""

from pathlib import Path

from fabricstudy.core.input_files import InputFileError, numbered_lines, read_bytes

from ..matching import Listing
from ..operations import RECEIVE, SEND
from .mpi import EXPANDED, ROOTED, Algorithms, Calls, Program
from .rank_files import rank_files

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
        calls, end_us = Calls(program, rank), -1.0
        for line, text in numbered_lines(read_bytes(path)):
            if not text.startswith("MPI_"):
                continue
            calls.line = line
            name, *words = (word.strip() for word in text.split(":"))
            try:
                end_us = _take(calls, name[4:], words, end_us)
            except InputFileError as error:
                raise InputFileError(error.problem, error.remedy, _at(path, line), error.value) from None
            except (ValueError, IndexError):
                raise InputFileError("not a call of liballprof", "write it again", _at(path, line), text[:80]) from None
    return program.listing()


def _at(path: Path, line: int) -> str:
    return f"{path.name}, line {line}"


def _take(calls: Calls, name: str, words: list[str], end_us: float) -> float:
    """Add a call; return the time of its end."""
    if name == "Init":
        return float(words[-1])
    if name == "Finalize" or name in _IGNORED:
        return end_us
    start_us, end = float(words[0]), float(words[-1])
    if end_us >= 0:
        calls.compute((start_us - end_us) * 1000)
    arguments = words[1:-1]
    if name.lower() in EXPANDED and name != "Reduce_scatter":
        _collective(calls, name.lower(), arguments)
    elif name in ("Send", "Rsend", "Ssend", "Recv", "Isend", "Irecv"):
        peer, size, tag = _end(calls, arguments[1:6])
        if peer != NOBODY:
            request = int(arguments[6]) if name[0] == "I" else None
            calls.transfer(RECEIVE if name.lower().endswith("recv") else SEND, peer, size, tag, request)
    elif name == "Sendrecv":
        communicator = arguments[10]
        ends = (_end(calls, [*arguments[at : at + 4], communicator]) for at in (1, 6))
        calls.exchange(*([end] if end[0] != NOBODY else [] for end in ends))
    elif name == "Wait":
        calls.wait([int(arguments[0])])
    elif name == "Waitall":
        first = int(arguments[1])
        calls.wait(range(first, first + REQUEST_BYTES * int(arguments[0]), REQUEST_BYTES))
    else:
        raise InputFileError(f"the call MPI_{name} is not supported", "trace a program without it")
    return end


def _end(calls: Calls, arguments: list[str]) -> tuple[int, int, int]:
    """Return partner, bytes and tag of count, type, partner, tag and communicator."""
    count, datatype, peer, tag, communicator = arguments
    _check_world(calls, communicator)
    return int(peer), int(count) * _second(datatype), int(tag)


def _second(triple: str) -> int:
    return int(triple.split(",")[1])


def _check_world(calls: Calls, communicator: str) -> None:
    ranks = int(communicator.split(",")[2])
    if ranks != calls.program.ranks:
        problem = f"a communicator of {ranks} of {calls.program.ranks} ranks, whose members are not in the trace"
        raise InputFileError(problem, "trace a program that uses MPI_COMM_WORLD")


def _collective(calls: Calls, name: str, arguments: list[str]) -> None:
    _check_world(calls, arguments[-1])
    if name == "barrier":
        calls.collective(name, 1)
        return
    # Buffers come before count and datatype.
    count = 1 if name in ("allgather", "alltoall", "bcast", "gather", "scatter") else 2
    size = int(arguments[count]) * _second(arguments[count + 1])
    calls.collective(name, size, int(arguments[-2]) if name in ROOTED else 0)
