"""The traffic of a communication matrix file: bytes from each rank to each other rank.

* Matrix Market (``.mtx``; Boisvert, Pozo and Remington, NISTIR 5935, 1996), numeric, not a pattern.
* Text (``.csv``, ``.dat``, ``.txt``): the full matrix, one line per sender; or rows below the header
  ``source,destination,bytes``; with commas or blanks between the numbers, as ``numpy.savetxt`` writes it.
* numpy (``.npz``, ``.npy``): one matrix, or a sparse one as ``scipy.sparse.save_npz`` writes it.

The format is detected from the content of the file, or from its suffix if the file is damaged. A study may state it.
"""

import io
import math
import struct
import zipfile
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from fabricstudy.core import input_files
from fabricstudy.core.arrays import Floats, Integers, Ints
from fabricstudy.core.input_files import MAX_RANKS, MAX_TRAFFIC_BYTES, InputFileError, position_text, whole
from fabricstudy.core.log import warn_once
from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.core.quantities import SIZES, Size, to_unit

from .base import MessagePattern, Sends, TrafficEstimate, TrafficFile, one_phase

ENTRY_COLUMNS = ["source", "destination", "bytes"]
_TRIPLES = f"; if its lines are {','.join(ENTRY_COLUMNS)}, write format: entries"
MatrixFormat = Literal["matrix-market", "numpy", "matrix", "entries"]


@dataclass(frozen=True, eq=False)
class MatrixFile:
    """The nonzero entries of a matrix of `ranks` rows, sorted by source and destination."""

    ranks: int
    source: Ints
    destination: Ints
    size_bytes: Ints
    """Distinct ranks, and bytes of at least 1; int64 [pairs] each."""


def read_matrix(path: Path, data: bytes, name: MatrixFormat | None = None) -> MatrixFile:
    """Parse a matrix in the format of this name, by default that of its content.

    Bytes are rounded, and the diagonal is ignored, with a warning. Raises InputFileError, with line and column of the
    file or of the matrix.
    """
    data = data.removeprefix(BOM_UTF8)
    form = FORMATS[name or format_of_matrix(path, data)]
    if name is None and path.suffix not in form.suffixes:
        warn_once(f"{path.name} is read as {form.words}; write format: {form.name} to confirm it")
    matrix = form.read(data)
    if matrix.dtype.kind == "c":
        raise InputFileError("the entries are complex numbers", "write numbers of bytes")
    matrix = matrix.astype(np.float64)
    rows, columns = matrix.shape
    if rows != columns or not 2 <= rows <= MAX_RANKS:
        raise InputFileError(f"the matrix is {rows} x {columns}", f"use a square one of 2 to {MAX_RANKS:,} ranks")
    check_entries(matrix, "not a number of bytes")
    matrix.sum_duplicates()
    sent = (matrix.row != matrix.col) & (matrix.data > 0)
    own_bytes = float(matrix.data[matrix.row == matrix.col].sum())
    if own_bytes:
        triples = _TRIPLES * (rows == 3 and form.name == "matrix")
        warn_once(f"warning: {path.name}: the diagonal of the matrix, {own_bytes:g} bytes, is not used{triples}")
    order = np.lexsort((matrix.col[sent], matrix.row[sent]))
    total = float(matrix.data[sent].sum())
    if total > MAX_TRAFFIC_BYTES:
        raise InputFileError("too many bytes in total", f"use at most {MAX_TRAFFIC_BYTES}", "", total)
    size_bytes = np.maximum(1, np.rint(matrix.data[sent][order])).astype(np.int64)
    if len(size_bytes) == 0:
        raise InputFileError("no entries", "use a matrix with bytes off its diagonal")
    source, destination = (end[sent][order].astype(np.int64) for end in (matrix.row, matrix.col))
    return MatrixFile(rows, source, destination, size_bytes)


