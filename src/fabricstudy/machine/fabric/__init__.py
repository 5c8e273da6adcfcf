"""Fabrics from files: one module a format.

In: the bytes of a file. Out: a `Fabric`: routers, nodes and cables by name, with what the file says of them, or a
`InputFileError` with the place in the file. `read_fabric` chooses the format by the end of the file's name.
"""

from collections.abc import Callable
from pathlib import Path

from fabricstudy.core.input_files import reader_for_suffix

from . import edge_list, graphml, ibnetdiscover, node_link
from .base import MAX_FABRIC_NODES, Cable, Fabric, Port

__all__ = ["MAX_FABRIC_NODES", "Cable", "Fabric", "Port", "read_fabric"]

FORMATS: dict[str, Callable[[bytes], Fabric]] = {
    ".csv": edge_list.read,
    ".graphml": graphml.read,
    ".json": node_link.read,
    **dict.fromkeys((".ibnetdiscover", ".topo", ".txt"), ibnetdiscover.read),
}


def read_fabric(path: Path, data: bytes) -> Fabric:
    """Read a fabric in the format that the end of its name says; raises InputFileError, with the place in the file."""
    return reader_for_suffix(FORMATS, path)(data)
