"""The traffic listed in a graph file, whose content tells its format.

* METIS (manual of METIS 5.1.0, section 4.1.1): undirected; an edge of weight w means
  w units in each direction. Optional vertex weights are the work of each task.
* Matrix Market (Boisvert, Pozo and Remington, NISTIR 5935, 1996): a square matrix; the absolute value of
  entry (i, j) is the units from task i to task j, or one unit in a pattern matrix.
* CSV: rows below the header ``source,destination,weight``, tasks numbered from 0.
* Communication matrices as in the pattern ``matrix``: a byte is a unit.
"""

import math
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core import input_files
from fabricstudy.core.arrays import Floats, Ints, Numbers
from fabricstudy.core.input_files import MAX_RANKS, MAX_TRAFFIC_BYTES, InputFileError, position_text, whole
from fabricstudy.core.log import warn_once
from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.core.quantities import SIZES, Size, to_unit

from ..mapping.tasks import TaskGraph
from ..messages import Messages
from .base import MessagePattern, Sends, TrafficEstimate, TrafficFile, one_phase, pair_sums
from .matrix import FORMATS as MATRICES
from .matrix import MatrixFormat, check_entries, format_of_matrix, read_entries, read_matrix, read_matrix_market

GraphFormat = Literal["metis", "edges", MatrixFormat]

MIN_WEIGHT_SUM = 1e-18
"""Minimum sum of the weights of a graph."""


@dataclass(frozen=True, eq=False)
class GraphFile:
    """The traffic of a graph file, in units."""

    source: Ints
    destination: Ints
    """Distinct tasks, from 0; int64 [edges] each."""
    units: Floats
    """Units sent, above 0; float64 [edges]."""
    work: Ints
    """Weight of each task, by default 1; int64 [tasks]."""
    loops: int
    """Number of ignored entries of a task with itself."""

    @property
    def tasks(self) -> int:
        return len(self.work)


_Read = tuple[Ints, Ints, Floats, Ints]
"""Sources, destinations and units of the edges, and the work of the tasks."""


def read_graph(path: Path) -> tuple[GraphFile, str]:
    """Return a graph and the SHA-256 of its file; raises ConfigError with the path ``file``."""
    return input_files.read(path, parse_graph, "invalid-data-file")


def parse_graph(path: Path, data: bytes, name: GraphFormat | None = None) -> GraphFile:
    """Parse a graph in the format of this name, else of its content; raises InputFileError, with the line."""
    data = data.removeprefix(BOM_UTF8)
    found = name or _format_of(path, data)
    words, suffixes = _WORDS[found]
    if name is None and path.suffix not in suffixes:
        warn_once(f"{path.name} is read as {words}; write format: {found} to confirm it")
    reader = _READERS.get(found) or partial(_of_matrix, path, found)
    source, destination, units, work = reader(data)
    if len(work) < 2:
        raise InputFileError("the graph has fewer than two vertices", "use a graph with edges")
    loops = source == destination
    valid = ~loops & (units > 0)
    total = float(units[valid].sum())
    if not MIN_WEIGHT_SUM <= total <= MAX_TRAFFIC_BYTES:
        problem = "no edge with a weight joins two vertices" if not total else "the sum of the weights is out of range"
        remedy = f"use edges with a sum of weights from {MIN_WEIGHT_SUM:g} to {MAX_TRAFFIC_BYTES:g}"
        raise InputFileError(problem, remedy, "", total)
    return GraphFile(source[valid], destination[valid], units[valid], work, int(np.count_nonzero(loops)))


def _format_of(path: Path, data: bytes) -> GraphFormat:
    """Return the format by the content; of numbers that are no square matrix, METIS if their first line counts them."""
    found: GraphFormat = format_of_matrix(path, data)
    lines = (line.split() for line in BytesIO(data) if line.lstrip()[:1] not in (b"%", b"#"))
    head = next(filter(None, lines), [])
    if b"".join(head) == ",".join(_HEAD).encode():
        return "edges"
    if found != "matrix" or path.suffix in _WORDS["metis"][1]:
        return found if found != "matrix" else "metis"
    if not 2 <= len(head) <= 4 or not all(word.isdigit() and len(word) < 16 for word in head):
        return found
    first = list(islice(lines, 4))
    count = len(first) + sum(1 for _ in lines)
    is_square = count == len(head) - 1 and {len(line) for line in first} == {len(head)}
    return "metis" if int(head[0]) == count and not is_square else found