def format_of_matrix(path: Path, data: bytes) -> MatrixFormat:
    """Return the format of a matrix, by its first bytes, else by the suffix; text is the default."""
    if data[:14].lower() == b"%%matrixmarket":
        return "matrix-market"
    if data.startswith((b"PK", b"\x93NUMPY")):
        return "numpy"
    if path.suffix in (".mtx", ".npz", ".npy"):
        return "matrix-market" if path.suffix == ".mtx" else "numpy"
    lines = data[:_HEAD_BYTES].splitlines()
    head = next((line for line in lines if line.strip() and not line.startswith(b"#")), b"")
    return "entries" if any(word in head.lower() for word in (b"source", b"src", b"bytes")) else "matrix"


def check_entries(matrix: Any, problem: str) -> None:
    """Raise InputFileError, with row and column, for an entry below 0 or above the limit of traffic."""
    wrong = np.flatnonzero(~((matrix.data >= 0) & (matrix.data <= MAX_TRAFFIC_BYTES)))
    if len(wrong):
        position = f"row {matrix.row[wrong[0]] + 1}, column {matrix.col[wrong[0]] + 1} of the matrix"
        raise InputFileError(
            problem, f"write one from 0 to {MAX_TRAFFIC_BYTES}", position, matrix.data[wrong[0]].item()
        )


def read_matrix_market(data: bytes) -> Any:
    """Return a matrix as `scipy.sparse.coo_array`; entries of a pattern are 1. Raises InputFileError, with the line.

    `scipy.io.mmread` crashes the process on some damaged files.
    """
    from scipy.sparse import coo_array

    lines = input_files.numbered_lines(data)
    head = next(lines)[1].lower().split()
    known = (("%%matrixmarket",), ("matrix",), ("coordinate", "array"), ("real", "integer", "pattern"), _SYMMETRIES)
    if len(head) != len(known) or any(word not in words for word, words in zip(head, known, strict=True)):
        raise InputFileError("not the header of a numeric Matrix Market file", _WRITE, position_text(1), " ".join(head))
    listed, pattern, symmetry = head[2] == "coordinate", head[3] == "pattern", head[4]
    filled = [(line, text) for line, text in lines if text.strip() and not text.startswith("%")]
    line, sizes = filled[0] if filled else (1, "")
    counts = [whole(word, 0, 2**62, (line,)) for word in sizes.split()]
    if len(counts) != 2 + listed or (pattern and not listed):
        raise InputFileError("not the numbers of rows, columns and entries", _WRITE, position_text(line), sizes)
    rows, columns = counts[:2]
    if max(rows, columns) > MAX_RANKS:
        raise InputFileError("the matrix is too large", f"use at most {MAX_RANKS:,} rows", position_text(line), sizes)
    row, column = (None, None) if listed else _indices(rows, columns, symmetry, len(filled))
    entries = counts[2] if row is None else len(row)
    if len(filled) - 1 != entries:
        problem = f"{entries} entries are declared and {len(filled) - 1} follow"
        raise InputFileError(problem, _WRITE, position_text(line), sizes)
    table = _table(filled[1:], 3 - pattern if listed else 1, (rows, columns) if listed else ())
    values = np.ones(entries) if pattern else table[:, -1]
    if row is None or column is None:
        row, column = table[:, :2].T.astype(np.int64) - 1
    if symmetry != "general":
        off = row != column
        mirrored = -values[off] if symmetry == "skew-symmetric" else values[off]
        values = np.concatenate([values, mirrored])
        row, column = np.concatenate([row, column[off]]), np.concatenate([column, row[off]])
    return coo_array((values, (row, column)), shape=(rows, columns))


def _indices(rows: int, columns: int, symmetry: str, lines: int) -> tuple[Ints, Ints]:
    """Row and column of the numbers of an array, column by column; below the diagonal if it is symmetric."""
    if rows * columns > 2 * lines + rows:  # a symmetric one has half of its entries
        raise InputFileError(f"shorter than a matrix of {rows} x {columns}", _WRITE, position_text(1))
    column, row = (indices.ravel() for indices in np.indices((columns, rows)))
    listed = row >= column + {"general": -rows - columns, "symmetric": 0, "skew-symmetric": 1}[symmetry]
    return row[listed], column[listed]


