"""Fabrics from files: one module per format.

In: the bytes of a file. Out: a `Fabric`: routers, nodes and cables by name, with their attributes, or an
`InputFileError` with the position in the file. `read_fabric` selects the format by the suffix of the file.
"""

from collections.abc import Callable
from pathlib import Path

from fabricstudy.core.input_files import reader_for_suffix

from . import edge_list, gml, graphml, ibnetdiscover, node_link, slurm
from .base import MAX_FABRIC_NODES, Cable, Fabric, LinkAttributes, Port

__all__ = ["MAX_FABRIC_NODES", "Cable", "Fabric", "LinkAttributes", "Port", "read_fabric"]

FORMATS: dict[str, Callable[[bytes], Fabric]] = {
    ".conf": slurm.read,
    ".csv": edge_list.read,
    ".gml": gml.read,
    ".graphml": graphml.read,
    ".json": node_link.read,
    **dict.fromkeys((".ibnetdiscover", ".topo", ".txt"), ibnetdiscover.read),
}


def read_fabric(path: Path, data: bytes) -> Fabric:
    """Read a fabric in the format of the suffix; raises InputFileError with the position in the file."""
    return reader_for_suffix(FORMATS, path)(data)
