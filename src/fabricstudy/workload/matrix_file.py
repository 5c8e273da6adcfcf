"""Reading communication matrices: bytes from each rank to each other one.

* Matrix Market (``.mtx``; Boisvert, Pozo and Remington, NISTIR 5935, 1996), with numbers, not the pattern alone.
* CSV (``.csv``): the whole matrix, a line a sender; or lines under the head ``source,destination,bytes``.
* numpy (``.npz``): one matrix, or a sparse one as ``scipy.sparse.save_npz`` writes it.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fabricstudy.beside import FileMistake, at, by_suffix, check_width, rows_of

Ints = npt.NDArray[np.int64]

HEAD = ["source", "destination", "bytes"]


@dataclass(frozen=True, eq=False)
class MatrixFile:
    """A matrix of `ranks` rows: the pairs that send something, each once, in the order of source and destination.

    Parameters
    ----------
    ranks : int
        Rows.
    source, destination, size_bytes : int64 arrays [pairs]
        Ranks, never the same, and bytes, at least 1.
    """

    ranks: int
    source: Ints
    destination: Ints
    size_bytes: Ints


def read_matrix(path: Path, data: bytes) -> MatrixFile:
    """Read a matrix in the format that the end of the file's name says; whole bytes, what a rank sends itself left out.

    Raises
    ------
    FileMistake
        With line and column, of the file or of the matrix.
    """
    matrix = by_suffix(_READERS, path)(data)
    if matrix.dtype.kind == "c":
        raise FileMistake("the entries are complex numbers", "write numbers of bytes")
    matrix = matrix.astype(np.float64)
    rows, columns = matrix.shape
    if rows != columns or rows < 2:
        raise FileMistake(f"the matrix is {rows} x {columns}", "give a square one of two ranks or more")
    wrong = np.flatnonzero(~(np.isfinite(matrix.data) & (matrix.data >= 0)))
    if len(wrong):
        place = f"row {matrix.row[wrong[0]] + 1}, column {matrix.col[wrong[0]] + 1} of the matrix"
        raise FileMistake("not a number of bytes", "write one from 0 on", place, matrix.data[wrong[0]].item())
    matrix.sum_duplicates()
    sent = (matrix.row != matrix.col) & (matrix.data > 0)
    order = np.lexsort((matrix.col[sent], matrix.row[sent]))
    size_bytes = np.maximum(1, np.rint(matrix.data[sent][order])).astype(np.int64)
    if len(size_bytes) == 0:
        raise FileMistake("nobody sends anything", "give a matrix with bytes off its diagonal")
    source, destination = (end[sent][order].astype(np.int64) for end in (matrix.row, matrix.col))
    return MatrixFile(rows, source, destination, size_bytes)


def _read_matrix_market(data: bytes) -> Any:
    from scipy.io import mmread
    from scipy.sparse import coo_array

    if b" pattern " in data.split(b"\n", 1)[0].lower():
        raise FileMistake("the entries have no numbers", "write a matrix of real or integer", at(1))
    try:
        return coo_array(mmread(io.BytesIO(data)))
    except (ValueError, OverflowError, TypeError) as error:
        match = re.match(r"Line (\d+): (.*)", str(error))
        where, problem = (at(int(match[1])), match[2]) if match else ("", str(error))
        raise FileMistake(f"not Matrix Market: {problem}", "write it with scipy.io.mmwrite", where) from None


def _read_csv(data: bytes) -> Any:
    from scipy.sparse import coo_array

    rows = list(rows_of(data))
    if not rows:
        raise FileMistake("the file is empty", f"give the matrix, or {','.join(HEAD)} and lines of it")
    if rows[0][1] == HEAD:
        entries = np.array([_numbers(number, row, HEAD, whole=2) for number, row in rows[1:]]).reshape(-1, 3)
        ends = entries[:, :2].astype(np.int64)
        ranks = int(ends.max(initial=0)) + 1
        return coo_array((entries[:, 2], (ends[:, 0], ends[:, 1])), shape=(ranks, ranks))
    columns = [str(rank) for rank in range(len(rows[0][1]))]
    return coo_array(np.array([_numbers(number, row, columns) for number, row in rows]))


def _numbers(number: int, row: list[str], names: list[str], whole: int = 0) -> list[float]:
    """Read the cells of a line, of which the first `whole` ones are ranks."""
    check_width(number, row, names)
    values = []
    for column, (cell, name) in enumerate(zip(row, names, strict=True), 1):
        try:
            value = float(int(cell)) if column <= whole else float(cell)
        except ValueError:
            value = -1.0
        if not 0 <= value < np.inf:
            remedy = "write a rank, from 0 on" if column <= whole else "write a number of bytes, from 0 on"
            raise FileMistake("not a number that can be", remedy, at(number, column, name), cell)
        values.append(value)
    return values


def _read_npz(data: bytes) -> Any:
    from scipy.sparse import coo_array, load_npz

    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            names = list(file)
            if "format" in names:
                return coo_array(load_npz(io.BytesIO(data)))
            arrays = [file[name] for name in names]
    except (ValueError, OSError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise FileMistake(
            f"not a file of numpy: {error}", "write it with numpy.savez or scipy.sparse.save_npz"
        ) from None
    if len(arrays) != 1 or arrays[0].ndim != 2 or arrays[0].dtype.kind not in "iuf":
        contents = ", ".join(f"{name} {array.dtype} {array.shape}" for name, array in zip(names, arrays, strict=True))
        raise FileMistake(f"not one matrix of numbers but {contents or 'nothing'}", "save one array of two dimensions")
    return coo_array(arrays[0])


_READERS: dict[str, Callable[[bytes], Any]] = {".mtx": _read_matrix_market, ".csv": _read_csv, ".npz": _read_npz}
