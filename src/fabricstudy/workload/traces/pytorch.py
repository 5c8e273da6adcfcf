"""PyTorch execution traces with the kernels of Kineto: what the accelerator of each rank did.

One execution trace a rank, ``x_0.json``, ``x_1.json``, ..., and beside each the trace of ``torch.profiler`` of the same
steps, ``x_0.kineto.json``. Kernels and copies are calcs, one stream for each of the accelerator. A kernel waits for the
one before in its stream and for the one that ended last before its start, and begins as long after that as recorded.
The k-th kernel of NCCL is the k-th collective operation of the execution trace, whose messages replace its time. The
time of hosts is in these gaps.

References
----------
PyTorch: torch/csrc/profiler/standalone/execution_trace_observer.cpp, schemas 1.0.1 to 1.1.1; github.com/pytorch/kineto.
"""

import json
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from pathlib import Path
from typing import Any, NamedTuple

from fabricstudy.core.input_files import InputFileError, text_of

from ..matching import Listing
from ..operations import CALC, ENDED
from .mpi import ROOTED, Algorithms, Calls, Program
from .rank_files import rank_files, read_unpacked

_COLLECTIVES = {
    "allreduce": ("allreduce", "AllReduce"), "allreduce_coalesced": ("allreduce", "AllReduce"),
    "broadcast": ("bcast", "Broadcast"), "allgather": ("allgather", "AllGather"),
    "_allgather_base": ("allgather", "AllGather"), "all_gather": ("allgather", "AllGather"),
    "reduce_scatter": ("reduce_scatter", "ReduceScatter"), "_reduce_scatter_base": ("reduce_scatter", "ReduceScatter"),
    "reduce": ("reduce", "Reduce"), "all_to_all": ("alltoall", "SendRecv"), "all_to_allv": ("alltoall", "SendRecv"),
    "barrier": ("barrier", "AllReduce"),
}  # fmt: skip
"""Operation, and the part of the name of its kernel, of the names of PyTorch."""

