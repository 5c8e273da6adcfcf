"""Parquet files with the version of their format, and with checksums that detect damage."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrays import Array, Bools
from .errors import FabricstudyError
from .files import atomic_path
from .store import other_format

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

# Functions import pyarrow themselves: to load it takes a sixth of the time of the commands that read no table.
CHECKED = {"compression": "zstd", "write_page_checksum": True}
KEY, VERSION = b"fabricstudy.format", b"2"
METADATA = {KEY: VERSION}
"""Metadata of all files. Since version 2 columns have the names of `fabricstudy.core.columns`."""


def schema(columns: Mapping[str, str]) -> pa.Schema:
    """Return the schema of columns given as {name: type}, where ``int32[]`` is a list.

    Examples
    --------
    >>> schema({"name": "string", "ranks": "int32[]"})
    name: string
    ranks: list<item: int32>
      child 0, item: int32
    """
    import pyarrow as pa

    types = {name: pa.type_for_alias(kind.removesuffix("[]")) for name, kind in columns.items()}
    return pa.schema(
        {name: pa.list_(types[name]) if kind.endswith("[]") else types[name] for name, kind in columns.items()}
    )


@contextmanager
def rows_writer(path: Path, columns: Mapping[str, str]) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Open a file with columns as in `schema`; yield a function that writes rows, given by column, as one row group.

    The file exists once the context ends without an error.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    typed = schema(columns)
    with atomic_path(path) as out, pq.ParquetWriter(out, typed.with_metadata(METADATA), **CHECKED) as writer:

        def write(rows: Mapping[str, Any]) -> None:
            table = pa.table(dict(rows), schema=typed)
            writer.write_table(table, row_group_size=max(len(table), 1))

        yield write


def write_parquet(table: pa.Table, path: Path, metadata: Mapping[bytes, bytes] = {}) -> None:
    """Write a table; a reader sees the complete new file or the old one."""
    import pyarrow.parquet as pq

    with atomic_path(path) as out:
        known = {**(table.schema.metadata or {}), **METADATA, **metadata}
        pq.write_table(table.replace_schema_metadata(known), out, **CHECKED)


def arrow_array(column: Array) -> pa.Array:
    """Return an array of numbers as one of Arrow; ``pyarrow.array`` would import pandas, 0.2 s of processor time.

    Examples
    --------
    >>> arrow_array(np.array([3, 5])).to_pylist()
    [3, 5]
    """
    import pyarrow as pa

    data = pa.py_buffer(np.ascontiguousarray(column))
    return pa.Array.from_buffers(pa.from_numpy_dtype(column.dtype), len(column), [None, data])


def numpy_array(column: pa.ChunkedArray) -> Array:
    """Return a column of numbers as an array; its own conversion would import pandas."""
    return np.from_dlpack(column.combine_chunks())


def read_parquet(
    path: Path,
    chosen: Mapping[str, Collection[str]] = {},
    columns: Sequence[str] | None = None,
    of_users: bool = False,
) -> pa.Table:
    """Read a table, or some of its columns, and the rows in which each column of `chosen` has one of the given values.

    Files `of_users` may have been written by other programs, which leave out the version of the format. Raises
    FabricstudyError if the file was damaged, or another version of this project wrote it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # pq.read_table would import pandas. A damaged column ends the process where others are read beside it.
        with pq.ParquetFile(path, page_checksum_verification=True, pre_buffer=False) as file:
            version = (file.schema_arrow.metadata or {}).get(KEY, VERSION if of_users else b"none")
            if version != VERSION:
                raise other_format(str(path), version.decode(), VERSION.decode())
            if missing := {*chosen, *(columns or ())}.difference(file.schema_arrow.names):
                raise KeyError(*sorted(missing))
            return _chosen_rows(file, chosen, columns) if chosen else file.read(columns, use_threads=False)
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException, KeyError, UnicodeDecodeError) as error:
        problem = f"{path}: damaged ({str(error).splitlines()[0]})"
        raise FabricstudyError(f"{problem}; remove it and run the same command again", "results-damaged") from None


def _chosen_rows(
    file: pq.ParquetFile, chosen: Mapping[str, Collection[str]], columns: Sequence[str] | None
) -> pa.Table:
    import pyarrow as pa

    parts = [file.read_row_groups([], columns, use_threads=False)]
    for group in range(file.num_row_groups):
        # Not by the statistics of the group: to read damaged ones may end the process.
        keys = file.read_row_group(group, list(chosen), use_threads=False)
        is_chosen = np.all([_is_among(keys[name].combine_chunks(), values) for name, values in chosen.items()], axis=0)
        if is_chosen.any():
            part = file.read_row_group(group, columns, use_threads=False)
            parts.append(part if is_chosen.all() else part.take(arrow_array(np.flatnonzero(is_chosen))))
    return pa.concat_tables(parts)


def _is_among(column: pa.Array, values: Collection[str]) -> Bools:
    encoded = column.dictionary_encode("encode")
    is_wanted: Bools = np.array([text in values for text in encoded.dictionary.to_pylist()], dtype=bool)
    return is_wanted[np.from_dlpack(encoded.indices).astype(np.int64)]
