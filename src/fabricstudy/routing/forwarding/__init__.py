"""Forwarding tables from files: one module a format.

In: the bytes of a file. Out: its `Entry` rows, by the names that the file uses, or a `FileMistake` with the place.
`read_entries` chooses the format: a CSV by its name, else what InfiniBand's tools print.
"""

from .base import Entry
from .formats import read_entries

__all__ = ["Entry", "read_entries"]
