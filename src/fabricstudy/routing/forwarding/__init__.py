"""Forwarding tables from files: one module a format.

In: the bytes of a file. Out: its `ForwardingEntry` rows, by the names that the file uses, or an `InputFileError`.
`read_entries` chooses the format: a CSV by its name, else what InfiniBand's tools print.
"""

from collections.abc import Callable
from pathlib import Path

from fabricstudy.core.input_files import reader_for_suffix

from . import lft, next_hops
from .base import ForwardingEntry

__all__ = ["ForwardingEntry", "read_entries"]

FORMATS: dict[str, Callable[[bytes], list[ForwardingEntry]]] = {
    ".csv": next_hops.read,
    **dict.fromkeys((".lft", ".lfts", ".fts", ".txt"), lft.read),
}


def read_entries(path: Path, data: bytes) -> list[ForwardingEntry]:
    """Read a forwarding table in the format that the end of its name says; raises InputFileError, with the place."""
    return reader_for_suffix(FORMATS, path)(data)