def _table(lines: Sequence[tuple[int, str]], width: int, sizes: tuple[int, ...]) -> Floats:
    """Parse lines of numbers, of which the first are indices in a matrix of these sizes."""
    if lines:
        with suppress(ValueError):
            table = np.loadtxt([text for _, text in lines], dtype=np.float64, comments=None, ndmin=2)
            indices = table[:, : len(sizes)]
            fits = (indices == np.rint(indices)) & (indices >= 1) & (indices <= np.array(sizes))
            if table.shape == (len(lines), width) and np.isfinite(table).all() and fits.all():
                return table
    table = np.empty((len(lines), width))
    for index, (line, text) in enumerate(lines):
        words = text.split()
        if len(words) != width:
            raise InputFileError(f"{len(words)} numbers instead of {width}", _WRITE, position_text(line), text)
        ends = [float(whole(word, 1, size, (line,))) for word, size in zip(words, sizes, strict=False)]
        rest, limit = words[len(sizes) :], MAX_TRAFFIC_BYTES
        table[index] = ends + [input_files.finite_number(word, -limit, limit, (line,)) for word in rest]
    return table


def _read_matrix(data: bytes) -> Any:
    if b" pattern " in data.split(b"\n", 1)[0].lower():
        raise InputFileError("the entries have no numbers", "write a matrix of real or integer", position_text(1))
    return read_matrix_market(data)


def _rows_of(data: bytes) -> list[tuple[int, list[str]]]:
    rows = input_files.numbered_csv_rows(data)
    found = [(line, cells[0].split() if len(cells) == 1 else cells) for line, cells in rows]
    if not found:
        raise InputFileError("the file is empty", f"write the matrix, or the header {','.join(ENTRY_COLUMNS)} and rows")
    return found


def _read_entries(data: bytes) -> Any:
    """Read rows of source, destination and bytes; a stated format needs no header."""
    from scipy.sparse import coo_array

    rows = _rows_of(data)
    line, head = rows[0]
    if not head[0][:1].isdecimal():
        if head != ENTRY_COLUMNS:
            remedy = f"write {','.join(ENTRY_COLUMNS)} (to_csv: index=False)"
            raise InputFileError("other columns", remedy, position_text(line), ",".join(head))
        rows = rows[1:]
    if not rows:
        raise InputFileError("no rows below the header", "write one for each pair of ranks", position_text(line))
    source, destination, size_bytes = read_entries(rows, ENTRY_COLUMNS)
    ranks = int(max(source.max(initial=0), destination.max(initial=0))) + 1
    return coo_array((size_bytes, (source, destination)), shape=(ranks, ranks))


def _read_text(data: bytes) -> Any:
    from scipy.sparse import coo_array

    rows = _rows_of(data)
    _check_labels(rows)
    columns = [str(rank) for rank in range(len(rows[0][1]))]
    return coo_array(np.array([_numbers(line, row, columns) for line, row in rows]))


def _check_labels(rows: list[tuple[int, list[str]]]) -> None:
    """Raise InputFileError for a matrix with labels, as `pandas.DataFrame.to_csv` writes it, or for rows of entries."""
    (line, head), width = rows[0], len(rows[0][1])
    if len(rows) == width and width > 2 and head[0] in ("", "rank") and all(len(row) == width for _, row in rows):
        remedy = "remove the first row and the first column (to_csv: header=False, index=False)"
        raise InputFileError("the matrix has labels", remedy, position_text(line), ",".join(head))
    is_header = head == [str(rank) for rank in range(width)] or not head[-1][:1].isdecimal()
    if len(rows) == width + 1 and (is_header or width != 3):
        remedy = f"remove the first row (to_csv: header=False){_TRIPLES * (width == 3)}"
        raise InputFileError("one row more than columns", remedy, position_text(line), ",".join(head))
    if width == 3 != len(rows):
        remedy = f"write the header {','.join(ENTRY_COLUMNS)} first, or format: entries"
        raise InputFileError("rows of three numbers without a header", remedy, position_text(line), ",".join(head))


