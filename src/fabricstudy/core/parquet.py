"""Parquet files with the version of their format, and with checksums that detect damage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import FabricstudyError
from .files import atomic_path
from .store import other_format

if TYPE_CHECKING:
    import pyarrow as pa

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


def read_parquet(
    path: Path, filters: list[Any] | None = None, columns: Sequence[str] | None = None, of_users: bool = False
) -> pa.Table:
    """Read a table, or some rows and columns of it.

    Files `of_users` may have been written by other programs, which leave out the version of the format. Raises
    FabricstudyError if the file was damaged, or another version of this project wrote it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        version = (pq.read_schema(path).metadata or {}).get(KEY, VERSION if of_users else b"none")
        if version != VERSION:
            raise other_format(str(path), version.decode(), VERSION.decode())
        return pq.read_table(path, filters=filters or None, columns=columns, page_checksum_verification=True)
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException) as error:
        problem = f"{path}: damaged ({str(error).splitlines()[0]})"
        raise FabricstudyError(f"{problem}; remove it and run the same command again", "results-damaged") from None