def _read_metis(data: bytes) -> _Read:
    written = input_files.numbered_lines(data)
    lines = [(line, text.split()) for line, text in written if not text.lstrip().startswith("%")]
    while lines and not lines[-1][1]:
        lines.pop()
    if not lines:
        raise InputFileError("the file is empty", "begin it with the numbers of vertices and edges")
    line, head = lines[0]
    vertices, edges, of_edges, weights, skipped = _metis_head(head, position_text(line))
    rows = lines[1:]
    if len(rows) > vertices or (skipped and len(rows) < vertices):
        problem = f"{vertices} vertices in the header, but {len(rows)} lines follow"
        raise InputFileError(problem, "fix the header", position_text(line))
    # Vertices without edges have empty lines, possibly at the end.
    work = np.ones(vertices, dtype=np.int64)
    tails: list[int] = []
    heads: list[int] = []
    units: list[float] = []
    for vertex, (line, row) in enumerate(rows):
        if len(row) < skipped:
            raise InputFileError("a vertex without weight or size", "add it, or fix the header", position_text(line))
        if weights:
            work[vertex] = whole(row[skipped - weights], 0, 2**31 - 1, (line,))
        rest = row[skipped:]
        if len(rest) % (1 + of_edges):
            raise InputFileError("a neighbour without weight", "add it, or fix the header", position_text(line))
        for index in range(0, len(rest), 1 + of_edges):
            tails.append(vertex)
            heads.append(whole(rest[index], 1, vertices, (line,)) - 1)
            units.append(input_files.finite_number(rest[index + 1], 0, MAX_TRAFFIC_BYTES, (line,)) if of_edges else 1.0)
    if len(tails) != 2 * edges:
        problem = f"{edges} edges in the header, but {len(tails)} ends of edges follow"
        remedy = "fix the header; list each edge in the lines of both its ends"
        raise InputFileError(problem, remedy, position_text(lines[0][0]))
    source, destination, weight = np.array(tails, dtype=np.int64), np.array(heads, dtype=np.int64), np.array(units)
    _check_both_ends(source, destination, weight, [line for line, _ in rows])
    return source, destination, weight, work


def _metis_head(head: list[str], where: str) -> tuple[int, int, int, int, int]:
    """Numbers of vertices, edges, weights per edge (0 or 1), weights per vertex, and columns before the edges."""
    if not 2 <= len(head) <= 4:
        raise InputFileError(f"a header of {len(head)} numbers", "write vertices, edges and, optionally, fmt", where)
    vertices, edges = whole(head[0], 0, MAX_RANKS, where), whole(head[1], 0, 2**40, where)
    form = f"{whole(head[2], 0, 111, where) if len(head) > 2 else 0:03}"
    if set(form) - {"0", "1"}:
        raise InputFileError("not a fmt of METIS", "write three digits of 0 and 1", where, head[2])
    weights = whole(head[3], 0, 1000, where) if len(head) > 3 else int(form[1])
    return vertices, edges, int(form[2]), weights, int(form[0]) + weights


def _check_both_ends(source: Ints, destination: Ints, units: Floats, lines: list[int]) -> None:
    """Raise InputFileError for an edge with another weight, or none, in the line of its other end."""
    here, there = np.lexsort((units, destination, source)), np.lexsort((units, source, destination))
    differ = (source[here] != destination[there]) | (destination[here] != source[there])
    differ |= units[here] != units[there]
    if differ.any():
        first = here[np.argmax(differ)]
        problem = f"the lines of the vertices {source[first] + 1} and {destination[first] + 1} differ in their edge"
        remedy = "write each edge, with one weight, in the lines of both its ends"
        raise InputFileError(problem, remedy, position_text(lines[source[first]]))


