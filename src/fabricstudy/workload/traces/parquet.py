"""Parquet: one row an operation, in the order of `Operations`.

Columns: rank, stream, kind (0 calc, 1 send, 2 receive), ns, bytes, partner (the receive of a send and the send of a
receive; -1 for calcs), needs_ended and needs_started (lists of operations). There may be a column mark, the part of the
program by its name, or null. The metadata ``fabricstudy.ranks`` is the number of ranks; without it, it is one more than
the largest.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fabricstudy.core.arrays import Array, Ints
from fabricstudy.core.errors import suggestion
from fabricstudy.core.input_files import MAX_RANKS, InputFileError, whole
from fabricstudy.core.parquet import write_parquet

from ..matching import MAX_OPERATIONS, Listing, relisted
from ..operations import ENDED, STARTED, Operations

RANKS = b"fabricstudy.ranks"
MARK = "mark"
MAX_MARKS = 1000
_CHECKED = {"page_checksum_verification": True, "pre_buffer": False}
"""A damaged column ends the process where others are read beside it."""

_LISTS = {"needs_ended": ENDED, "needs_started": STARTED}
_COLUMNS = pa.schema(
    {
        "rank": pa.int32(), "stream": pa.int32(), "kind": pa.int8(), "ns": pa.float64(), "bytes": pa.int64(),
        "partner": pa.int64(), **{name: pa.list_(pa.int64()) for name in _LISTS},
    }
)  # fmt: skip


def write(operations: Operations, path: Path) -> None:
    """Write operations as Parquet."""
    columns: list[Array | pa.Array] = [
        operations.rank, operations.stream, operations.kind.astype(np.int8), operations.duration_ns,
        operations.size_bytes, operations.partner,
    ]  # fmt: skip
    for when in _LISTS.values():
        chosen = np.flatnonzero(operations.when == when)
        order = chosen[np.argsort(operations.dependent[chosen], kind="stable")]
        offsets = np.searchsorted(operations.dependent[order], np.arange(len(operations) + 1))
        columns.append(pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(operations.needs[order])))
    table = pa.table([pa.array(column) for column in columns], schema=_COLUMNS)
    if operations.mark is not None:
        mark = pa.array(operations.mark.astype(np.int16), mask=operations.mark < 0)
        table = table.append_column(MARK, pa.DictionaryArray.from_arrays(mark, list(operations.mark_names)))
    write_parquet(table.replace_schema_metadata({RANKS: str(operations.ranks)}), path)


def read(data: bytes) -> Listing:
    """Parse operations; raises InputFileError, with the row."""
    try:
        file = pq.ParquetFile(pa.BufferReader(data), **_CHECKED)
        _check_items(file.metadata)
        missing = [name for name in _COLUMNS.names if name not in file.schema_arrow.names]
        if missing:
            raise InputFileError(f"missing column {missing[0]}", f"use the columns {', '.join(_COLUMNS.names)}")
        known = (*_COLUMNS.names, MARK)
        unknown = [name for name in file.schema_arrow.names if name not in known and not name.startswith("__index_")]
        if unknown:
            raise InputFileError("an unknown column", suggestion(unknown[0], known), f"column {unknown[0]}")
        table = file.read(_COLUMNS.names, use_threads=False)
        if any(table[name].null_count for name in _COLUMNS.names):
            raise InputFileError("missing values", "fill all cells")
        table = table.cast(_COLUMNS)
        given = (file.schema_arrow.metadata or {}).get(RANKS)
        number = None if given is None else whole(given.decode("latin-1"), 1, MAX_RANKS, "metadata fabricstudy.ranks")
        rank, stream, kind, ns, size_bytes, partner = (
            table[name].combine_chunks().to_numpy() for name in _COLUMNS.names[:6]
        )
        mark, mark_names = _marks(data) if MARK in file.schema_arrow.names else (None, ())
        waits = [(*_flat(table[name].combine_chunks()), when) for name, when in _LISTS.items()]
    except InputFileError:
        raise
    except (pa.ArrowException, OSError, LookupError, ValueError) as error:
        problem = f"not Parquet of operations: {str(error).partition(chr(10))[0]}"
        raise InputFileError(problem, "write it with fabricstudy trace") from None
    dependent, needs = (np.concatenate([wait[column] for wait in waits]) for column in range(2))
    when = np.repeat(list(_LISTS.values()), [len(wait[0]) for wait in waits]).astype(np.int8)
    ranks = number or int(rank.max(initial=0)) + 1
    columns = (rank, stream, kind, ns, size_bytes, partner, dependent, needs, when)
    return relisted(Operations(ranks, *columns, mark=mark, mark_names=mark_names), _row)


def _check_items(metadata: pq.FileMetaData) -> None:
    """Raise InputFileError if a column has too many items, which a small file may pack, before they are read."""
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    for column in range(metadata.num_columns):
        items = sum(group.column(column).num_values for group in groups)
        if max(items, metadata.num_rows) > MAX_OPERATIONS:
            name = metadata.schema.column(column).path
            raise InputFileError(f"too many items in {name}", f"use at most {MAX_OPERATIONS:,}", "", items)


def _marks(data: bytes) -> tuple[Array, tuple[str, ...]]:
    """Return the mark of each operation, int16 [operations], -1 for none, and the names of marks."""
    column = (
        pq.ParquetFile(pa.BufferReader(data), read_dictionary=[MARK], **_CHECKED)
        .read([MARK], use_threads=False)[MARK]
        .combine_chunks()
    )
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    names = tuple(column.dictionary.cast(pa.string()).to_pylist())
    if len(names) > MAX_MARKS or len(set(names)) < len(names) or not all(names):
        raise InputFileError("marks have no distinct names", f"use at most {MAX_MARKS}, none of them empty")
    return column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int16), names


def _row(operation: int) -> str:
    return f"row {operation + 1}"


def _flat(lists: pa.Array) -> tuple[Ints, Ints]:
    """Return the operation of each item of the lists, and the items."""
    lengths, items = np.diff(lists.offsets.to_numpy()), lists.flatten()
    if items.null_count:
        raise InputFileError("missing values", "fill all cells")
    return np.repeat(np.arange(len(lengths)), lengths), items.to_numpy().astype(np.int64)
