"""Reading graphs of tasks: METIS, Matrix Market and CSV files.

* METIS (``.graph``, ``.metis``; manual of METIS 5.1.0, section 4.1.1): undirected; an edge of weight w stands for w
  units each way. Vertex weights, where the file has them, say how much work a task is.
* Matrix Market (``.mtx``; Boisvert, Pozo and Remington, NISTIR 5935, 1996): a square matrix; entry (i, j) stands for
  its absolute value in units from task i to task j, or for one unit in a file of the pattern alone.
* CSV (``.csv``): lines under the head ``source,destination,weight``, tasks numbered from 0.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fabricstudy.model import ConfigError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LARGEST_BYTES = 2_000_000_000


@dataclass(frozen=True, eq=False)
class GraphFile:
    """What a file says: who sends how many units to whom.

    Parameters
    ----------
    source, destination : int64 arrays [edges]
        Tasks, from 0 on; never the same.
    units : float64 array [edges]
        Units sent, above 0.
    work : int64 array [tasks]
        Weight of each task; 1 where the file tells none.
    loops : int
        Entries of a task with itself, which were left out.
    sha256 : str
        Of the file's bytes.
    """

    source: Ints
    destination: Ints
    units: Floats
    work: Ints
    loops: int
    sha256: str

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return len(self.work)


class _Read(NamedTuple):
    source: npt.NDArray[np.number]
    destination: npt.NDArray[np.number]
    units: npt.NDArray[np.number]
    work: Ints | None


def read_graph(path: Path) -> GraphFile:
    """Read a graph; its kind goes by the end of the file's name.

    Raises
    ------
    ConfigError
        With the path ``file`` if it cannot be read or is no such graph.
    """
    try:
        data = _bytes(path)
        text = data.decode("utf-8")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise _wrong(path, f"the graph file cannot be read ({reason})", "check its name and permissions") from None
    except UnicodeDecodeError:
        raise _wrong(path, "the graph file is not UTF-8", "save it as text") from None
    if path.suffix not in _READERS:
        endings = ", ".join(_READERS)
        raise _wrong(path, f"no kind of graph file ends in '{path.suffix}'", f"let its name end in one of {endings}")
    try:
        read = _READERS[path.suffix](path, text)
    except ConfigError:
        raise
    except (ValueError, IndexError, KeyError, TypeError) as error:
        problem = f"not a graph file of its kind: {str(error) or type(error).__name__}"
        raise _wrong(path, problem, "see the format named in docs/concepts/mapping.md") from None
    return _checked(path, read, hashlib.sha256(data).hexdigest())


def _bytes(path: Path) -> bytes:
    if path.stat().st_size > LARGEST_BYTES:
        raise _wrong(path, "the graph file has more than 2 GB", "take a smaller graph")
    return path.read_bytes()


def _wrong(path: Path, problem: str, remedy: str) -> ConfigError:
    return ConfigError(problem, remedy, ("file",), str(path), "graph-file")


def _checked(path: Path, read: _Read, sha256: str) -> GraphFile:
    source, destination, units = (np.asarray(column) for column in read[:3])
    if not np.all(np.isfinite(units)):
        raise _wrong(path, "a weight is no number", "give every edge a finite weight")
    if np.any(units < 0):
        raise _wrong(path, "a weight is negative", "give weights from 0 on")
    tasks = int(max(source.max(initial=-1), destination.max(initial=-1))) + 1 if read.work is None else len(read.work)
    for end in (source, destination):
        if len(end) and (end.min() < 0 or end.max() >= tasks):
            raise _wrong(path, f"a vertex is out of range (there are {tasks})", "number them without a gap")
    if tasks < 2:
        raise _wrong(path, "the graph has fewer than two vertices", "give a graph with edges")
    loops = source == destination
    kept = ~loops & (units > 0)
    work = np.ones(tasks, dtype=np.int64) if read.work is None else read.work
    ends = source[kept].astype(np.int64), destination[kept].astype(np.int64)
    return GraphFile(*ends, units[kept].astype(np.float64), work, int(np.count_nonzero(loops)), sha256)


def _read_metis(path: Path, text: str) -> _Read:
    lines = [line for line in text.split("\n") if not line.lstrip().startswith("%")]
    while lines and not lines[-1].strip():
        lines.pop()
    head = lines[0].split()
    vertices, edges, form = int(head[0]), int(head[1]), (head[2] if len(head) > 2 else "0").zfill(3)
    weights = int(head[3]) if len(head) > 3 else int(form[1])
    # Vertices without edges have empty lines, which may be the last ones.
    rows = [line.split() for line in lines[1:]] + [[]] * (vertices - len(lines) + 1)
    if len(rows) != vertices:
        raise _wrong(path, f"the header says {vertices} vertices and {len(rows)} lines follow", "mend the header")
    skipped = int(form[0]) + weights
    step = 1 + int(form[2])
    work = [int(row[int(form[0])]) if weights else 1 for row in rows]
    count = [(len(row) - skipped) // step if row else 0 for row in rows]
    if any((len(row) - skipped) % step for row in rows if row):
        raise _wrong(path, "a line holds a neighbour without its weight", "mend it, or the header")
    if sum(count) != 2 * edges:
        problem = f"the header says {edges} edges and {sum(count)} ends of edges follow"
        raise _wrong(path, problem, "mend the header; each edge stands in the lines of both its ends")
    flat = np.array([number for row in rows for number in row[skipped:]], dtype=np.float64).reshape(-1, step)
    units = flat[:, 1] if step == 2 else np.ones(len(flat))
    return _Read(np.repeat(np.arange(vertices), count), flat[:, 0] - 1, units, np.array(work, dtype=np.int64))


def _read_matrix_market(path: Path, text: str) -> _Read:
    import io

    from scipy.io import mmread
    from scipy.sparse import coo_array

    matrix = coo_array(mmread(io.BytesIO(text.encode())))
    if matrix.shape[0] != matrix.shape[1]:
        problem = f"the matrix is not square but {matrix.shape[0]} x {matrix.shape[1]}"
        raise _wrong(path, problem, "give a square matrix")
    return _Read(matrix.row, matrix.col, np.abs(matrix.data), np.ones(matrix.shape[0], dtype=np.int64))


_HEAD = ["source", "destination", "weight"]


def _read_csv(path: Path, text: str) -> _Read:
    rows = csv.reader(text.splitlines())
    if [name.strip() for name in next(rows, [])] != _HEAD:
        raise _wrong(path, "the first line is not source,destination,weight", "write these three names there")
    entries = [row for row in rows if row]
    if any(len(row) != len(_HEAD) for row in entries):
        raise _wrong(path, "a line has not three values", "write source, destination and weight in each line")
    ends = np.array([row[:2] for row in entries], dtype=np.int64).reshape(-1, 2)
    return _Read(ends[:, 0], ends[:, 1], np.array([row[2] for row in entries], dtype=np.float64), None)


_READERS: dict[str, Callable[[Path, str], _Read]] = {
    ".graph": _read_metis,
    ".metis": _read_metis,
    ".mtx": _read_matrix_market,
    ".csv": _read_csv,
}


def grouped(graph: GraphFile, ranks: int, how: str) -> Ints:
    """Give the rank of each task where there are as many tasks as ranks, or more.

    `how` is ``blocks``, of consecutive tasks, or ``metis``: k-way by work and traffic (Karypis and Kumar 1998), with
    about the same work in each group.

    Raises
    ------
    ConfigError
        If there are more ranks than tasks.
    """
    if ranks > graph.tasks:
        problem = f"the graph has {graph.tasks} vertices for {ranks} ranks"
        raise ConfigError(problem, "take fewer ranks, or a larger graph", ("file",), None, "graph-file")
    if how == "blocks" or ranks == graph.tasks:
        return np.arange(graph.tasks) * ranks // graph.tasks
    import pymetis

    from .mapping.tasks import TaskGraph

    edges = TaskGraph.of_edges(graph.source, graph.destination, graph.units, graph.tasks)
    # METIS counts in 32 bits.
    scale = min(1.0, 2**30 / max(edges.size_bytes.sum(), 1.0)) if edges.size_bytes.max(initial=1.0) > 1 else 1.0
    weight = np.maximum(1, np.rint(edges.size_bytes * scale)).astype(np.int64)
    adjacency = pymetis.CSRAdjacency(edges.first, edges.partner)
    options = pymetis.Options(seed=0)
    partition = pymetis.part_graph(ranks, adjacency, vweights=graph.work, eweights=weight, options=options)
    part = np.asarray(partition.vertex_part, dtype=np.int64)
    return _none_empty(part, ranks)


def _none_empty(part: Ints, ranks: int) -> Ints:
    """Give each empty group a task of the largest one, since each rank has some."""
    for empty in np.setdiff1d(np.arange(ranks), part):
        part[np.flatnonzero(part == np.argmax(np.bincount(part, minlength=ranks)))[-1]] = empty
    return part
