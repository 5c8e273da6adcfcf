"""Forwarding tables from files: one module per format.

In: the bytes of a file. Out: `ForwardingEntry` rows with the names of the file, or an `InputFileError`. `read_entries`
selects the format by the suffix: CSV, else the output of InfiniBand tools.
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
    """Read a forwarding table in the format of the suffix; raises InputFileError with the position."""
    return reader_for_suffix(FORMATS, path)(data)
