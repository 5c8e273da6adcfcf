"""Fabrics from files: one module a format.

In: the bytes of a file. Out: a `Fabric`: routers, nodes and cables by name, with what the file says of them, or a
`FileMistake` with the place in the file. `read_fabric` chooses the format by the end of the file's name.
"""

from .base import MOST_NODES, Cable, Fabric, Port
from .formats import read_fabric

__all__ = ["MOST_NODES", "Cable", "Fabric", "Port", "read_fabric"]
