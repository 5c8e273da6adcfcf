"""The formats of fabrics, by the end of a file's name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fabricstudy.core.input_files import by_suffix

from . import edge_list, graphml, ibnetdiscover, node_link
from .base import Fabric

FORMATS: dict[str, Callable[[bytes], Fabric]] = {
    ".csv": edge_list.read,
    ".graphml": graphml.read,
    ".json": node_link.read,
    ".ibnetdiscover": ibnetdiscover.read,
    ".topo": ibnetdiscover.read,
    ".txt": ibnetdiscover.read,
}


def read_fabric(path: Path, data: bytes) -> Fabric:
    """Read a fabric in the format that the end of its name says.

    Raises FileMistake, with the place in the file.
    """
    return by_suffix(FORMATS, path)(data)