_WAITS = ("wait", "init")
_ON_ACCELERATOR = ("kernel", "gpu_memcpy", "gpu_memset")
_WRONG = (AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""What a file of another content raises."""


class Operation(NamedTuple):
    """A collective operation: bytes of a rank, those for each other, if they differ, and the group by its name."""

    name: str
    kernel: str
    size_bytes: int
    sent: list[int]
    received: list[int]
    root: int
    group: str


class Kernel(NamedTuple):
    name: str
    stream: int
    start_us: float
    end_us: float
    launch: int


def files(first: Path) -> list[Path]:
    """Return the execution traces of all ranks, given that of rank 0, and then the traces of their profilers."""
    ranks = rank_files(first)
    return [*ranks, *(_beside(path) for path in ranks)]


def _beside(path: Path) -> Path:
    name = path.name.removesuffix(".gz").removesuffix(".json")
    found = [path.with_name(f"{name}.kineto.json{packed}") for packed in ("", ".gz")]
    file = next((file for file in found if file.is_file()), None)
    if file is None:
        remedy = f"name the trace of torch.profiler of this rank {found[0].name}"
        raise InputFileError("an execution trace has no times without that of Kineto", remedy, path.name)
    return file


def read(first: Path, algorithms: Algorithms = ()) -> Listing:
    """Read the traces of all ranks, given the execution trace of rank 0; raises InputFileError, with the file."""
    paths = files(first)
    ranks = len(paths) // 2
    program = Program(ranks, lambda rank, line: f"{paths[ranks + rank].name}, event {line}", algorithms)
    for rank, (path, beside) in enumerate(zip(paths[:ranks], paths[ranks:], strict=True)):
        try:
            nodes = _objects_of(path, "nodes")
            operations, groups = list(_operations_of(nodes)), _groups_of(nodes)
        except InputFileError:
            raise
        except _WRONG:
            raise InputFileError("not an execution trace of PyTorch", "write it again", path.name) from None
        try:
            _take(Calls(program, rank), _kernels_of(_objects_of(beside, "traceEvents")), operations, groups)
        except InputFileError as error:
            raise error.within(beside.name) from None
        except _WRONG:
            raise InputFileError("not a trace of Kineto", "write it again", beside.name) from None
    return program.listing()


def _take(calls: Calls, kernels: list[Kernel], operations: list[Operation], groups: dict[str, tuple[int, ...]]) -> None:
    """Add the kernels of a rank, and what they wait for."""
    of_nccl = sorted((kernel for kernel in kernels if kernel.name.lower().startswith("nccl")), key=lambda k: k.launch)
    if len(of_nccl) != len(operations):
        problem = f"{len(of_nccl)} kernels of NCCL, and {len(operations)} collective operations in the execution trace"
        raise InputFileError(problem, "record both of the same steps")
    taken = dict(zip(of_nccl, operations, strict=True))
    numbers = {stream: number for number, stream in enumerate(sorted({kernel.stream for kernel in kernels}))}
    last_of, ended, running = dict[int, int](), -1, list[tuple[float, int]]()
    ended_us = kernels[0].start_us if kernels else 0.0
    for line, kernel in enumerate(kernels):
        calls.line = line
        while running and running[0][0] <= kernel.start_us:
            ended_us, ended = heappop(running)
        stream = 2 * numbers[kernel.stream]
        needs = {operation for operation in (ended, last_of.get(kernel.stream, -1)) if operation >= 0}
        # A stream of its own, in which nothing else waits for it.
        gap = calls.program.add(calls.rank, line, CALC, 1000 * (kernel.start_us - ended_us), 0, -1, -1, stream + 1)
        calls.program.wait(gap, [(operation, ENDED) for operation in sorted(needs)])
        calls.last = [(gap, ENDED)]
        if kernel in taken:
            _collective(calls, kernel, taken[kernel], groups)
            duration_us = 0.0
        else:
            duration_us = kernel.end_us - kernel.start_us
        end = calls.program.add(calls.rank, line, CALC, 1000 * duration_us, 0, -1, -1, stream)
        calls.program.wait(end, calls.last)
        last_of[kernel.stream] = end
        heappush(running, (kernel.end_us, end))


def _collective(calls: Calls, kernel: Kernel, operation: Operation, groups: dict[str, tuple[int, ...]]) -> None:
    if operation.kernel not in kernel.name and "Generic" not in kernel.name:
        problem = f"the kernel {kernel.name[:60]} in the place of the operation {operation.name}"
        raise InputFileError(problem, "record both of the same steps")
    members = groups.get(operation.group, ()) or tuple(range(calls.program.ranks))
    if calls.rank not in members or max(members) >= calls.program.ranks:
        raise InputFileError(f"a process group of other ranks than those of the trace: {members}", "add their files")
    size = operation.size_bytes
    if operation.name == "alltoall" and operation.sent:
        tag = calls.collective_tag(members)
        ends = (
            [(peer, size, tag) for peer, size in zip(members, sizes, strict=True) if size and peer != calls.rank]
            for sizes in (operation.sent, operation.received)
        )
        calls.exchange(*ends)
    else:
        size = -(-size // len(members)) if operation.name == "alltoall" else size
        root = operation.root if operation.name in ROOTED else 0
        calls.collective(operation.name, size, root, members)


def _objects_of(path: Path, key: str) -> list[Any]:
    """Return the list at a key of a file of JSON."""
    found: list[Any] = json.loads(text_of(read_unpacked(path)))[key]
    return found


def _operations_of(nodes: Sequence[Any]) -> Iterator[Operation]:
    """Yield the collective operations, in their order."""
    for node in sorted((node for node in nodes if node["name"] == "record_param_comms"), key=lambda node: node["id"]):
        attributes = {attribute["name"]: attribute["value"] for attribute in node.get("attrs", [])}
        values, outputs = (
            node[key]["values"] if isinstance(node[key], dict) else node[key] for key in ("inputs", "outputs")
        )
        name_at = next(index for index, value in enumerate(values) if isinstance(value, str))
        name, size_bytes, of_output = values[name_at], _bytes(values[0]), _bytes(outputs)
        if name in _WAITS:
            continue
        if name not in _COLLECTIVES:
            problem = f"the operation {name} is not supported"
            raise InputFileError(problem, "trace a program without it", f"node {node['id']}")
        sent, received = (
            [_whole(part) * size // max(1, sum(parts)) for part in parts]
            for parts, size in ((values[name_at + 1], size_bytes), (values[name_at + 2], of_output))
        )
        group = str(attributes.get("pg_name", values[name_at - 2]))
        yield Operation(*_COLLECTIVES[name], size_bytes, sent, received, _whole(values[name_at - 1]), group)


def _groups_of(nodes: Sequence[Any]) -> dict[str, tuple[int, ...]]:
    """Return the ranks of each process group; none are all ranks."""
    found = (node for node in nodes if "process_group:init" in node["name"])
    listed = [group for node in found for group in json.loads(node["inputs"]["values"][0])]
    return {str(group["pg_name"]): tuple(map(_whole, group["ranks"])) for group in listed}


def _bytes(value: Any) -> int:
    """Return the bytes of a tensor, or of all tensors of a list."""
    if not isinstance(value, list):
        return 0
    if len(value) > 5 and isinstance(value[5], str) and all(isinstance(part, int) for part in value[:5]):
        return _whole(value[3]) * _whole(value[4])
    return sum(map(_bytes, value))


def _whole(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < 2**62:
        raise ValueError
    return value


def _kernels_of(events: Sequence[Any]) -> list[Kernel]:
    """Return what the accelerator does, in the order of its begins."""
    kernels = [
        Kernel(event["name"], _whole(event["args"]["stream"]), float(event["ts"]), float(event["ts"]) + event["dur"],
                _whole(event["args"]["correlation"]))
        for event in events if event.get("cat") in _ON_ACCELERATOR and event.get("ph") == "X"
    ]  # fmt: skip
    if not all(0 <= kernel.start_us <= kernel.end_us < 1e18 for kernel in kernels):
        raise ValueError
    if len({kernel.launch for kernel in kernels}) < len(kernels):
        raise ValueError
    return sorted(kernels, key=lambda kernel: (kernel.start_us, kernel.launch))
