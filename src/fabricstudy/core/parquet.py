"""Parquet files with the version of their format, and with checksums that detect damage."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .errors import FabricstudyError
from .files import atomic_path
from .store import other_format

CHECKED = {"compression": "zstd", "write_page_checksum": True}
KEY, VERSION = b"fabricstudy.format", b"2"
METADATA = {KEY: VERSION}
"""Metadata of all files. Since version 2 columns have the names of `fabricstudy.core.columns`."""


def write_parquet(table: pa.Table, path: Path) -> None:
    """Write a table; a reader sees the complete new file or the old one."""
    with atomic_path(path) as out:
        pq.write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), **METADATA}), out, **CHECKED)


def read_parquet(
    path: Path, filters: list[Any] | None = None, columns: Sequence[str] | None = None, of_users: bool = False
) -> pa.Table:
    """Read a table, or some rows and columns of it.

    Files `of_users` may have been written by other programs, which leave out the version of the format. Raises
    FabricstudyError if the file was damaged, or another version of this project wrote it.
    """
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