def _read_matrix_market(data: bytes) -> _Read:
    matrix = read_matrix_market(data)
    if matrix.shape[0] != matrix.shape[1]:
        raise InputFileError(f"the matrix is {matrix.shape[0]} x {matrix.shape[1]}", "use a square matrix")
    matrix.data = np.abs(matrix.data).astype(np.float64)
    check_entries(matrix, "invalid weight")
    source, destination = (end.astype(np.int64) for end in (matrix.row, matrix.col))
    return source, destination, matrix.data, np.ones(matrix.shape[0], dtype=np.int64)


_HEAD = ["source", "destination", "weight"]


def _read_edges(data: bytes) -> _Read:
    rows = input_files.numbered_csv_rows(data)
    line, head = next(rows, (1, []))
    if head != _HEAD:
        problem = "the first line is not source,destination,weight"
        raise InputFileError(problem, "add this header, or write a matrix of bytes", position_text(line))
    source, destination, units = read_entries(rows, head)
    tasks = 1 + int(max(source.max(initial=-1), destination.max(initial=-1)))
    return source, destination, units, np.ones(tasks, dtype=np.int64)


def _of_matrix(path: Path, name: Any, data: bytes) -> _Read:
    matrix = read_matrix(path, data, name)
    units = matrix.size_bytes.astype(np.float64)
    return matrix.source, matrix.destination, units, np.ones(matrix.ranks, dtype=np.int64)


_READERS: dict[GraphFormat, Callable[[bytes], _Read]] = {
    "metis": _read_metis,
    "edges": _read_edges,
    "matrix-market": _read_matrix_market,
}
"""Readers of formats that the pattern `matrix` does not have, or reads in another way."""
_WORDS: dict[GraphFormat, tuple[str, tuple[str, ...]]] = {
    **{name: (form.words, form.suffixes) for name, form in MATRICES.items()},
    "metis": ("a graph of METIS", (".graph", ".metis")),
    "edges": ("a list of edges", (".csv",)),
}
"""Name of each format in messages, and the suffixes that mean it."""


def nearest_power_of_ten(total: float, near: float) -> float:
    """Return the power of ten that scales `total` closest to `near`, so that decimals become integers.

    Examples
    --------
    >>> nearest_power_of_ten(0.25, 100), nearest_power_of_ten(2.5e5, 100)
    (1000.0, 0.001)
    """
    return float(10.0 ** round(math.log10(near / total)))


def group_tasks(graph: GraphFile, ranks: int, how: str) -> Ints:
    """Return the rank of each task, for at least as many tasks as ranks.

    `how` is ``blocks``, of consecutive tasks, or ``metis``: k-way by work and traffic (Karypis and Kumar 1998), with
    balanced work.

    Raises ConfigError if there are more ranks than tasks.
    """
    if ranks > graph.tasks:
        problem = f"the graph has {graph.tasks} vertices for {ranks} ranks"
        raise ConfigError(problem, "use fewer ranks, or a larger graph", ("file",), None, "invalid-data-file")
    if how == "blocks" or ranks == graph.tasks:
        return np.arange(graph.tasks) * ranks // graph.tasks
    import pymetis

    edges = TaskGraph.of_edges(graph.source, graph.destination, graph.units, graph.tasks)
    weight = _in_32_bits(edges.size_bytes)
    work = graph.work if graph.work.sum() < 2**30 else _in_32_bits(graph.work)
    adjacency = pymetis.CSRAdjacency(edges.first, edges.partner)
    options = pymetis.Options(seed=0)
    partition = pymetis.part_graph(ranks, adjacency, vweights=work, eweights=weight, options=options)
    part = np.asarray(partition.vertex_part, dtype=np.int64)
    # An empty group receives a task of the largest.
    for empty in np.setdiff1d(np.arange(ranks), part):
        part[np.flatnonzero(part == np.argmax(np.bincount(part, minlength=ranks)))[-1]] = empty
    return part


def _in_32_bits(weights: Numbers) -> Ints:
    """Weights for METIS: integers from 1, with a sum of 32 bits."""
    rounded: Floats = np.rint(weights * nearest_power_of_ten(float(weights.sum()), 3e8))
    return np.maximum(1, rounded).astype(np.int64)


