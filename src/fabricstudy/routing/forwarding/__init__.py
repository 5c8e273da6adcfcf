"""Forwarding tables from files: one module a format.

In: the bytes of a file. Out: its `Entry` rows, by the names that the file uses, or a `FileMistake` with the place.
`read_entries` chooses the format: a CSV by its name, else what InfiniBand's tools print.
"""

from collections.abc import Callable
from pathlib import Path

from fabricstudy.core.input_files import by_suffix

from . import lft, next_hops
from .base import Entry

__all__ = ["Entry", "read_entries"]

FORMATS: dict[str, Callable[[bytes], list[Entry]]] = {
    ".csv": next_hops.read,
    **dict.fromkeys((".lft", ".lfts", ".fts", ".txt"), lft.read),
}


def read_entries(path: Path, data: bytes) -> list[Entry]:
    """Read a forwarding table in the format that the end of its name says; raises FileMistake, with the place."""
    return by_suffix(FORMATS, path)(data)