def read_entries(rows: Iterable[tuple[int, list[str]]], head: list[str]) -> tuple[Ints, Ints, Floats]:
    """Return source, destination and number of each row; raises InputFileError with line and column."""
    entries = np.array([_numbers(line, row, head, ranks=2) for line, row in rows]).reshape(-1, 3)
    return entries[:, 0].astype(np.int64), entries[:, 1].astype(np.int64), entries[:, 2]


def _numbers(line: int, row: list[str], names: list[str], ranks: int = 0) -> list[float]:
    """Parse the cells of a line, of which the first `ranks` are ranks."""
    input_files.check_width(line, row, names)
    if "" in row:
        problem, remedy = "an empty cell", "write 0 where nothing is sent, and no comma at the end of a line"
        raise InputFileError(problem, remedy, position_text(line, row.index("") + 1))
    cells = [(cell, (line, column, name)) for column, (cell, name) in enumerate(zip(row, names, strict=True), 1)]
    ends = [float(whole(cell, 0, MAX_RANKS - 1, where)) for cell, where in cells[:ranks]]
    return ends + [input_files.finite_number(cell, 0, MAX_TRAFFIC_BYTES, where) for cell, where in cells[ranks:]]


def _read_numpy(data: bytes) -> Any:
    from scipy.sparse import coo_array, load_npz

    try:
        if not data.startswith(b"PK"):
            _check_length(io.BytesIO(data), len(data), "")
            arrays = {"array": np.load(io.BytesIO(data), allow_pickle=False)}
        else:
            _check_archive(data)
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                if "format" in file:
                    return _sparse(load_npz(io.BytesIO(data)))
                arrays = dict(file)
    except InputFileError:
        raise
    except _DAMAGED as error:
        raise InputFileError(f"not a numpy file: {error}", _SAVE) from None
    matrix = next(iter(arrays.values()), None)
    if len(arrays) != 1 or matrix is None or matrix.ndim != 2 or matrix.dtype.kind not in "iuf":
        contents = ", ".join(f"{name} {array.dtype} {array.shape}" for name, array in arrays.items())
        problem = f"not a single numeric matrix but {contents or 'nothing'}"
        raise InputFileError(problem, "save one array of two dimensions")
    return coo_array(matrix)


def _sparse(stored: Any) -> Any:
    """Return a matrix of scipy, checked. Raises InputFileError, or an exception of a damaged file."""
    from scipy.sparse import coo_array

    if hasattr(stored, "check_format"):
        stored.check_format(full_check=True)
    matrix = coo_array(stored)
    for indices, size in zip((matrix.row, matrix.col), matrix.shape, strict=True):
        if len(indices) and not 0 <= indices.min() <= indices.max() < size:
            raise InputFileError("an entry outside the matrix", _SAVE, value=str(matrix.shape))
    return matrix


_SYMMETRIES = ("general", "symmetric", "skew-symmetric")
_WRITE = "write it with scipy.io.mmwrite"
_SAVE = "write it with numpy.savez or scipy.sparse.save_npz"
_DAMAGED = (
    ValueError, OSError, KeyError, TypeError, EOFError, IndexError, AttributeError, RuntimeError, zipfile.BadZipFile,
    zlib.error, struct.error,
)  # fmt: skip
"""Exceptions of damaged files; NotImplementedError is a RuntimeError."""