PARTNERS_OF_A_GROUP = 3.0
"""Relative to a vertex: a cell of a 3D mesh touches 6 others by faces and 20 by edges and corners."""

MOST_ROUNDED = 0.01
"""Maximum relative change of all bytes by rounding those of each edge."""


class TaskGraphPattern(TrafficFile, MessagePattern, kind="task-graph"):
    """The traffic of a graph file, all in one phase: a vertex is a rank, and a unit of edge weight is one `message`.

    With more vertices than ranks, vertices are grouped first, and edges within a group send nothing. File formats are
    METIS, Matrix Market, CSV with the header source,destination,weight, and the files of the pattern `matrix`, in which
    a byte is a unit, as the content tells. The point contains the digest of the file, not its edges; a file that
    changes after planning is refused.
    """

    message_bytes: Size = Field(alias="message", description="size of each message")
    group: Literal["blocks", "metis"] = Field(
        "metis", description="grouping where there are more vertices than ranks: consecutive vertices, or by METIS"
    )
    format: GraphFormat | None = Field(None, description="format of the file; default: as its content tells")
    vertices: SkipJsonSchema[Whole] = 0
    edges: SkipJsonSchema[Whole] = 0

    READER = staticmethod(parse_graph)
    READERS: ClassVar[Mapping[str, Any]] = {name: partial(parse_graph, name=name) for name in _WORDS}

    @classmethod
    def _facts(cls, content: Any, value: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
        try:
            message_bytes = to_unit(str(value.get("message")), SIZES.unit, "100 kB")
        except ConfigError:
            return {}  # validation of the key raises the same error
        _check_bytes(content.units * message_bytes, value["message"])
        return {"vertices": content.tasks, "edges": len(content.source)}

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages by size, for edges of one unit.

        Where vertices are grouped this is an estimate: a group has at most `PARTNERS_OF_A_GROUP` times as many partners
        as a vertex, which holds for meshes, and the edges between two groups are one message.
        """
        left = 1.0 if ranks >= self.vertices else min(1.0, PARTNERS_OF_A_GROUP * ranks / self.vertices)
        return (TrafficEstimate(left * self.edges * self.iterations, round(int(self.message_bytes) / left)),)

    def check_ranks(self, ranks: int) -> None:
        if ranks > self.vertices:
            problem = f"the graph has {self.vertices} vertices for {ranks} ranks"
            raise ConfigError(problem, "use fewer ranks, or a larger graph", ("file",), self.file, "invalid-data-file")

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        messages = rank_messages(self.listed(), ranks, self.group, int(self.message_bytes))
        return one_phase(messages.source, messages.destination, self.iterations, messages.size_bytes)


def _check_bytes(size_bytes: Floats, written: str) -> None:
    """Raise ConfigError if the bytes overflow, or are so few that rounding changes them."""
    total = float(size_bytes.sum())
    if total > MAX_TRAFFIC_BYTES:
        problem = f"the edges have {total:.3g} bytes in total"
        remedy = f"use a smaller message: {MAX_TRAFFIC_BYTES:.3g} at most"
        raise ConfigError(problem, remedy, ("message",), written, "out-of-range")
    rounded = float(np.abs(np.maximum(1, np.rint(size_bytes)) - size_bytes).sum()) / total
    if rounded > MOST_ROUNDED:
        problem = f"rounding the edges to integers of at least 1 byte changes {rounded:.0%} of all bytes"
        remedy = "use a larger message: one unit of weight"
        raise ConfigError(problem, remedy, ("message",), written, "out-of-range")


def rank_messages(graph: GraphFile, ranks: int, how: str, unit_bytes: float) -> Messages:
    """Sum up the traffic between each two ranks, in one phase; every message has at least one byte."""
    rank = group_tasks(graph, ranks, how)
    source, destination, units = pair_sums(rank[graph.source], rank[graph.destination], graph.units, ranks)
    size_bytes = np.maximum(1, np.rint(units * unit_bytes)).astype(np.int64)
    return Messages(np.zeros(len(units), dtype=np.int32), source, destination, size_bytes)
