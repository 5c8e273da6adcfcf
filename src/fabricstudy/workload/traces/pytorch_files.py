"""Files of PyTorch: collective operations of execution traces, and what Kineto says of accelerators."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fabricstudy.core.input_files import InputFileError, text_of

from .rank_files import read_unpacked

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
WRONG = (AttributeError, LookupError, TypeError, ValueError, RecursionError)
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


def objects_of(path: Path, key: str) -> list[Any]:
    """Return the list at a key of a file of JSON."""
    found: list[Any] = json.loads(text_of(read_unpacked(path)))[key]
    return found


def operations_of(nodes: Sequence[Any]) -> Iterator[Operation]:
    """Yield the collective operations, in their order."""
    for node in sorted((node for node in nodes if node["name"] == "record_param_comms"), key=lambda node: node["id"]):
        attributes = {attribute["name"]: attribute["value"] for attribute in node.get("attrs", [])}
        values, outputs = (
            node[key]["values"] if isinstance(node[key], dict) else node[key] for key in ("inputs", "outputs")
        )
        place = next(place for place, value in enumerate(values) if isinstance(value, str))
        name, size_bytes, of_output = values[place], _bytes(values[0]), _bytes(outputs)
        if name in _WAITS:
            continue
        if name not in _COLLECTIVES:
            problem = f"the operation {name} is not supported"
            raise InputFileError(problem, "trace a program without it", f"node {node['id']}")
        sent, received = (
            [_whole(part) * size // max(1, sum(parts)) for part in parts]
            for parts, size in ((values[place + 1], size_bytes), (values[place + 2], of_output))
        )
        group = str(attributes.get("pg_name", values[place - 2]))
        yield Operation(*_COLLECTIVES[name], size_bytes, sent, received, _whole(values[place - 1]), group)


def groups_of(nodes: Sequence[Any]) -> dict[str, tuple[int, ...]]:
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


def kernels_of(events: Sequence[Any]) -> list[Kernel]:
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