def _check_archive(data: bytes) -> None:
    """Raise InputFileError for arrays that unpack to too much, or declare more data than they have."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts, most = archive.infolist(), input_files.MAX_INPUT_BYTES
        if sum(part.file_size for part in parts) > most:
            raise InputFileError(f"more than {most:,} bytes when unpacked", "use a smaller matrix")
        for part in parts:
            with archive.open(part) as file:
                _check_length(file, part.file_size, part.filename)


def _check_length(file: Any, size: int, where: str) -> None:
    """Raise InputFileError for an array that declares more data than it has."""
    first = np.lib.format.read_magic(file) == (1, 0)
    read_header = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(file)
    if math.prod(shape) * dtype.itemsize > size - file.tell():
        raise InputFileError(f"shorter than the shape in its header: {shape}", _SAVE, where)


class Format(NamedTuple):
    """A format: its name in a study and in messages, its reader, and the suffixes that mean it."""

    name: MatrixFormat
    words: str
    read: Callable[[bytes], Any]
    suffixes: tuple[str, ...]


_TEXTS = (".csv", ".dat", ".txt")
FORMATS: dict[MatrixFormat, Format] = {
    form.name: form
    for form in (
        Format("matrix-market", "a Matrix Market file", _read_matrix, (".mtx",)),
        Format("numpy", "an array of numpy", _read_numpy, (".npz", ".npy")),
        Format("matrix", "a full matrix, one line per sender", _read_text, _TEXTS),
        Format("entries", "rows of source, destination and bytes", _read_entries, _TEXTS),
    )
}
_HEAD_BYTES = 1 << 16


class MatrixFileKeys(TrafficFile):
    """Keys of kinds with a matrix file."""

    READER = staticmethod(read_matrix)
    READERS: ClassVar[Mapping[str, Any]] = {name: partial(read_matrix, name=name) for name in FORMATS}

    format: MatrixFormat | None = Field(
        None, description="format of the file; `entries` are rows without a header, too; default: as its content tells"
    )


class Matrix(MatrixFileKeys, MessagePattern, kind="matrix"):
    """The traffic of a communication matrix: row r contains the bytes from rank r to each rank, all in one phase.

    File formats are Matrix Market (.mtx), numpy (.npz, .npy: one array, or a sparse matrix of scipy), CSV (.csv: the
    full matrix, or rows below the header source,destination,bytes) and text with blanks (.dat, .txt: likewise), as the
    content tells. The job has as many ranks as the matrix has rows. Bytes are rounded to integers of at least 1; the
    diagonal is ignored. The point contains the digest of the file.
    """

    message_bytes: Size = Field(alias="message", description="maximum message size; the bytes of a pair are split")
    rows: SkipJsonSchema[Whole] = 0
    whole_messages: SkipJsonSchema[Whole] = 0
    rests: SkipJsonSchema[Whole] = 0
    rest_bytes: SkipJsonSchema[Whole] = 0

    @classmethod
    def _facts(cls, content: Any, value: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
        try:
            cut_bytes = int(to_unit(str(value.get("message")), SIZES.unit, "100 kB"))
            SIZES.check(cut_bytes)
        except ConfigError:
            return {}  # validation of the key raises the same error
        rest = content.size_bytes % cut_bytes
        return {
            "rows": content.ranks,
            "whole_messages": int((content.size_bytes // cut_bytes).sum()),
            "rests": int(np.count_nonzero(rest)),
            "rest_bytes": int(rest.sum()),
        }

    def traffic(self, ranks: int) -> tuple[TrafficEstimate, ...]:
        """Count the messages by size; the last messages of all pairs by their mean."""
        parts = [(self.whole_messages, int(self.message_bytes)), (self.rests, self.rest_bytes // max(1, self.rests))]
        return tuple(
            TrafficEstimate(float(count) * self.iterations, size_bytes) for count, size_bytes in parts if count
        )

    def check_ranks(self, ranks: int) -> None:
        self.check_listed_ranks(self.rows, f"the matrix has {self.rows} rows", ranks)

    def sends(self, ranks: int, rng: np.random.Generator) -> Sends:
        source, destination, size_bytes = split_into_messages(self.listed(), int(self.message_bytes))
        return one_phase(source, destination, self.iterations, size_bytes)


def split_into_messages(matrix: MatrixFile, most_bytes: int) -> tuple[Integers, Integers, Integers]:
    """Split the bytes of each pair into messages of `most_bytes`, the last one of a pair with the remainder.

    Examples
    --------
    >>> matrix = MatrixFile(2, np.array([0]), np.array([1]), np.array([25]))
    >>> split_into_messages(matrix, 10)[2].tolist()
    [10, 10, 5]
    """
    count = -(-matrix.size_bytes // most_bytes)
    size_bytes = np.full(int(count.sum()), most_bytes, dtype=np.int64)
    size_bytes[np.cumsum(count) - 1] = matrix.size_bytes - (count - 1) * most_bytes
    return np.repeat(matrix.source, count), np.repeat(matrix.destination, count), size_bytes
