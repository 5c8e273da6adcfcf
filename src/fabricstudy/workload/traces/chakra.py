"""Chakra execution traces: a graph of nodes for each rank that compute, send, receive, or take part in a collective.

One file a rank, ``x.0.et``, ``x.1.et``, ..., of protobuf messages or JSON. All dependencies wait for ends. CPU
operations, other computation and accesses to memory are streams 1, 0 and 2. A process group has the ranks that name it;
without one a collective operation is among all ranks. A collective operation of a CPU without a type is the start of
another node. Bytes are those of ASTRA-sim: of the block of a rank for an all-gather, and of all blocks of a rank for an
all-to-all.

References
----------
Sridharan et al.: Chakra: advancing performance benchmarking and co-design using standardized execution traces, 2023,
arXiv:2305.14516. Schema: github.com/mlcommons/chakra, schema/protobuf/et_def.proto.
"""

from pathlib import Path

from fabricstudy.core.input_files import MAX_RANKS, InputFileError
from fabricstudy.core.log import warn_once

from ..matching import Listing
from ..operations import CALC, ENDED, RECEIVE, SEND
from .chakra_files import COLLECTIVE, LOAD, METADATA, RECEIVED, SENT, STORE, Node, nodes_of
from .mpi import TAGS, Algorithms, Calls, Program
from .rank_files import rank_files, read_unpacked

_COLLECTIVES = (
    "allreduce", "reduce", "allgather", "gather", "scatter", "bcast", "alltoall", "reduce_scatter", "reduce_scatter",
    "barrier",
)  # fmt: skip
files = rank_files


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


def _nodes(path: Path) -> list[Node]:
    data = read_unpacked(path)
    try:
        nodes = nodes_of(data)
    except InputFileError as error:
        raise error.within(path.name) from None
    seen = set[int]()
    for node in nodes:
        if node.number in seen:
            raise InputFileError("several nodes have this number", "write distinct ones", _at(path, node), node.number)
        seen.add(node.number)
    return nodes


def _at(path: Path, node: Node) -> str:
    return f"{path.name}, node {node.number} ({node.name})"


def _group(node: Node) -> str:
    return str(node.attributes.get("pg_name", ""))


def _is_collective(node: Node) -> bool:
    """Return whether a node sends and receives; on a CPU without a type of operation it only starts another node."""
    starts = node.attributes.get("is_cpu_op", 0) and "comm_type" not in node.attributes
    return node.kind == COLLECTIVE and not starts


def _take(calls: Calls, nodes: list[Node], groups: dict[str, list[int]], path: Path) -> None:
    """Add the nodes of a rank, and what they wait for."""
    first, last = dict[int, int](), dict[int, int]()
    for node in nodes:
        calls.line = node.number
        try:
            first[node.number] = len(calls.program)
            last[node.number] = _add(calls, node, tuple(groups[_group(node)] if _is_collective(node) else ()))
        except InputFileError as error:
            raise error.within(_at(path, node)) from None
    for node in nodes:
        unknown = [number for number in node.needs if number not in last]
        if unknown:
            problem, remedy = "depends on a node that is not there", "write complete traces"
            raise InputFileError(problem, remedy, _at(path, node), unknown[0])
        calls.program.wait(first[node.number], [(last[number], ENDED) for number in dict.fromkeys(node.needs)])


def _add(calls: Calls, node: Node, members: tuple[int, ...]) -> int:
    """Add the operations of a node; return the last one. The first one waits for nothing yet."""
    add = calls.program.add
    if node.kind in (SENT, RECEIVED):
        kind, end = (SEND, "comm_dst") if node.kind == SENT else (RECEIVE, "comm_src")
        peer, tag = node.whole(end, None, MAX_RANKS), node.whole("comm_tag", 0, TAGS)
        return add(calls.rank, calls.line, kind, 0.0, node.whole("comm_size", None), peer, tag)
    if _is_collective(node):
        name, size = _COLLECTIVES[node.whole("comm_type", None, len(_COLLECTIVES))], node.whole("comm_size", 0)
        if "comm_size" not in node.attributes and name != "barrier":
            warn_once(f"warning: collective operations without comm_size send nothing, such as node {node.number}")
        begin = add(calls.rank, calls.line, CALC, 0.0, 0, -1, -1)
        calls.last = [(begin, ENDED)]
        if name == "alltoall":
            size = -(-size // len(members))
        calls.collective(name, size, node.whole("root", 0, len(members)), members)
        end_ = add(calls.rank, calls.line, CALC, 0.0, 0, -1, -1)
        calls.program.wait(end_, calls.last)
        return end_
    if not METADATA <= node.kind <= COLLECTIVE:
        raise InputFileError("unknown type of node", "use types 1 to 7", "", node.kind)
    stream = 2 if node.kind in (LOAD, STORE) else node.whole("is_cpu_op", 0, 2)
    return add(calls.rank, calls.line, CALC, 1000.0 * node.duration_us, 0, -1, -1, stream)
