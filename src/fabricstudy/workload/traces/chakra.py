"""Chakra execution traces: a graph of nodes for each rank that compute, send, receive, or take part in a collective.

One file a rank, ``x.0.et``, ``x.1.et``, ...; each is a sequence of protobuf messages with their lengths before:
metadata, then nodes. All dependencies wait for ends. CPU operations, other computation and accesses to memory are
streams 1, 0 and 2. A process group has the ranks that name it; without one a collective operation is among all ranks.
A collective operation of a CPU without a type is the start of another node. Bytes are those of ASTRA-sim: of the block
of a rank for an all-gather, and of all blocks of a rank for an all-to-all.

References
----------
Sridharan et al.: Chakra: advancing performance benchmarking and co-design using standardized execution traces, 2023,
arXiv:2305.14516. Schema: github.com/mlcommons/chakra, schema/protobuf/et_def.proto.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fabricstudy.core.input_files import InputFileError, read_bytes

from ..matching import Listing
from ..operations import CALC, ENDED, RECEIVE, SEND
from .mpi import Algorithms, Calls, Program
from .rank_files import rank_files

_METADATA, _LOAD, _STORE, _COMPUTE, _SEND, _RECEIVE, _COLLECTIVE = range(1, 8)
_COLLECTIVES = (
    "allreduce", "reduce", "allgather", "gather", "scatter", "bcast", "alltoall", "reduce_scatter", "reduce_scatter",
    "barrier",
)  # fmt: skip
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_FIXED = {3: "<d", 5: "<f", 19: "<I", 21: "<Q", 23: "<i", 25: "<q"}
_ZIGZAG, _STRING = (15, 17), 29


class _Node(NamedTuple):
    number: int
    name: str
    kind: int
    needs: list[int]
    duration_us: int
    attributes: dict[str, Any]


def files(first: Path) -> list[Path]:
    """Return the files of all ranks, given that of rank 0."""
    return rank_files(first)


def read(first: Path, algorithms: Algorithms = ()) -> Listing:
    """Read the trace of all ranks, given the file of rank 0; raises InputFileError, with file and node."""
    paths = files(first)
    nodes = [_nodes(path) for path in paths]
    groups: dict[str, list[int]] = {}
    for rank, of_rank in enumerate(nodes):
        for name in dict.fromkeys(_group(node) for node in of_rank if _is_collective(node)):
            groups.setdefault(name, []).append(rank)
    groups[""] = list(range(len(paths)))
    program = Program(len(paths), lambda rank, line: f"{paths[rank].name}, node {line}", algorithms)
    for rank, of_rank in enumerate(nodes):
        _take(Calls(program, rank), of_rank, groups, paths[rank])
    return program.listing()


def _group(node: _Node) -> str:
    return str(node.attributes.get("pg_name", ""))


def _is_collective(node: _Node) -> bool:
    """Return whether a node sends and receives; on a CPU without a type of operation it only starts another node."""
    starts = node.attributes.get("is_cpu_op", 0) and "comm_type" not in node.attributes
    return node.kind == _COLLECTIVE and not starts


def _take(calls: Calls, nodes: list[_Node], groups: dict[str, list[int]], path: Path) -> None:
    """Add the nodes of a rank, and what they wait for."""
    first, last = dict[int, int](), dict[int, int]()
    for node in nodes:
        calls.line = node.number
        try:
            first[node.number] = len(calls.program)
            last[node.number] = _add(calls, node, tuple(groups[_group(node)] if _is_collective(node) else ()))
        except InputFileError as error:
            where = f"{path.name}, node {node.number} ({node.name})"
            raise InputFileError(error.problem, error.remedy, where, error.value) from None
        except (OverflowError, ValueError):
            where = f"{path.name}, node {node.number} ({node.name})"
            raise InputFileError("a number out of range", "use numbers of the schema", where) from None
    for node in nodes:
        unknown = [number for number in node.needs if number not in last]
        if unknown:
            where = f"{path.name}, node {node.number} ({node.name})"
            raise InputFileError("depends on a node that is not there", "write complete traces", where, unknown[0])
        calls.program.wait(first[node.number], [(last[number], ENDED) for number in dict.fromkeys(node.needs)])


def _add(calls: Calls, node: _Node, members: tuple[int, ...]) -> int:
    """Add the operations of a node; return the last one. The first one waits for nothing yet."""
    add, size = calls.program.add, int(node.attributes.get("comm_size", 0))
    if node.kind in (_SEND, _RECEIVE):
        kind, end = (SEND, "comm_dst") if node.kind == _SEND else (RECEIVE, "comm_src")
        if end not in node.attributes:
            raise InputFileError(f"no attribute {end}", "write the other rank")
        peer, tag = int(node.attributes[end]), int(node.attributes.get("comm_tag", 0))
        return add(calls.rank, calls.line, kind, 0.0, max(1, size), peer, tag)
    if _is_collective(node):
        number = int(node.attributes.get("comm_type", -1))
        if not 0 <= number < len(_COLLECTIVES):
            raise InputFileError("unknown collective operation", "use those of the schema", "", number)
        name = _COLLECTIVES[number]
        begin = add(calls.rank, calls.line, CALC, 0.0, 0, -1, -1)
        calls.last = [(begin, ENDED)]
        if name == "alltoall":
            size = -(-size // len(members))
        if size or name == "barrier":
            calls.collective(name, size, int(node.attributes.get("root", 0)), members)
        end_ = add(calls.rank, calls.line, CALC, 0.0, 0, -1, -1)
        calls.program.wait(end_, calls.last)
        return end_
    if not _METADATA <= node.kind <= _COLLECTIVE:
        raise InputFileError("unknown type of node", "use types 1 to 7", "", node.kind)
    stream = 2 if node.kind in (_LOAD, _STORE) else int(bool(node.attributes.get("is_cpu_op", 0)))
    return add(calls.rank, calls.line, CALC, 1000.0 * node.duration_us, 0, -1, -1, stream)


def _nodes(path: Path) -> list[_Node]:
    data, at, count = memoryview(read_bytes(path)), 0, 0
    nodes: list[_Node] = []
    try:
        while at < len(data):
            length, at = _varint(data, at)
            if length > len(data) - at:
                raise IndexError
            if count:
                nodes.append(_node(data[at : at + length]))
            at, count = at + length, count + 1
    except (IndexError, struct.error, UnicodeDecodeError):
        remedy = "write messages of et_def.proto, each with its length before"
        raise InputFileError("no Chakra trace, or an incomplete one", remedy, f"{path.name}, message {count}") from None
    if not count:
        raise InputFileError("an empty file", "write metadata and nodes", path.name)
    return nodes


def _node(data: memoryview) -> _Node:
    number = kind = duration_us = 0
    name, needs, attributes = "", list[int](), dict[str, Any]()
    for field, value in _fields(data):
        if field == 1:
            number = value
        elif field == 2:
            name = str(value, "utf-8")
        elif field == 3:
            kind = value
        elif field in (4, 5):
            needs += _packed(value)
        elif field == 7:
            duration_us = value
        elif field == 10:
            attribute = dict(_fields(value))
            attribute_name = str(attribute.pop(1, b""), "utf-8")
            for item in attribute.items():
                attributes[attribute_name] = _value(*item)
    return _Node(number, name, kind, needs, duration_us, attributes)


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """Yield number and value of each field: whole numbers, or bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        length = {_EIGHT: 8, _FOUR: 4}.get(wire, 0)
        if wire == _BYTES:
            length, at = _varint(data, at)
        elif not length:
            raise IndexError
        if length > len(data) - at:
            raise IndexError
        yield key >> 3, data[at : at + length]
        at += length


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise IndexError


def _packed(value: Any) -> Iterator[int]:
    """Yield the numbers of a repeated field, which is packed or a single number."""
    if isinstance(value, int):
        yield value
        return
    at = 0
    while at < len(value):
        number, at = _varint(value, at)
        yield number


def _value(field: int, value: Any) -> Any:
    """Return the value of an attribute; lists and the documentation remain bytes."""
    if field in _FIXED:
        return struct.unpack(_FIXED[field], value)[0]
    if field == _STRING:
        return str(value, "utf-8")
    if isinstance(value, int):
        if field in _ZIGZAG:
            return value >> 1 ^ -(value & 1)
        return value - 2**64 if value >= 2**63 else value
    return bytes(value)
