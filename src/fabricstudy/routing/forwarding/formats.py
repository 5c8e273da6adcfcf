"""The formats of forwarding tables, by the end of a file's name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fabricstudy.core.input_files import by_suffix

from . import lft, next_hops
from .base import Entry

FORMATS: dict[str, Callable[[bytes], list[Entry]]] = {
    ".csv": next_hops.read,
    ".lft": lft.read,
    ".lfts": lft.read,
    ".fts": lft.read,
    ".txt": lft.read,
}


def read_entries(path: Path, data: bytes) -> list[Entry]:
    """Read a forwarding table in the format that the end of its name says.

    Raises FileMistake, with the place in the file.
    """
    return by_suffix(FORMATS, path)(data)
